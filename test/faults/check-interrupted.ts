/** Checks a killed run: no unclear state, nothing half written, nothing done twice, and three ways to continue. */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { runTeddy, type RunResult } from '../support/run-teddy.ts';
import { openScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { findLeftovers, readAdded, repair } from './check-run.ts';
import { ranSuffix } from './plans.ts';
import type { ChildRun } from './run-child.ts';
import type { Scene } from './scenes.ts';

const ways = ['resume', 'rollback', 'keep'] as const;
let checks = 0;

/** How often each way to continue was taken. */
export const settled = new Map<string, number>();

/** Returns the faults, one sentence each; empty if all is right. */
export async function checkInterrupted(
  scene: Scene,
  repository: ScratchRepository,
  { acknowledged, signal }: Pick<ChildRun, 'acknowledged'> & { signal?: ChildRun['signal'] },
): Promise<string[]> {
  const problems: string[] = [];
  const expectThat = (isTrue: boolean, what: string) => void (isTrue || problems.push(what));
  await repair(repository);
  problems.push(...(await findHalfWritten(repository)));
  const before = await readAdded(repository, scene);
  expectThat(before.length <= 1, `entries ${before.join()}`);
  expectThat(
    scene.entries.length === 0 || acknowledged.length === 0 || before.length === 1,
    'acknowledged, and not there',
  );
  const ranBefore = await readRan(repository);

  const next = await untilUnlocked(() => execute(repository, '-y'));
  if (next.stderr.includes('RUN_INTERRUPTED')) {
    expectThat(/\[RUN_INTERRUPTED\]/.test(next.stderr) && next.exitCode === 3, `exit ${next.exitCode}`);
    expectThat(
      /was interrupted (in action \d \(\w+ .+\)|after action \d, before|while its files)/.test(next.stderr),
      next.stderr,
    );
    expectThat(!hasTwice(await readRan(repository)), 'the next command has run a script again');
    expectThat(before.length === 0, 'interrupted, and yet reported');
    const way = ways[(checks += 1) % ways.length] ?? 'resume';
    settled.set(way, (settled.get(way) ?? 0) + 1);
    problems.push(...(await settle(scene, repository, way)).map((problem) => `${way}: ${problem}`));
  } else {
    const isClosed = next.stderr.includes('NO_PENDING_PLAN');
    settled.set(isClosed ? 'closed' : 'not begun', (settled.get(isClosed ? 'closed' : 'not begun') ?? 0) + 1);
    expectThat(isClosed === (before.length === 1), `exit ${next.exitCode}, ${before.join()}: ${next.stderr}`);
    expectThat(isClosed || ranBefore === '' || scene.name === 'killed', `forgotten that ${ranBefore} was run`);
    expectThat(
      isClosed || next.exitCode === (scene.name === 'failing' ? 1 : 0),
      `exit ${next.exitCode}: ${next.stderr}`,
    );
  }
  expectThat(
    (await readAdded(repository, scene)).join() === 'report',
    `${(await readAdded(repository, scene)).join()} at the end`,
  );
  const rows = (await repository.git('status', '--porcelain')).split('\n').filter((row) => row !== '');
  expectThat(
    rows.every((row) => scene.status.includes(row) || (signal !== 'SIGKILL' && isPlanRow(row))),
    `git status shows ${rows.join(' | ')}`,
  );
  problems.push(...(await findLeftovers(repository)));
  // The claim of a process that died after all its work may stay: nobody claims that turn again.
  const runs = (await repository.list('.git/teddy/runs')).filter((name) => !name.endsWith('.json'));
  expectThat(runs.length === 0, `${runs.join()} is left of the run`);
  await repository.fsck().catch((error: Error) => problems.push(error.message));
  return problems;
}

async function settle(scene: Scene, repository: ScratchRepository, way: (typeof ways)[number]): Promise<string[]> {
  const problems: string[] = [];
  const expectThat = (isTrue: boolean, what: string) => void (isTrue || problems.push(what));
  const ranBefore = await readRan(repository);
  const result = await execute(repository, `--interrupted=${way}`, ...(way === 'rollback' ? [] : ['-y']));
  expectThat([0, 1].includes(result.exitCode), `exit ${result.exitCode}: ${result.stderr}`);
  const ran = await readRan(repository);
  expectThat(!hasTwice(ran), `run again: ${ran}`);
  // The first script may have outlived the run; the second belongs to the next action.
  if (way === 'keep') expectThat(ran.includes('two') === ranBefore.includes('two'), 'keep has run a script');
  if (way !== 'rollback') return problems;
  const wanted = await readFiles(
    openScratchRepository(scene.name === 'killed' ? cleanTemplate(scene) : scene.template),
  );
  const found = await readFiles(repository);
  const differing = [...new Set([...Object.keys(wanted), ...Object.keys(found)])].filter(
    (path) => wanted[path] !== found[path],
  );
  expectThat(differing.length === 0, `not as before: ${differing.join()}`);
  expectThat((await readAdded(repository, scene)).length === 0, 'a report, and the plan was to stay pending');
  const again = await execute(repository, '-y');
  const isFine = again.exitCode === (scene.name === 'failing' ? 1 : 0);
  expectThat(isFine, `afterwards exit ${again.exitCode}: ${again.stderr}`);
  return problems;
}

/** If nothing in the run was done yet. */
function cleanTemplate({ template }: Scene): string {
  return template.replace(/killed$/, 'run');
}

function execute({ root }: ScratchRepository, ...args: string[]): Promise<RunResult> {
  return runTeddy(['session', 'execute', ...args], { cwd: root });
}

/** A script may have outlived the run that started it. */
async function untilUnlocked(act: () => Promise<RunResult>): Promise<RunResult> {
  for (let tries = 0; ; tries += 1) {
    const result = await act();
    if (tries === 50 || !/still runs|is being executed/.test(result.stderr)) return result;
    await sleep(50);
  }
}

async function findHalfWritten(repository: ScratchRepository): Promise<string[]> {
  const allowed: Record<string, string[]> = {
    'new/dir/made.txt': ['', 'made by the plan\n'],
    'src/edited.txt': ['before\n', 'after the plan\n'],
    'src/kept.txt': ['kept\n', 'kept\nmore\n', 'written over\n'],
  };
  const problems: string[] = [];
  for (const [path, texts] of Object.entries(allowed)) {
    const text = await repository.read(path).catch(() => '');
    if (!texts.includes(text)) problems.push(`${path} is ${JSON.stringify(text)}`);
  }
  return problems;
}

/**
 * If the disk could not be examined after a command, the command's changes are in no report, and stay for the user to
 * see.
 */
function isPlanRow(row: string): boolean {
  return /^.. (new\/|out\/|end\.txt|notes\.txt|src\/(edited|kept|gone)\.txt)/.test(row);
}

function hasTwice(ran: string): boolean {
  const words = ran.split('\n').filter((word) => word !== '');
  return new Set(words).size < words.length;
}

async function readRan({ root }: ScratchRepository): Promise<string> {
  return readFile(`${root}${ranSuffix}`, 'utf8').catch(() => '');
}

/** Mode and content of everything except the session's own files. */
async function readFiles(repository: ScratchRepository): Promise<Record<string, string>> {
  const { workTree } = await repository.fingerprint();
  return Object.fromEntries(Object.entries(workTree).filter(([path]) => !path.startsWith('.teddy/')));
}
