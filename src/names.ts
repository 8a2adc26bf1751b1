/** The names of things in a repository. Each is made only by its parser, and trusted from then on. */
import { TeddyError } from './errors.ts';

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** A full object id: 40 (SHA-1) or 64 (SHA-256) lower-case hexadecimal digits. */
export type Oid = Branded<'Oid'>;
/** A full ref name, e.g. `refs/heads/teddy/20260124-add-user-auth`. */
export type RefName = Branded<'RefName'>;
/** A session id, `<YYYYMMDD>-<name>`. */
export type SessionId = Branded<'SessionId'>;
/** A turn directory's name: `02`, or `02-branch-01` for the first turn of a conversation branch. */
export type TurnName = Branded<'TurnName'>;
/** A path relative to the project's root: `/` between parts, no `.`, `..`, empty or NUL parts. */
export type RepoPath = Branded<'RepoPath'>;

export const globalRef = 'refs/heads/teddy/global' as RefName;
/** Where lines are kept whose branches are gone, or have landed. */
export const archivePrefix = 'refs/teddy/archive/';
/** Where lines are kept for 30 days that `session delete` has deleted. */
export const deletedPrefix = 'refs/teddy/keep/deleted/';
/** Says that something here came from elsewhere, also where no remote is configured. */
export const fetchedRef = 'refs/teddy/keep/fetched' as RefName;
const maxNameLength = 64;
/** A file may have the names of two lines in its own, which has room for 255 bytes. */
const maxNameBytes = 80;

export function isOid(text: string): text is Oid {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);
}

export function parseOid(text: string): Oid {
  if (!isOid(text)) throw new TeddyError('GIT_FAILED', `Not an object id: ${text}`);
  return text;
}

/** The all-zero id that stands for "does not exist" in ref updates. */
export function zeroOid(like: Oid): Oid {
  return '0'.repeat(like.length) as Oid;
}

/** Turns free text into a session name: lower case, letters and digits of any script, single hyphens, at most 64 characters and 80 bytes. */
export function toSessionName(text: string, longest = maxNameLength): string {
  const slug = [...toCanonical(text).matchAll(nameWord)].map(([word]) => word).join('-');
  if (slug === '') {
    throw new TeddyError(
      'BAD_NAME',
      `No session name can be made of ${JSON.stringify(text)}.`,
      'Use letters and digits, e.g. `teddy session new add-login-route`.',
    );
  }
  const fitting = fitName(slug, longest);
  if (fitting === slug) return slug;
  const cut = slug.slice(0, fitting.length + 1).lastIndexOf('-');
  // Some scripts write sentences as one word.
  return fitting.slice(0, cut > fitting.length / 2 ? cut : fitting.length).replace(/-$/, '');
}

/** A letter or a digit, and then the marks that belong to it. What nobody can see is neither. */
const nameCharacter = String.raw`(?!\p{Default_Ignorable_Code_Point})[\p{L}\p{Nd}](?:(?!\p{Default_Ignorable_Code_Point})\p{M})*`;
const nameWord = new RegExp(`(?:${nameCharacter})+`, 'gu');
const anySessionId = new RegExp(`^\\d{8}(?:-(?:${nameCharacter})+)+$`, 'u');

/** Composed, in lower case. Lower case may have to be composed again. */
function toCanonical(text: string): string {
  return text.normalize('NFC').toLowerCase().normalize('NFC');
}

/** Cuts between characters with their marks. */
function fitName(name: string, longest: number): string {
  let bytes = 0;
  let length = 0;
  for (const [character] of name.matchAll(new RegExp(`${nameCharacter}|-`, 'gu'))) {
    bytes += new TextEncoder().encode(character).length;
    if (length + character.length > longest || bytes > maxNameBytes) break;
    length += character.length;
  }
  return name.slice(0, length);
}

/** `date` counts in UTC. `attempt` 1 is the plain id; 2, 3, ... get a number at the end. */
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

