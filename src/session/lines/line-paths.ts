/** The paths that a session may contain, and the paths that each kind of entry writes. */
import { foldPart } from '../paths/paths.ts';
import type { Entry, EntryKind } from '../entries/entry.ts';
import { attributesPath, globalContextPath, isSessionPath, memosPath } from '../global/global-files.ts';
import { joinPath, sessionDir, turnDir, type RepoPath, type SessionId, type TurnName } from '../../names.ts';

/** Explains why an honest tree cannot have this path or mode; null when it can. `mode` is git's, with six digits. */
export function whyHostile(path: RepoPath, mode: string | null): string | null {
  const parts = path.split(/[/\\]/);
  if (parts.includes('..') || parts.includes('.')) return 'The path leads out of its directory.';
  if (path.split('/').includes('')) return 'A part of the path is empty.';
  const folded = parts.map(foldPart);
  if (folded.some((part) => part === '.git' || /^git~\d+$/.test(part))) return 'The path goes into a .git directory.';
  const [first] = folded;
  const isOwn = path.startsWith('.teddy/');
  if (!isOwn && path.includes('/') && (first === '.teddy' || /^teddy~\d+$/.test(first ?? '')))
    return 'The path is .teddy in another spelling.';
  return isOwn || path === '.teddy' ? whyHostileMode(path, mode) : null;
}

function whyHostileMode(path: RepoPath, mode: string | null): string | null {
  if (path === '.teddy') return '.teddy is a directory, and nothing else may have its name.';
  if (mode === '120000') return 'There is a symbolic link below .teddy/.';
  if (mode === '160000') return 'There is a submodule below .teddy/.';
  return mode === '100755' ? 'A file below .teddy/ is executable.' : null;
}

/**
 * Returns true if one of teddy's files belongs to this session or to all sessions. teddy does not check other sessions'
 * files.
 */
export function isOfSession(session: SessionId, path: RepoPath): boolean {
  if (!isSessionPath(path)) return false;
  return !path.startsWith('.teddy/sessions/') || path.startsWith(`${sessionDir(session)}/`);
}

/** Returns true if the user may edit the file, through a snapshot or in a commit of their own. */
export function isEditable(session: SessionId, path: RepoPath): boolean {
  return path === memosPath || path === globalContextPath || path === joinPath(sessionDir(session), 'session.context');
}

const turnFiles: Partial<Record<EntryKind, RegExp>> = {
  message: /^(?:turn\.context|_context\.log|transcript\.jsonl|raw\.jsonl)$/,
  exchange: /^(?:transcript|raw)\.jsonl$/,
  plan: /^(?:plan\.md|transcript\.jsonl)$/,
  reply: /^(?:transcript|raw)\.jsonl$/,
  report: /^(?:report\.md|output\/[1-9]\d*\.log|pages\/[1-9]\d*\.txt)$/,
  approval: /^transcript\.jsonl$/,
  branch: /^(?:turn\.context|_context\.log)$/,
};

/** Returns true if this kind of entry may write the path, for which `isOfSession` is true. */
export function mayWrite(kind: EntryKind, session: SessionId, turn: TurnName | null, path: RepoPath): boolean {
  if (kind === 'start') return path === attributesPath || isEditable(session, path);
  if (kind === 'snapshot') return isEditable(session, path);
  if (path === memosPath) return kind === 'message' || kind === 'memo';
  if (path === globalContextPath) return kind === 'message';
  const dir = turn === null ? null : `${turnDir(session, turn)}/`;
  return dir !== null && path.startsWith(dir) && (turnFiles[kind]?.test(path.slice(dir.length)) ?? false);
}

/** Returns true if this kind of entry may change the project's code, which is everything outside teddy's own files. */
export function mayChangeCode(kind: EntryKind): boolean {
  return kind === 'snapshot' || kind === 'report' || kind === 'undo' || kind === 'write';
}

/** Returns the turn, spelled as in the path, and the file below it; null when the path belongs to no turn of the session. */
export function turnOfPath(session: SessionId, path: RepoPath): { turn: string; file: string } | null {
  const dir = `${sessionDir(session)}/`;
  if (!path.startsWith(dir)) return null;
  const rest = path.slice(dir.length);
  const slash = rest.indexOf('/');
  return slash === -1 ? null : { turn: rest.slice(0, slash), file: rest.slice(slash + 1) };
}

/** The status of an undo that reverted only some of its turn's files. */
export const partlyUndone = 'PARTIAL';
/** The statuses of an undo that restores all, or only part, of the changes that earlier undos reverted. */
export const [redone, partlyRedone] = ['REDONE', 'PARTLY_REDONE'];

type Labelled = Pick<Entry, 'kind' | 'status'>;

export function revertsTurn({ kind, status }: Labelled): boolean {
  return kind === 'undo' && status !== redone && status !== partlyRedone;
}

/** Returns how much of a turn remains undone after its last undo; null when nothing does. */
export function undoneExtent(last: Labelled | null | undefined): 'whole' | 'part' | null {
  if (last?.kind !== 'undo' || last.status === redone) return null;
  return last.status === partlyUndone || last.status === partlyRedone ? 'part' : 'whole';
}
