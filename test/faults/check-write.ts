/** Checks a write session after a fault, and its continuation. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openProject } from '../../src/app.ts';
import type { Project } from '../../src/ports/project.ts';
import type { Phase } from '../../src/write/write.ts';
import { appendWrite } from '../../src/workflow/writes/append.ts';
import { beginWrite } from '../../src/workflow/writes/begin.ts';
import { cancelWrite, cleanWrites } from '../../src/workflow/writes/clean.ts';
import { finalizeHeld, finalizeWrite, type Finalized } from '../../src/workflow/writes/finalize.ts';
import { listWrites, type WriteView } from '../../src/workflow/writes/list.ts';
import { discardWrite, finalizeLeft, claimWrite } from '../../src/workflow/writes/recover.ts';
import { heldDestination, receiveInto } from '../../src/workflow/writes/run-write.ts';
import { runTeddy } from '../support/run-teddy.ts';
import { openScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { findLeftovers, repair } from './check-run.ts';
import type { ChildRun } from './run-child.ts';
import { readStatus, type Scene } from './scenes.ts';
import { afterOf, contentOf, isWriteSceneName, writeWishes, type WriteScene } from './write-cases.ts';

/** How often each way to continue was taken. */
export const wentOn = new Map<string, number>();

interface Known {
  scene: Scene;
  repository: ScratchRepository;
  wish: WriteScene;
  run: Pick<ChildRun, 'acknowledged' | 'savedBytes' | 'begun'>;
  problems: string[];
}

/** Returns the faults, one sentence each; empty if all is right. */
export async function checkWrite(scene: Scene, repository: ScratchRepository, run: Known['run']): Promise<string[]> {
  if (!isWriteSceneName(scene.name)) throw new Error(`${scene.name} is no scene of a write session.`);
  const known: Known = { scene, repository, wish: writeWishes[scene.name], run, problems: [] };
  await repair(repository);
  await withProject(repository, async (project) => {
    const before = await readEntries(known);
    const [view = null, ...others] = await listWrites(project);
    expectThat(known, others.length === 0, `${others.length + 1} write sessions`);
    await checkUntouched(known);
    const content = view === null ? null : await project.writes.readContent(view.id);
    const staged = Buffer.from(content?.verified ?? []).toString();
    await checkReached(known, before, view, staged);
    await goOn(known, project, view, chooseWay(known.wish, before, view, staged));
    await checkEnd(known, project);
  }).catch((error: unknown) => known.problems.push(toText(error)));
  await repository.fsck().catch((error: Error) => known.problems.push(error.message));
  return known.problems;
}

async function withProject(repository: ScratchRepository, use: (project: Project) => Promise<void>): Promise<void> {
  const notices = { info: () => undefined, warn: () => undefined };
  const project = await openProject({ cwd: repository.root, env: process.env, notices });
  try {
    await use(project);
  } finally {
    await project.repository.close();
  }
}

function expectThat({ problems }: Pick<Known, 'problems'>, isTrue: boolean, what: string): void {
  if (!isTrue) problems.push(what);
}

interface WriteEntry {
  commit: string;
  id: string;
}

/** Everything from write sessions, wherever it is reachable from. */
async function readEntries({ repository }: Pick<Known, 'repository'>): Promise<WriteEntry[]> {
  const format = '--format=%H %(trailers:key=Teddy-Write-Session,valueonly,separator=)';
  const rows = (await repository.git('log', '--all', format)).split('\n');
  return rows.flatMap((row) => {
    const [commit = '', id = ''] = row.split(' ');
    return id === '' ? [] : [{ commit, id }];
  });
}

/** HEAD, the index except for the target, and the user's files. */
async function checkUntouched(known: Known): Promise<void> {
  const { repository, scene, wish } = known;
  const found = await look(repository, wish);
  const wanted = looks.get(scene) ?? (await look(openScratchRepository(scene.template), wish));
  looks.set(scene, wanted);
  expectThat(known, found.head === wanted.head, `HEAD is ${found.head}`);
  expectThat(known, found.index.join('\n') === wanted.index.join('\n'), `the index has ${found.index.join(' | ')}`);
  expectThat(
    known,
    JSON.stringify(found.files) === JSON.stringify(wanted.files),
    `files ${JSON.stringify(found.files)}`,
  );
  const status = await readStatus(repository);
  const strange = status.filter((row) => !scene.status.includes(row) && !isOwnRow(row, wish));
  expectThat(known, strange.length === 0, `git status shows ${strange.join(' | ')}`);
  const lost = scene.status.filter((row) => !status.includes(row));
  expectThat(known, lost.length === 0, `the user's ${lost.join(' | ')} is no more`);
}

