/** Checks a repository after a fault, and after the next command. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openProject } from '../../src/app.ts';
import { runTeddy, type RunResult } from '../support/run-teddy.ts';
import type { ScratchRepository } from '../support/scratch-repository.ts';
import { checkAnswer, readConfirmed } from './check-answer.ts';
import { memoText } from './plans.ts';
import { checkInterrupted } from './check-interrupted.ts';
import { runChild, type ChildRun } from './run-child.ts';
import { isRun, readStatus, type Scene, type Stage } from './scenes.ts';

/** Returns the faults, one sentence each; empty if all is right. */
export async function checkRun(
  stage: Stage,
  scene: Scene,
  repository: ScratchRepository,
  outcome: Pick<ChildRun, 'acknowledged'>,
): Promise<string[]> {
  if (isRun(scene)) return checkInterrupted(scene, repository, outcome);
  const problems: string[] = [];
  const expectThat = (isTrue: boolean, what: string) => void (isTrue || problems.push(what));

  const confirmed = await readConfirmed(repository);
  await repair(repository);
  const added = await readAdded(repository, scene);
  expectThat(isPrefix(added, scene.entries), `entries ${added.join()} instead of a prefix of ${scene.entries.join()}`);
  const isComplete = added.length === scene.entries.length;
  expectThat(outcome.acknowledged.length === 0 || isComplete, `acknowledged, but only ${added.join()} is there`);
  for (const oid of outcome.acknowledged) expectThat(await isReachable(repository, oid), `acknowledged ${oid} is lost`);
  const status = await readStatus(repository);
  const isOwnRow = (await isCodeOutside(repository, scene, added)) ? isPlanRow : () => false;
  const strange = status.filter((row) => !scene.status.includes(row) && !isOwnRow(row));
  expectThat(strange.length === 0, `git status shows ${strange.join(' | ')}`);
  const gone = scene.entries.includes('snapshot') && added.length > 0 ? [] : scene.status;
  const lost = gone.filter((row) => !status.includes(row));
  expectThat(lost.length === 0, `the user's ${lost.join(' | ')} is no more`);

  if (scene.name === 'gate') problems.push(...(await closeGate(stage, scene, repository)));
  const { exitCode, stderr } = await runNext(stage, scene, repository);
  expectThat(exitCode === 0, `the next command exits with ${exitCode}: ${stderr}`);
  const later = await readAdded(repository, scene);
  expectThat(isPrefix(added, later), `${added.join()} became ${later.join()}`);
  if (scene.name === 'memo') problems.push(...(await checkMemos(repository, scene)));
  if (scene.name === 'answer' && added.includes('message'))
    problems.push(...(await checkAnswer(repository, scene, confirmed)));
  if (scene.name === 'work-tree') problems.push(...(await checkWorkTrees(repository)));
  problems.push(...(await findLeftovers(repository)));
  await repository.fsck().catch((error: Error) => problems.push(error.message));
  return problems;
}

/** Only the repair that every command begins with: later steps would hide its leftovers. */
export async function repair(repository: ScratchRepository): Promise<void> {
  const notices = { info: () => undefined, warn: () => undefined };
  const project = await openProject({ cwd: repository.root, env: process.env, notices });
  await project.repository.workspace?.repair();
  await project.repository.close();
}

/** The kinds of the entries since, oldest first. */
export async function readAdded(repository: ScratchRepository, scene: Scene): Promise<string[]> {
  const ref = scene.ref ?? (await repository.git('for-each-ref', '--format=%(refname)', 'refs/heads/teddy/*-second'));
  if (ref === '') return [];
  const format = '--format=%(trailers:key=Teddy-Entry,valueonly,separator=)';
  const kinds = await repository.git('log', '--first-parent', '--reverse', format, ref, `^${scene.oldTip}`);
  return kinds === '' ? [] : kinds.split('\n');
}

function isPrefix(shorter: string[], longer: string[]): boolean {
  return shorter.length <= longer.length && shorter.every((kind, at) => kind === longer[at]);
}

function isReachable(repository: ScratchRepository, oid: string): Promise<boolean> {
  return repository.gitSucceeds('rev-parse', '--verify', '--quiet', `${oid}^{commit}`).then(async (exists) => {
    return exists && (await repository.git('branch', '--list', 'teddy/*', '--contains', oid)) !== '';
  });
}

const planRows = [' M src/kept.txt', '?? src/made.txt', ' M src/made.txt', ' D src/made.txt'];

/** The file that was being installed when the run was killed stays until the plan is executed again. */
function isPlanRow(row: string): boolean {
  return planRows.includes(row) || /^\?\? src\/\.teddy-tmp-[0-9a-f]{16}$/.test(row);
}

/** The user can see the plan's changes before there is a report, and after one which says that git made no change. */
async function isCodeOutside(repository: ScratchRepository, scene: Scene, added: string[]): Promise<boolean> {
  if (scene.name === 'undo') return added.length === 0;
  if (scene.operation !== 'execute' || !added.includes('report')) return scene.operation === 'execute';
  const paths = await repository.git('diff', '--name-only', scene.oldTip, scene.ref ?? 'HEAD');
  const report = paths.split('\n').find((path) => path.endsWith('/report.md'));
  return /^changes: \[\]$/m.test(await repository.git('show', `${scene.ref}:${report}`));
}

