/** The names of things in a repository. Only its parser makes a name, and the rest of the code trusts it. */
import { TeddyError } from './errors.ts';

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** A full object ID: 40 (SHA-1) or 64 (SHA-256) lower-case hexadecimal digits. */
export type Oid = Branded<'Oid'>;
/** A full ref name, e.g. `refs/heads/teddy/20260124-add-user-auth`. */
export type RefName = Branded<'RefName'>;
/** A session ID: `<YYYYMMDD>-<name>`. */
export type SessionId = Branded<'SessionId'>;
/** A turn directory's name: `02`, or `02-branch-01` for a conversation branch's first turn. */
export type TurnName = Branded<'TurnName'>;
/** A path relative to the project's root: parts separated by `/`, with no `.`, `..`, empty or NUL parts. */
export type RepoPath = Branded<'RepoPath'>;

export const globalRef = 'refs/heads/teddy/global' as RefName;
/** The prefix of refs that keep lines after they have landed or lost their branch. */
export const archivePrefix = 'refs/teddy/archive/';
/** The prefix of refs that keep lines for 30 days after `teddy delete` deleted them. */
export const deletedPrefix = 'refs/teddy/keep/deleted/';
/** Records that this repository has fetched something, even when no remote is configured. */
export const fetchedRef = 'refs/teddy/keep/fetched' as RefName;
const maxNameLength = 64;
/** A file name may contain the names of two lines, and is limited to 255 bytes. */
const maxNameBytes = 80;

export function isOid(text: string): text is Oid {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);
}

export function parseOid(text: string): Oid {
  if (!isOid(text)) throw new TeddyError('GIT_FAILED', `Not an object id: ${text}`);
  return text;
}

/** Returns the all-zero ID that stands for "does not exist" in ref updates. */
export function zeroOid(like: Oid): Oid {
  return '0'.repeat(like.length) as Oid;
}

/** Turns text into a session name: lower-case letters and digits of any script, single hyphens, 64 characters and 80 bytes. */
export function toSessionName(text: string, longest = maxNameLength): string {
  const slug = [...toCanonical(text).matchAll(nameWord)].map(([word]) => word).join('-');
  if (slug === '') {
    throw new TeddyError(
      'BAD_NAME',
      `No session name can be made from ${JSON.stringify(text)}.`,
      'Use letters and digits, e.g. `teddy new add-login-route`.',
    );
  }
  const fitting = truncateName(slug, longest);
  if (fitting === slug) return slug;
  const cut = slug.slice(0, fitting.length + 1).lastIndexOf('-');
  // Some scripts write whole sentences without spaces.
  return fitting.slice(0, cut > fitting.length / 2 ? cut : fitting.length).replace(/-$/, '');
}

/** A letter or a digit, followed by its marks. Invisible characters do not count. */
const nameCharacter = String.raw`(?!\p{Default_Ignorable_Code_Point})[\p{L}\p{Nd}](?:(?!\p{Default_Ignorable_Code_Point})\p{M})*`;
const nameWord = new RegExp(`(?:${nameCharacter})+`, 'gu');
const anySessionId = new RegExp(`^\\d{8}(?:-(?:${nameCharacter})+)+$`, 'u');

/** Composes and lowercases the text. Lowercasing may make another composition necessary. */
function toCanonical(text: string): string {
  return text.normalize('NFC').toLowerCase().normalize('NFC');
}

/** Cuts the name, but never between a character and its marks. */
function truncateName(name: string, longest: number): string {
  let bytes = 0;
  let length = 0;
  for (const [character] of name.matchAll(new RegExp(`${nameCharacter}|-`, 'gu'))) {
    bytes += new TextEncoder().encode(character).length;
    if (length + character.length > longest || bytes > maxNameBytes) break;
    length += character.length;
  }
  return name.slice(0, length);
}

/** Makes a session ID from the UTC date and the name. `attempt` 1 gives the plain ID; 2, 3, ... add a number at the end. */
export function toSessionId(date: Date, name: string, attempt = 1): SessionId {
  const day = date.toISOString().slice(0, 10).replaceAll('-', '');
  return `${day}-${name}${attempt === 1 ? '' : `-${attempt}`}` as SessionId;
}

export function isSessionId(text: string): text is SessionId {
  return /^\d{8}(?:-[a-z0-9]+)+$/.test(text) || (anySessionId.test(text) && toCanonical(text) === text);
}

export function isTurnName(text: string): text is TurnName {
  return /^\d{2,}(?:-branch-\d{2,})?$/.test(text) && Number.parseInt(text, 10) > 0;
}

/** Parses `2`, `02` and `02-branch-01`. */
export function parseTurnName(text: string): TurnName {
  const match = /^(\d+)(?:-branch-(\d+))?$/.exec(text.trim());
  if (!match?.[1] || Number(match[1]) === 0) {
    throw new TeddyError('UNKNOWN_TURN', `Not a turn: ${text}`, 'A turn is written as 02 or 02-branch-01.');
  }
  return toTurnName(Number(match[1]), match[2] === undefined ? undefined : Number(match[2]));
}

export function toTurnName(number: number, branch?: number): TurnName {
  const digits = (value: number) => String(value).padStart(2, '0');
  return (branch === undefined ? digits(number) : `${digits(number)}-branch-${digits(branch)}`) as TurnName;
}

export function turnNumber(turn: TurnName): number {
  return Number.parseInt(turn, 10);
}

function turnBranch(turn: TurnName): number {
  return Number(/-branch-(\d+)$/.exec(turn)?.[1] ?? 0);
}

