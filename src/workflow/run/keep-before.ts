/** Saves the files that an action may change before it starts, so that teddy can restore them, even after a crash. */
import { TeddyError } from '../../errors.ts';
import type { Before, JournaledRun, KeptState } from '../../plan/report/journal.ts';
import type { KeptFiles, ProjectFiles, RunJournal } from '../../ports/disk.ts';
import type { FileState } from '../../ports/files.ts';
import type { Scan, Workspace } from '../../ports/git.ts';
import { isSessionPath } from '../../session/global/global-files.ts';
import type { RepoPath } from '../../names.ts';
import { anotherRepository, isRepository } from '../line/new-files.ts';
import type { RunLog } from './run.ts';

type Command = Extract<Before, { kind: 'command' }>;

/** Before a command, teddy copies untracked files up to this size. */
const maxKeptBytes = 1024 * 1024;

/** Saves one file. `path` is the file itself, not a link to it. */
export async function keepFile(
  files: ProjectFiles,
  journal: RunJournal,
  path: RepoPath,
  afterSha256: string,
): Promise<Extract<Before, { kind: 'write' }>> {
  const state = await keepState(journal, await files.readState(path));
  const madeDirectories = await findMissingParents(files, path);
  return { kind: 'write', path, state: state ?? { kind: 'absent' }, afterSha256, madeDirectories };
}

/** Saves everything that differs from HEAD before a command. teddy can restore the rest from HEAD. */
export async function keepEdits(
  workspace: Workspace,
  files: ProjectFiles,
  { journal, journaled }: RunLog,
  { head, scan }: KeptFiles,
): Promise<Command> {
  const kept: [RepoPath, KeptState][] = [];
  const notKept: [RepoPath, string][] = [];
  const directories = workspace.untrackedDirectories();
  directories.catch(() => undefined);
  const known = findKept(journaled(), scan);
  for (const [path, print] of scan) {
    if (isSessionPath(path)) continue;
    const state = known.get(path) ?? (await keepEdit(workspace, files, journal, path, print));
    if (typeof state === 'string') notKept.push([path, state]);
    else kept.push([path, state]);
  }
  return { kind: 'command', head: head.oid, scan: [...scan], kept, notKept, directories: await directories };
}

/** Returns the files saved before the previous command and unchanged since; there may be thousands. */
function findKept({ begun }: JournaledRun, now: Scan): Map<RepoPath, KeptState> {
  const last = begun.map(({ before }) => before).findLast((before) => before.kind === 'command');
  const prints = new Map(last?.scan);
  return new Map(last?.kept.filter(([path]) => prints.get(path) === now.get(path)));
}

/** Returns the state, or a string that explains why the file is not saved. */
async function keepEdit(
  workspace: Workspace,
  files: ProjectFiles,
  journal: RunJournal,
  path: RepoPath,
  print: string,
): Promise<KeptState | string> {
  if (isRepository(path)) return anotherRepository;
  const isTooBig = isUntracked(print) && ((await workspace.sizeOnDisk(path)) ?? 0) > maxKeptBytes;
  if (isTooBig) return 'over 1 MiB, and git does not track it';
  const state = await files.readState(path).catch(nullIfRefused);
  return state === null ? 'it cannot be read' : ((await keepState(journal, state)) ?? 'it is not a file');
}

/** Turns a teddy error into null when it is not a reason to stop. */
export function nullIfRefused(error: unknown): null {
  if (error instanceof TeddyError) return null;
  throw error;
}

/** Returns true if a scan's fingerprint marks the file as untracked. */
export function isUntracked(print: string): boolean {
  return print.startsWith('??');
}

/** Returns null for anything that teddy cannot save, such as a directory or a device. */
async function keepState(journal: RunJournal, state: FileState): Promise<KeptState | null> {
  if (state.kind === 'other') return null;
  if (state.kind !== 'file') return state;
  return { kind: 'file', key: await journal.keep(state.bytes), mode: state.mode };
}

/** Returns the missing parents, outermost first. */
async function findMissingParents(files: ProjectFiles, path: RepoPath): Promise<RepoPath[]> {
  const missing: RepoPath[] = [];
  for (let parent = parentOf(path); parent !== null; parent = parentOf(parent)) {
    if ((await files.readState(parent)).kind !== 'absent') break;
    missing.unshift(parent);
  }
  return missing;
}

export function parentOf(path: RepoPath): RepoPath | null {
  const end = path.lastIndexOf('/');
  return end === -1 ? null : (path.slice(0, end) as RepoPath);
}