/** Accepts `2`, `02` and `02-branch-01`. */
export function parseTurnName(text: string): TurnName {
  const match = /^(\d+)(?:-branch-(\d+))?$/.exec(text.trim());
  if (!match?.[1] || Number(match[1]) === 0) {
    throw new TeddyError('UNKNOWN_TURN', `Not a turn: ${text}`, 'A turn reads 02, or 02-branch-01.');
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

/** In their order. A line may have thousands, and is asked for them often. */
export function sortTurns(turns: readonly TurnName[]): TurnName[] {
  const numbered = turns.map((turn) => ({ turn, number: turnNumber(turn) }));
  return numbered.sort((a, b) => a.number - b.number || compareTurns(a.turn, b.turn)).map(({ turn }) => turn);
}

/** Turns are ordered by number, then by branch; `02` comes before `02-branch-01`. */
export function compareTurns(a: TurnName, b: TurnName): number {
  return turnNumber(a) - turnNumber(b) || turnBranch(a) - turnBranch(b);
}

export function mainLineRef(session: SessionId): RefName {
  return `refs/heads/teddy/${session}` as RefName;
}

/** A file name has room for 255 bytes; a claim adds up to 50 to that of its run. */
const maxRunBytes = 205;

/**
 * A file name for the run of a turn. Other lines of a session may have a turn of the same name. Letters of other scripts are
 * encoded, so that a run that an older version left is found, except where that would be too long.
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

/** Reads `refs/heads/teddy/<session>` and `refs/heads/teddy/<session>--<turn>-branch-<nn>`; anything else is null. */
export function parseLineRef(ref: string): { session: SessionId; branch: TurnName | null } | null {
  const match = /^refs\/heads\/teddy\/([^/]+?)(?:--(\d{2,}-branch-\d{2,}))?$/.exec(ref);
  if (!match?.[1] || !isSessionId(match[1])) return null;
  if (match[2] !== undefined && !isTurnName(match[2])) return null;
  return { session: match[1], branch: match[2] ?? null };
}

/** The ref that keeps a line when its branch is gone, below the month of its session. */
export function archiveRef(line: RefName): RefName {
  return line.replace(/^refs\/heads\/teddy\/(\d{4})(\d{2})/, `${archivePrefix}$1-$2/$1$2`) as RefName;
}

/** The folder of a session's archives: `2026-01`. */
export function archiveMonth(session: SessionId): string {
  return `${session.slice(0, 4)}-${session.slice(4, 6)}`;
}

export interface ArchiveName {
  session: SessionId;
  branch: TurnName | null;
  /** The branch that the line was. */
  line: RefName;
}

/** Reads the line that a ref below the month of its session keeps, as if it were still a branch; anything else is null. */
export function parseArchiveRef(ref: string): ArchiveName | null {
  if (!ref.startsWith(archivePrefix)) return null;
  const line = `refs/heads/teddy/${ref.slice(ref.lastIndexOf('/') + 1)}` as RefName;
  const parsed = parseLineRef(line);
  return parsed === null || ref !== archiveRef(line) ? null : { ...parsed, line };
}

/** Names a ref for a person, as git shortens it; an archive without its month, which the id of its session says. */
export function nameRef(ref: RefName): string {
  const { line } = parseArchiveRef(ref) ?? {};
  if (line !== undefined) return `archive/${shortRef(line).slice('teddy/'.length)}`;
  return ref.startsWith(archivePrefix) ? `archive/${ref.slice(archivePrefix.length)}` : shortRef(ref);
}

/** git's rules for the names of refs (`git help check-ref-format`). */
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

/** The directories that a path is in, the deepest first. */
export function parentsOf(path: string): RepoPath[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, at) => parts.slice(0, parts.length - at).join('/') as RepoPath);
}

/** Trusts git: a path that git printed is relative to the root already. */
export function repoPathFromGit(path: string): RepoPath {
  return path as RepoPath;
}