/** Sorts turns in their order. Parses each number only once, because teddy often sorts lines with thousands of turns. */
export function sortTurns(turns: readonly TurnName[]): TurnName[] {
  const numbered = turns.map((turn) => ({ turn, number: turnNumber(turn) }));
  return numbered.sort((a, b) => a.number - b.number || compareTurns(a.turn, b.turn)).map(({ turn }) => turn);
}

/** Compares turns by number, then by branch; `02` sorts before `02-branch-01`. */
export function compareTurns(a: TurnName, b: TurnName): number {
  return turnNumber(a) - turnNumber(b) || turnBranch(a) - turnBranch(b);
}

export function mainLineRef(session: SessionId): RefName {
  return `refs/heads/teddy/${session}` as RefName;
}

/** A file name is limited to 255 bytes, and a claim adds up to 50 bytes to its run's name. */
const maxRunBytes = 205;

/**
 * Returns a file name for a turn's run. The name includes the line, because the session's other lines may have a turn
 * with the same name. Encodes letters from other scripts, so that teddy finds a run that an older version left behind,
 * unless the name would become too long.
 */
export function runName({ session, turn, ref }: { session: SessionId; turn: TurnName; ref: RefName }): string {
  const run = `${session}-${turn}`;
  if (ref === mainLineRef(session)) return run;
  const line = shortRef(ref);
  const encoded = `${run}--${encodeURIComponent(line)}`;
  if (new TextEncoder().encode(encoded).length <= maxRunBytes) return encoded;
  return `${run}--${line.replace(/[^\p{L}\p{M}\p{Nd}_.!~*'()-]/gu, encodeURIComponent)}`;
}

export function conversationBranchRef(session: SessionId, turn: TurnName): RefName {
  return `refs/heads/teddy/${session}--${turn}` as RefName;
}

/** Parses `refs/heads/teddy/<session>` and `refs/heads/teddy/<session>--<turn>-branch-<nn>`; returns null for anything else. */
export function parseLineRef(ref: string): { session: SessionId; branch: TurnName | null } | null {
  const match = /^refs\/heads\/teddy\/([^/]+?)(?:--(\d{2,}-branch-\d{2,}))?$/.exec(ref);
  if (!match?.[1] || !isSessionId(match[1])) return null;
  if (match[2] !== undefined && !isTurnName(match[2])) return null;
  return { session: match[1], branch: match[2] ?? null };
}

/** Returns the ref that keeps a line after its branch is gone, below its session's month. */
export function archiveRef(line: RefName): RefName {
  return line.replace(/^refs\/heads\/teddy\/(\d{4})(\d{2})/, `${archivePrefix}$1-$2/$1$2`) as RefName;
}

/** Returns the folder for a session's archives, e.g. `2026-01`. */
export function archiveMonth(session: SessionId): string {
  return `${session.slice(0, 4)}-${session.slice(4, 6)}`;
}

export interface ArchiveName {
  session: SessionId;
  branch: TurnName | null;
  /** The line's former branch. */
  line: RefName;
}

/** Parses an archive ref, below its session's month, into the line that it keeps; returns null for anything else. */
export function parseArchiveRef(ref: string): ArchiveName | null {
  if (!ref.startsWith(archivePrefix)) return null;
  const line = `refs/heads/teddy/${ref.slice(ref.lastIndexOf('/') + 1)}` as RefName;
  const parsed = parseLineRef(line);
  return parsed === null || ref !== archiveRef(line) ? null : { ...parsed, line };
}

/** The name of the branch that brings a session's code to a pull request; a number may follow it. */
export function landingBranch(session: SessionId): string {
  return `teddy-land/${session}`;
}

/** The notes that name the sessions of squashed commits. */
export const notesRef = 'refs/notes/teddy' as RefName;

/** Returns the ref for a copy of a remote's notes; `git log --notes=remotes/origin/teddy` shows origin's. */
export function notesCopyRef(remote: string): RefName {
  return `refs/notes/remotes/${remote}/teddy` as RefName;
}

/** Returns true for the notes of this repository, and for copies of its remotes' notes. */
export function isNotesRef(ref: string): boolean {
  return ref === notesRef || /^refs\/notes\/remotes\/.+\/teddy$/.test(ref);
}

/** Shortens a ref for the user, as git does. Omits an archive's month, which the session's ID contains. */
export function nameRef(ref: RefName): string {
  const { line } = parseArchiveRef(ref) ?? {};
  if (line !== undefined) return `archive/${shortRef(line).slice('teddy/'.length)}`;
  return ref.startsWith(archivePrefix) ? `archive/${ref.slice(archivePrefix.length)}` : shortRef(ref);
}

/** Applies git's rules for ref names (`git help check-ref-format`). */
export function isRefName(ref: string): ref is RefName {
  // oxlint-disable-next-line no-control-regex
  if (!ref.startsWith('refs/') || /[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|\/$|\.$/.test(ref)) return false;
  return ref.split('/').every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock'));
}

export function shortRef(ref: string): string {
  return ref.replace(/^refs\/(?:heads|remotes|tags)\//, '');
}

export function sessionDir(session: SessionId): RepoPath {
  return `.teddy/sessions/${session}` as RepoPath;
}

export function turnDir(session: SessionId, turn: TurnName): RepoPath {
  return `.teddy/sessions/${session}/${turn}` as RepoPath;
}

export function joinPath(dir: RepoPath, name: string): RepoPath {
  return `${dir}/${name}` as RepoPath;
}

/** Lists the directories that contain a path, the deepest first. */
export function parentsOf(path: string): RepoPath[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, at) => parts.slice(0, parts.length - at).join('/') as RepoPath);
}

/** Accepts a path from git unchecked, because git prints paths relative to the root. */
export function repoPathFromGit(path: string): RepoPath {
  return path as RepoPath;
}