interface Look {
  head: string;
  index: string[];
  files: Record<string, string>;
}

/** The patterns for the templates. */
const looks = new Map<Scene, Look>();

async function look(repository: ScratchRepository, wish: WriteScene): Promise<Look> {
  const rows = (await repository.git('ls-files', '--stage')).split('\n');
  return {
    head: await readFile(join(repository.root, '.git/HEAD'), 'utf8'),
    index: rows.filter((row) => !row.endsWith(`\t${wish.target}`)),
    files: await readUserFiles(repository, wish),
  };
}

/** A file that is being installed when a process is killed stays until a continuation. */
function isOwnRow(row: string, { target }: WriteScene): boolean {
  return row.slice(3) === target || /^\?\? (?:.*\/)?\.teddy-tmp-[0-9a-f]{16}$/.test(row);
}

async function readUserFiles({ root }: ScratchRepository, { target }: WriteScene): Promise<Record<string, string>> {
  const paths = ['src/kept.txt', 'src/edited.txt', 'src/staged.txt', 'src/untracked.txt', 'README.md'];
  const texts: Record<string, string> = {};
  for (const path of paths.filter((one) => one !== target)) texts[path] = await readFile(join(root, path), 'utf8');
  return texts;
}

async function readTarget({ repository, wish }: Known): Promise<string | null> {
  return repository.read(wish.target).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  });
}

/** The target is the old one or the new one, and all acknowledged content exists somewhere. */
async function checkReached(
  known: Known,
  entries: WriteEntry[],
  view: WriteView | null,
  staged: string,
): Promise<void> {
  const { wish, run, scene } = known;
  const target = await readTarget(known);
  const isNew = target === afterOf(wish);
  expectThat(known, isNew || target === wish.before, `the target is ${JSON.stringify(target?.slice(0, 200))}`);
  expectThat(known, entries.length <= 1, `${entries.length} entries`);
  expectThat(known, entries.length === 0 || isNew, 'committed, and the target is not there');
  expectThat(
    known,
    !isNew || entries.length === 1 || isInstalled(view?.stage, view),
    `installed, and ${view?.stage} says nothing of it`,
  );
  const acknowledged = run.acknowledged.filter((commit) => commit !== 'cancelled');
  expectThat(
    known,
    acknowledged.every((commit) => entries.some((entry) => entry.commit === commit)),
    'acknowledged, and not committed',
  );
  if (scene.name === 'write-cancel') expectThat(known, entries.length === 0, 'cancelled, and committed');
  if (view === null || entries.length > 0) {
    const isFree = entries.length > 0 || run.savedBytes === 0 || scene.name === 'write-cancel';
    expectThat(known, isFree, `${run.savedBytes} bytes were saved, and nothing is left of them`);
    return;
  }
  const isPrefix = [wish.pieces.join(''), contentOf(wish)].some((text) => text.startsWith(staged));
  expectThat(known, isPrefix, `staged is ${JSON.stringify(staged.slice(0, 200))}`);
  expectThat(known, staged.length >= run.savedBytes, `${run.savedBytes} bytes were saved, ${staged.length} are there`);
  expectThat(known, view.stage !== 'damaged', 'what was staged is damaged');
}

function isInstalled(stage: WriteView['stage'] | undefined, view: WriteView | null): boolean {
  const phases: (Phase | 'orphaned' | 'damaged')[] = ['installing', 'installed', 'orphaned'];
  return stage !== undefined && phases.includes(stage) && view?.record !== null;
}

/** Ends with the target written and committed, once. */
async function goOn(known: Known, project: Project, view: WriteView | null, way: keyof typeof ways): Promise<void> {
  wentOn.set(way, (wentOn.get(way) ?? 0) + 1);
  try {
    await ways[way](known, project, view?.id ?? '');
  } catch (error) {
    known.problems.push(`${way} (${view?.stage}): ${toText(error)}`);
  }
}

