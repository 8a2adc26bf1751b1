/** Finds what killed processes left behind in teddy's directory: answers, write sessions, runs, and a server's record. */
import { lstat, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { TeddyError } from '../../errors.ts';
import { decodeJournal, type JournaledRun } from '../../plan/report/journal.ts';
import type { Remain, Remains } from '../../ports/disk.ts';
import type { Clock } from '../../ports/project.ts';
import { scratchHolder, scratchPrefixes } from '../../session/paths/scratch-names.ts';
import { journalIn } from '../../journal/journal.ts';
import { answerKind } from './answer-staging.ts';
import { findHolder, type Processes } from '../../disk/claim-file.ts';
import { goneSuffix, peekWrites } from '../writes/found-write.ts';
import { processNames } from '../../disk/process-identity.ts';
import { discardedPrefix, logName } from './run-journal.ts';
import { serverRecords } from './server-record.ts';
import { unfinishedSuffix } from '../writes/staging-directory.ts';
import { nullIfGone } from '../../disk/system-error.ts';

export interface SystemRemainsOptions extends Processes {
  /** `<git-common-dir>/teddy`. */
  dir: string;
  clock: Clock;
}

/** `inGit` finds leftovers in the git directories themselves. */
export function allRemains(inGit: Remains, options: SystemRemainsOptions): Remains {
  return {
    ...inGit,
    look: async () => [...(await inGit.look()), ...(await lookAround(options))],
    async clear(remain) {
      await inGit.clear(remain);
      const isLeft = (await lookAround(options)).some(({ kind, path }) => kind === remain.kind && path === remain.path);
      if (!isLeft) return;
      if (remain.kind === 'leftover') await rm(remain.path, { recursive: true, force: true });
      if (remain.kind === 'server') await (await serverRecords({ path: remain.path, ...options }).claim()).release();
    },
  };
}

async function lookAround(options: SystemRemainsOptions): Promise<Remain[]> {
  const parts = [findAnswers, findWrites, findRuns, findHalfNotes, findServer, findStrangers, findScratch];
  return (await Promise.all(parts.map((find) => find(options)))).flat();
}

async function findAnswers(options: SystemRemainsOptions): Promise<Remain[]> {
  const left = await journalIn({ ...options, dir: join(options.dir, 'journal') }).look(answerKind);
  return Promise.all(
    left.map(async ({ content, facts, read }): Promise<Remain> => {
      const { verified, tail, isDamaged } = await read();
      const bytes = verified.length + tail.length;
      return {
        kind: 'answer',
        path: content,
        place: facts?.place ?? null,
        bytes,
        isDamaged: isDamaged || facts === null,
      };
    }),
  );
}

async function findWrites(options: SystemRemainsOptions): Promise<Remain[]> {
  const dir = join(options.dir, 'write_sessions');
  const found: Remain[] = [];
  for (const name of await namesIn(dir)) {
    const path = join(dir, name);
    const isHalf = name.endsWith(unfinishedSuffix) && (await isOld(options, path));
    if (isHalf || name.endsWith(goneSuffix)) found.push({ kind: 'leftover', path });
  }
  const writes = await peekWrites({ ...options, dir });
  return [...found, ...writes.map((write): Remain => ({ kind: 'write', path: join(dir, write.id), found: write }))];
}

async function findRuns(options: SystemRemainsOptions): Promise<Remain[]> {
  const runs = join(options.dir, 'runs');
  const entries = await readdir(runs, { withFileTypes: true }).catch(nullIfGone);
  const found: Remain[] = [];
  for (const { name } of (entries ?? []).filter((entry) => entry.isDirectory())) {
    const path = join(runs, name);
    if (name.startsWith(discardedPrefix)) found.push({ kind: 'leftover', path });
    else if ((await findHolder(join(runs, `${name}.json`), options)) === null) found.push(await readRun(path));
  }
  return found;
}

async function readRun(path: string): Promise<Remain> {
  const text = await readFile(join(path, logName), 'utf8').catch(nullIfGone);
  if (text === null) return { kind: 'stranger', path };
  const run = decodeOrNull(text);
  // Something killed the run before its first action began.
  if (run === undefined || run?.begun.length === 0) return { kind: 'leftover', path };
  return { kind: 'run', path, run };
}

/** Returns null for a damaged record, undefined for one that is still empty. */
function decodeOrNull(text: string): JournaledRun | null | undefined {
  try {
    return decodeJournal(text) ?? undefined;
  } catch (error) {
    if (error instanceof TeddyError) return null;
    throw error;
  }
}

/** Finds notes that a killed process did not finish, and staged bytes that have no note. */
async function findHalfNotes(options: SystemRemainsOptions): Promise<Remain[]> {
  const dir = join(options.dir, 'journal');
  const names = await namesIn(dir);
  const halves = names.filter((name) => {
    const [, id, rest] = /^(.*?)\.(json\.|content$)/.exec(name) ?? [];
    return rest !== undefined && !names.includes(`${id}.json`);
  });
  const isLeft = await Promise.all(halves.map((name) => isOld(options, join(dir, name))));
  return halves.filter((_, at) => isLeft[at]).map((name) => ({ kind: 'leftover', path: join(dir, name) }));
}

async function findServer(options: SystemRemainsOptions): Promise<Remain[]> {
  const path = join(options.dir, 'server.json');
  const text = await readFile(path, 'utf8').catch(nullIfGone);
  if (text === null || (await findHolder(`${path}.lock`, options)) !== null) return [];
  return [{ kind: 'server', path }];
}

/** Names that teddy itself uses in this directory. */
const ownNames =
  /^(?:allowed|answers|aside|attributes\.before|cache|capture|commands|journal|runs|setup|spool(?:\.kept)?|talks|trusted|write_sessions|worktrees|(?:server|served-models|models)\.json(?:\..*)?|(?:append|refs)-\d+-.*\.json(?:\..*)?|(?:lock|index)-[0-9a-f]{8}(?:\.lock)?|(?:snapshot|file)-\d+-.*|made-for(?:\..*)?)$/;

async function findStrangers({ dir }: SystemRemainsOptions): Promise<Remain[]> {
  const names = (await namesIn(dir)).filter((name) => !ownNames.test(name));
  // Older versions of teddy kept received answers here, and noted which commands of conversations they ran.
  const [answers, commands] = await Promise.all(['answers', 'commands'].map((name) => namesIn(join(dir, name))));
  const older = (commands ?? []).filter((name) => name.endsWith('.note')).map((name) => join('commands', name));
  older.push(...(answers ?? []).map((name) => join('answers', name)));
  return [...names, ...older].map((name) => ({ kind: 'stranger', path: join(dir, name) }));
}

/** Finds directories that a dead process of this repository made in the temporary directory. */
async function findScratch(options: SystemRemainsOptions): Promise<Remain[]> {
  const names = (await namesIn(tmpdir())).filter((name) => scratchPrefixes.some((prefix) => name.startsWith(prefix)));
  const found: Remain[] = [];
  for (const path of names.map((name) => join(tmpdir(), name))) {
    const state = await lstat(path).catch(nullIfGone);
    if (state === null || !state.isDirectory() || state.uid !== process.getuid?.()) continue;
    const holder = await readFile(join(path, scratchHolder), 'utf8').catch(nullIfGone);
    const [name = '', repository] = holder?.split('\n') ?? [];
    if (repository !== dirname(options.dir) || (await processNames(options).isAlive(name)) !== false) continue;
    found.push({ kind: 'leftover', path });
  }
  return found;
}

/** Nothing takes this long to make a file or a directory. */
const oldMs = 60_000;

async function isOld({ clock }: SystemRemainsOptions, path: string): Promise<boolean> {
  const found = await lstat(path).catch(nullIfGone);
  return found !== null && clock.now().getTime() - found.mtimeMs > oldMs;
}

async function namesIn(dir: string): Promise<string[]> {
  return (await readdir(dir).catch(nullIfGone)) ?? [];
}
