/**
 * Decides which refs to transfer between repositories, and reads each ref's tip here, on the remote and as of the last
 * fetch.
 */
import type { RefTip, Store, TransferOptions } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import {
  archiveMonth,
  archivePrefix,
  archiveRef,
  globalRef,
  mainLineRef,
  notesRef,
  parseArchiveRef,
  parseLineRef,
  shortRef,
  type Oid,
  type RefName,
  type SessionId,
} from '../../names.ts';
import type { ChosenRemote } from './choose-remote.ts';
import { quarantinePrefix } from '../line/quarantine.ts';
import { listLinesAndTips, type KnownLine } from '../../session/lines/lines.ts';

/** The refs to list on the remote. Its code branches determine which commits a push would send; nothing sends notes. */
const listedPrefixes = ['refs/heads/', archivePrefix, notesRef];

/** Both sides of a transfer, read once and passed on. */
export interface TransferSides {
  remote: ChosenRemote;
  /** The remote's branches and archives, and its notes. */
  listed: RefTip[];
  /** True when the remote has no refs at all. */
  isEmpty: boolean;
  here: RefTip[];
  /** The local lines, and the last fetch's lines. */
  lines: KnownLine[];
  stale: KnownLine[];
}

/**
 * Reads this repository while the remote answers, so the local data may be older than the remote's list. Throws as
 * `Remotes.list` does.
 */
export async function readSides(
  project: Project,
  remote: ChosenRemote,
  options: TransferOptions,
): Promise<TransferSides> {
  const listing = project.repository.remotes.list(remote.name, listedPrefixes, options);
  const [{ refs, isEmpty }, own] = await Promise.all([listing, readHere(project)]);
  return { remote, listed: refs, isEmpty, ...own };
}

async function readHere(project: Project): Promise<Pick<TransferSides, 'here' | 'lines' | 'stale'>> {
  const here = await listRefsHere(project.repository.store);
  const branches = here.filter(({ ref }) => !ref.startsWith('refs/teddy/'));
  return { here, ...(await listLinesAndTips(project, { listed: branches })) };
}

/** Lists the branches here, those of the last fetch, the archives, and the quarantine. */
export function listRefsHere(store: Pick<Store, 'listRefs'>): Promise<RefTip[]> {
  return store.listRefs('refs/heads/', 'refs/remotes/', archivePrefix, quarantinePrefix);
}

export interface SharedTips {
  ref: RefName;
  kind: 'line' | 'global' | 'archive';
  /** Null for `teddy/global`. */
  session: SessionId | null;
  local: Oid | null;
  remote: Oid | null;
  /** The remote-tracking branch's tip; null if the remote does not have the branch. */
  known: Oid | null;
  /** The archives' tips; an archive keeps a line when its branch is gone. */
  archived: { local: Oid | null; remote: Oid | null };
  /**
   * For a line that this repository does not have: the local tips of the session's custom-named lines, because one of
   * them may be this line under another name.
   */
  renamed: Oid[];
}

/** The lines to share. `teddy/global` is always included. */
export interface Scope {
  /** Null for all sessions. */
  session: SessionId | null;
  /** Months whose archives to pull, for any session. */
  months: ReadonlySet<string>;
  /** The custom-named lines to share, and the sessions to which they belong. */
  named: ReadonlyMap<RefName, SessionId>;
  /** Local lines not to share: other sessions' lines, and the user's branches that nobody named. */
  leftOut: RefName[];
  /** The tips of all custom-named local lines, for each session to share. */
  ownNamed: ReadonlyMap<SessionId, Oid[]>;
}

/** Returns null for a user's branch, and for refs of teddy's own that it never shares. */
export function parseShared(ref: string): Pick<SharedTips, 'kind' | 'session'> | null {
  if (ref === globalRef) return { kind: 'global', session: null };
  const line = parseLineRef(ref);
  if (line !== null) return { kind: 'line', session: line.session };
  const archive = parseArchiveRef(ref);
  return archive && { kind: 'archive', session: archive.session };
}