function toText(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

let choices = 0;

function chooseWay(wish: WriteScene, entries: WriteEntry[], view: WriteView | null, staged: string): keyof typeof ways {
  if (view === null) return entries.length > 0 ? 'nothing left' : 'begin anew';
  if (view.stage === 'committed') return 'ask again';
  if (staged === contentOf(wish) || entries.length > 0) return 'finalize';
  choices += 1;
  return choices % 2 === 0 ? 'continue' : 'discard';
}

type Way = (known: Known, project: Project, id: string) => Promise<void>;

const ways = {
  'nothing left': async () => undefined,
  'begin anew': writeWhole,
  async finalize({ problems, repository }, project, id) {
    // Occasionally by the command as well, since it starts slowly.
    if ((wentOn.get('finalize') ?? 0) % 8 !== 1) return expectWritten(problems, await finalizeLeft(project, id, false));
    const { exitCode, stderr } = await runTeddy(['write', 'recover', id, '--finalize'], { cwd: repository.root });
    if (exitCode !== 0) problems.push(`teddy write recover exits with ${exitCode}: ${stderr}`);
  },
  async 'ask again'({ problems }, project, id) {
    expectWritten(problems, await finalizeWrite(project, { id }));
  },
  async discard(known, project, id) {
    await discardWrite(project, id);
    await writeWhole(known, project);
  },
  async continue({ wish, problems }, project, id) {
    const held = await claimWrite(project, id);
    try {
      const rest = contentOf(wish).slice(wish.replacement === null ? held.write.state.size : 0);
      const { signal } = new AbortController();
      const destination = heldDestination(project, held, { isOfModel: false, signal });
      await receiveInto(project, destination, toSource(`${rest}${held.record.endMarker}\n`), {
        isRestart: wish.replacement !== null,
        isAnswer: false,
        signal,
        onPrompt: () => undefined,
      });
      expectWritten(problems, await finalizeHeld(project, held));
    } finally {
      await held.staged.close();
    }
  },
} satisfies Record<string, Way>;

async function* toSource(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

function expectWritten(problems: string[], finalized: Finalized): void {
  if (!finalized.isWritten) problems.push(`refused: ${finalized.message}`);
}

async function writeWhole({ wish, problems }: Known, project: Project): Promise<void> {
  const { target, operation } = wish;
  const { record } = await beginWrite(project, { intent: 'once more', target, operation, hasController: false });
  await appendWrite(project, { id: record.id, bytes: Buffer.from(contentOf(wish)) });
  expectWritten(problems, await finalizeWrite(project, { id: record.id }));
}

async function checkEnd(known: Known, project: Project): Promise<void> {
  const { repository, wish, scene } = known;
  const entries = await readEntries(known);
  const [entry] = entries;
  expectThat(known, entries.length === 1, `${entries.length} entries at the end`);
  expectThat(known, (await readTarget(known)) === afterOf(wish), 'the target is another one at the end');
  if (entry !== undefined) await checkEntry(known, entry);
  await checkUntouched(known);
  const row = (await readStatus(repository)).filter((one) => isOwnRow(one, wish));
  const wanted = scene.ref === null ? [`?? ${wish.target}`] : [];
  expectThat(known, row.join() === wanted.join(), `git status shows ${row.join(' | ')} at the end`);

  // The slot is free for another one.
  const other = await beginWrite(project, {
    intent: 'next',
    target: 'next.txt',
    operation: 'create',
    hasController: false,
  });
  await cancelWrite(project, other.record.id);
  await cleanWrites(project);
  const left = await readdir(join(repository.root, '.git/teddy/write_sessions'));
  expectThat(known, left.length === 0, `${left.join()} is left in staging`);
  known.problems.push(...(await findLeftovers(repository)));
}

async function checkEntry(known: Known, { commit }: WriteEntry): Promise<void> {
  const { repository, wish, scene } = known;
  const paths = await repository.git('diff-tree', '-r', '--name-only', '--no-commit-id', commit);
  expectThat(known, paths === wish.target, `the entry has ${paths.split('\n').join()}`);
  const text = await repository.git('show', `${commit}:${wish.target}`);
  expectThat(known, text === afterOf(wish).replace(/\n$/, ''), 'the entry has another content');
  const branches = await repository.git('for-each-ref', '--format=%(refname)', '--contains', commit, 'refs/heads/');
  const isThere = scene.ref === null ? /^refs\/heads\/teddy\/\d+-writes$/.test(branches) : branches === scene.ref;
  expectThat(known, isThere, `the entry is on ${branches}`);
}