async function runNext(stage: Stage, scene: Scene, { root }: ScratchRepository): Promise<RunResult> {
  const teddy = (...args: string[]) => runTeddy(['session', ...args], { cwd: root });
  if (scene.name === 'new') return teddy('new', 'second');
  if (scene.name === 'work-tree') return teddy('new', 'second', '--worktree');
  const plan = () => teddy('plan', '-s', 'first', '-m', 'Go on.', '--from', stage.answer);
  const execute = async () => {
    const result = await teddy('execute', '-y', '--memos=yes');
    if (!result.stderr.includes('RUN_INTERRUPTED')) return result;
    const resumed = await teddy('execute', '-y', '--interrupted=resume');
    // It reports the interrupted action as failed.
    return resumed.exitCode === 1 && resumed.stdout.startsWith('FAILURE') ? { ...resumed, exitCode: 0 } : resumed;
  };
  if (scene.name === 'reject') {
    const rejected = await teddy('reject', '-s', 'first', '-m', 'No.');
    return rejected.stderr.includes('NO_PENDING_PLAN') ? plan() : rejected;
  }
  if (scene.name === 'undo') {
    const undone = await teddy('undo', '-s', 'first');
    return undone.stderr.includes('NOTHING_TO_UNDO') ? plan() : undone;
  }
  const [one, other, code] =
    scene.operation === 'execute' ? [execute, plan, 'NO_PENDING_PLAN'] : [plan, execute, 'PLAN_PENDING'];
  const result = await one();
  return result.exitCode === 3 && result.stderr.includes(code) ? other() : result;
}

async function checkMemos(repository: ScratchRepository, scene: Scene): Promise<string[]> {
  const count = (text: string) => text.split(memoText).length - 1;
  const line = count(await repository.git('show', `${scene.ref}:.teddy/memos.yaml`));
  const global = count(await repository.git('show', 'refs/heads/teddy/global:memos.yaml'));
  const entries = (await readAdded(repository, scene)).filter((kind) => kind === 'memo').length;
  const commits = count(await repository.git('log', '--format=%B', 'refs/heads/teddy/global')) / 2;
  const isOnce = line === 1 && global === 1 && entries === 1;
  return isOnce
    ? []
    : [`the memo is ${line}x on the line, ${global}x global, in ${entries} entries, ${commits} commits`];
}

/** An agent's wait is closed on the line once its plan was recorded; the next drain ensures that. */
async function closeGate(stage: Stage, scene: Scene, repository: ScratchRepository): Promise<string[]> {
  const countVerdicts = async () => (await readAdded(repository, scene)).filter((kind) => kind === 'approval').length;
  const listNotes = async () => (await repository.list('.git/teddy/journal').catch(() => [])).filter(isGateNote);
  const wanted = Math.max(await countVerdicts(), (await listNotes()).length);
  const drained = await runChild({ program: stage.program, operation: 'drain', root: repository.root });
  const [verdicts, left] = [await countVerdicts(), await listNotes()];
  const isRight = drained.failure === null && verdicts === wanted && left.length === 0;
  return isRight ? [] : [`${verdicts} verdicts instead of ${wanted}, ${left.join()} left: ${drained.failure?.text}`];
}

function isGateNote(name: string): boolean {
  return /^gate-[0-9a-f]{16}\.json$/.test(name);
}

/** Each linked work tree is intact and has its line, git lists all of them, and no note is left. */
async function checkWorkTrees(repository: ScratchRepository): Promise<string[]> {
  const rows = (await repository.git('worktree', 'list', '--porcelain')).split('\n');
  const roots = rows.flatMap((row) => (row.startsWith('worktree ') ? [row.slice('worktree '.length)] : [])).slice(1);
  const problems = rows.filter((row) => /^(?:locked|prunable|detached)/.test(row));
  for (const root of roots) {
    const status = await repository.git('-C', root, 'status', '--porcelain').catch((error: Error) => error.message);
    if (status !== '') problems.push(`the work tree ${root} has ${status}`);
  }
  const there = await repository.list('.git/teddy/worktrees').catch(() => []);
  if (there.length !== roots.length) problems.push(`${there.join()} instead of ${roots.join()}`);
  const notes = await repository.list('.git/teddy/journal').catch(() => []);
  return [...problems, ...notes.map((name) => `${name} is left`)];
}

export async function findLeftovers(repository: ScratchRepository): Promise<string[]> {
  const gitDir = join(repository.root, '.git');
  const all = await readdir(gitDir, { recursive: true });
  const left = all.filter((path) => /\.lock$|^teddy\/(append|refs|lock|index|snapshot|file)-/.test(path));
  const inWorkTree = (await readdir(repository.root, { recursive: true })).filter((path) => !path.startsWith('.git/'));
  const temporary = inWorkTree.filter((path) => /\.tmp-|\.teddy-tmp-/.test(path));
  return [...left, ...temporary].map((path) => `${path} is left`);
}