/** Returns null when teddy does not track refs of that kind, or when the remote is an address. */
export function toTracking({ name, isConfigured }: ChosenRemote, ref: RefName): RefName | null {
  if (!isConfigured || !ref.startsWith('refs/heads/')) return null;
  return ref.replace(/^refs\/heads\//, `refs/remotes/${name}/`) as RefName;
}

/** Returns the tips sorted by name. */
export function toSharedTips(
  { remote, listed, here: refs }: Pick<TransferSides, 'remote' | 'listed' | 'here'>,
  scope: Scope,
): SharedTips[] {
  const { named, ownNamed } = scope;
  const own = new Map(refs.map(({ ref, oid }) => [ref, oid]));
  const theirs = new Map(listed.map(({ ref, oid }) => [ref, oid]));
  const names = new Set([...own.keys(), ...theirs.keys()]);
  // When the user means one session, includes all of its lines, whatever other lines exist here.
  const here = scope.session === null ? [...own.keys()] : [];
  const known = new Set([
    ...here.map((ref) => parseShared(ref)?.session),
    ...named.values(),
    ...ownNamed.keys(),
    ...(scope.session === null ? listTwofold(theirs) : []),
  ]);
  const tips = [...names].flatMap((ref): SharedTips | [] => {
    const other = named.get(ref);
    const parsed = other === undefined ? parseShared(ref) : { kind: 'line' as const, session: other };
    if (parsed === null || !isShared(scope, known, parsed, own.has(ref))) return [];
    const trackedRef = toTracking(remote, ref);
    // A custom-named main line is archived under its session's name; another line next to it is not.
    const line = other === undefined ? ref : mainLineRef(other);
    const archive = parsed.kind === 'line' && (line === ref || !names.has(line)) ? archiveRef(line) : null;
    const local = own.get(ref) ?? null;
    return {
      ref,
      ...parsed,
      local,
      remote: theirs.get(ref) ?? null,
      known: (trackedRef && own.get(trackedRef)) ?? null,
      archived: {
        local: (archive && own.get(archive)) ?? null,
        remote: (archive && theirs.get(archive)) ?? null,
      },
      renamed:
        parsed.session === null || parsed.kind !== 'line' || local !== null ? [] : (ownNamed.get(parsed.session) ?? []),
    };
  });
  return tips.toSorted((a, b) => (a.ref < b.ref ? -1 : 1));
}

/**
 * Lists sessions with a branch on the remote that differs from its archive; only a repository that has both can
 * determine which is older.
 */
function listTwofold(theirs: ReadonlyMap<RefName, Oid>): SessionId[] {
  return [...theirs].flatMap(([ref, oid]) => {
    // Most refs are not archives, and there may be tens of thousands of them.
    const archive = ref.startsWith(archivePrefix) ? parseArchiveRef(ref) : null;
    const branch = archive && theirs.get(archive.line);
    return archive === null || branch == null || branch === oid ? [] : [archive.session];
  });
}

/**
 * Omits the remote's archive of a session that is not here unless the user requested it, because there may be ten
 * thousand archives. For a local session, the archive shows whether somebody put a branch away or deleted it.
 */
function isShared(
  scope: Pick<Scope, 'session' | 'months'>,
  known: ReadonlySet<SessionId | null | undefined>,
  { kind, session }: Pick<SharedTips, 'kind' | 'session'>,
  isHere: boolean,
): boolean {
  if (session === null) return true;
  const isNew = kind === 'archive' && !isHere;
  if (isNew && scope.months.has(archiveMonth(session))) return true;
  if (scope.session !== null) return session === scope.session;
  return !isNew || known.has(session);
}

/** Lists the months with archives on the remote that are not among `tips`, newest first. */
export function listMonthsLeft(
  { session }: Scope,
  listed: readonly RefTip[],
  tips: readonly Pick<SharedTips, 'ref'>[],
): string[] {
  if (session !== null) return [];
  const shared = new Set(tips.map(({ ref }) => ref));
  const left = listed.flatMap(({ ref }) => (shared.has(ref) ? [] : (parseArchiveRef(ref)?.session ?? [])));
  return [...new Set(left.map(archiveMonth))].toSorted().toReversed();
}

/** Reads every name that a new line must not use: names of local and remote branches, and of archives. */
export async function readTakenRefs(store: Store, listed: readonly RefTip[]): Promise<Set<string>> {
  const own = await store.listRefs('refs/heads/teddy/', archivePrefix, 'refs/remotes/*/teddy/*');
  return new Set(
    [...own, ...listed].map(({ ref }) =>
      shortRef(parseArchiveRef(ref)?.line ?? ref.replace(/^refs\/remotes\/[^/]+\//, '')).replace(/^teddy\//, ''),
    ),
  );
}
