/** Which refs go from one repository to another, and where each of them stands here, there and as it was last seen there. */
import type { RefTip, Store, TransferOptions } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import {
  archiveMonth,
  archivePrefix,
  archiveRef,
  globalRef,
  mainLineRef,
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

/** A remote is asked for these: the code that it has decides what would leave with a push. */
const listedPrefixes = ['refs/heads/', archivePrefix];

/** Both sides of a transfer, read once and passed on. */
export interface Sides {
  remote: ChosenRemote;
  /** The branches and archives of the remote. */
  listed: RefTip[];
  /** The remote has no ref at all. */
  isEmpty: boolean;
  here: RefTip[];
  /** The lines here, and those of the last fetch. */
  lines: KnownLine[];
  stale: KnownLine[];
}

/** While the remote answers, this repository is read: what is here may be older than what is there. Throws as `Remotes.list`. */
export async function readSides(project: Project, remote: ChosenRemote, options: TransferOptions): Promise<Sides> {
  const listing = project.repository.remotes.list(remote.name, listedPrefixes, options);
  const [{ refs, isEmpty }, own] = await Promise.all([listing, readHere(project)]);
  return { remote, listed: refs, isEmpty, ...own };
}

async function readHere(project: Project): Promise<Pick<Sides, 'here' | 'lines' | 'stale'>> {
  const here = await listRefsHere(project.repository.store);
  const branches = here.filter(({ ref }) => !ref.startsWith('refs/teddy/'));
  return { here, ...(await listLinesAndTips(project, { listed: branches })) };
}

/** The branches here, those of the last fetch, the archives, and what is in quarantine. */
export function listRefsHere(store: Pick<Store, 'listRefs'>): Promise<RefTip[]> {
  return store.listRefs('refs/heads/', 'refs/remotes/', archivePrefix, quarantinePrefix);
}

export interface SharedTips {
  ref: RefName;
  kind: 'line' | 'global' | 'archive';
  /** Null: of `teddy/global`. */
  session: SessionId | null;
  local: Oid | null;
  remote: Oid | null;
  /** The tip of the remote-tracking branch; null also where the remote has none. */
  known: Oid | null;
  /** The tips of what keeps a line when its branch is gone. */
  archived: { local: Oid | null; remote: Oid | null };
  /**
   * The tips here of the session's lines with names of their own, for a line that is not here: one may be the same, renamed.
   */
  renamed: Oid[];
}

/** Which lines are shared. `teddy/global` always goes along. */
export interface Scope {
  /** Null: all. */
  session: SessionId | null;
  /** Archives of these months come, of whatever session. */
  months: ReadonlySet<string>;
  /** Lines with names of their own that go as well, and the sessions that they belong to. */
  named: ReadonlyMap<RefName, SessionId>;
  /** Lines here that stay here: of other sessions, and branches of the user's that nobody has named. */
  leftOut: RefName[];
  /** Tips of all lines here, of the sessions that are shared, that have names of their own. */
  ownNamed: ReadonlyMap<SessionId, Oid[]>;
}

/** Null: a branch of the user's, or machinery that stays where it is. */
export function parseShared(ref: string): Pick<SharedTips, 'kind' | 'session'> | null {
  if (ref === globalRef) return { kind: 'global', session: null };
  const line = parseLineRef(ref);
  if (line !== null) return { kind: 'line', session: line.session };
  const archive = parseArchiveRef(ref);
  return archive && { kind: 'archive', session: archive.session };
}

/** Null: refs of that kind are not tracked, or the remote is an address. */
export function toTracking({ name, isConfigured }: ChosenRemote, ref: RefName): RefName | null {
  if (!isConfigured || !ref.startsWith('refs/heads/')) return null;
  return ref.replace(/^refs\/heads\//, `refs/remotes/${name}/`) as RefName;
}

/** In order of name. */
export function toSharedTips(
  { remote, listed, here: refs }: Pick<Sides, 'remote' | 'listed' | 'here'>,
  scope: Scope,
): SharedTips[] {
  const { named, ownNamed } = scope;
  const own = new Map(refs.map(({ ref, oid }) => [ref, oid]));
  const theirs = new Map(listed.map(({ ref, oid }) => [ref, oid]));
  const names = new Set([...own.keys(), ...theirs.keys()]);
  // All lines go where one session is meant, whatever else is here.
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
    // A main line with a name of its own is archived under that of its session; another line beside it is not.
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

/** Sessions with a branch there that is not where its archive is: only who has both can tell which of them is older. */
function listTwofold(theirs: ReadonlyMap<RefName, Oid>): SessionId[] {
  return [...theirs].flatMap(([ref, oid]) => {
    // Most refs are no archives, and there may be tens of thousands of them.
    const archive = ref.startsWith(archivePrefix) ? parseArchiveRef(ref) : null;
    const branch = archive && theirs.get(archive.line);
    return archive === null || branch == null || branch === oid ? [] : [archive.session];
  });
}

/**
 * An archive there of a session that is not here stays there, unless it was asked for: there may be ten thousand of them.
 * For a session that is here, the archive says whether a branch was put away or deleted.
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

/** The months of archives there that are not among `tips`, the newest first. */
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

/** Every name that a line must not take any more: of branches, here and there, and of what is archived. */
export async function readTakenRefs(store: Store, listed: readonly RefTip[]): Promise<Set<string>> {
  const own = await store.listRefs('refs/heads/teddy/', archivePrefix, 'refs/remotes/*/teddy/*');
  return new Set(
    [...own, ...listed].map(({ ref }) =>
      shortRef(parseArchiveRef(ref)?.line ?? ref.replace(/^refs\/remotes\/[^/]+\//, '')).replace(/^teddy\//, ''),
    ),
  );
}
