/** Which refs go from one repository to another, and where each of them stands here, there and as it was last seen there. */
import type { RefTip, Store } from '../../ports.ts';
import { archivePrefix, archiveRef, globalRef, parseArchiveRef, parseLineRef } from '../../session/names.ts';
import type { Oid, RefName, SessionId } from '../../session/names.ts';
import type { ChosenRemote } from './choose-remote.ts';

const ownPrefixes = ['refs/heads/teddy/', archivePrefix];
/** What a remote is asked for: what code it has decides what would leave with a push. */
export const listedPrefixes = ['refs/heads/', archivePrefix];

export interface SharedTips {
  ref: RefName;
  kind: 'line' | 'global' | 'archive';
  /** Null: of `teddy/global`. */
  session: SessionId | null;
  local: Oid | null;
  remote: Oid | null;
  /** What the remote-tracking branch says; null also where the remote has none. */
  known: Oid | null;
  /** Whether the remote has tracking branches at all: an address has none. */
  isTracked: boolean;
  /** Of a line: what keeps it when its branch is gone. */
  archived: { local: Oid | null; remote: Oid | null };
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

/** Of one session and `teddy/global`; null: of all sessions. In order of name. `listed`: the remote's refs. */
export async function readSharedTips(
  store: Store,
  remote: ChosenRemote,
  listed: readonly RefTip[],
  session: SessionId | null,
): Promise<SharedTips[]> {
  const tracking = remote.isConfigured ? [`refs/remotes/${remote.name}/teddy/`] : [];
  const own = new Map((await store.listRefs(...ownPrefixes, ...tracking)).map(({ ref, oid }) => [ref, oid]));
  const theirs = new Map(listed.map(({ ref, oid }) => [ref, oid]));
  const names = new Set([...own.keys(), ...theirs.keys()]);
  return [...names].toSorted().flatMap((ref) => {
    const parsed = parseShared(ref);
    if (parsed === null || (session !== null && parsed.session !== null && parsed.session !== session)) return [];
    const tracked = toTracking(remote, ref);
    const archive = parsed.kind === 'line' ? archiveRef(ref) : null;
    return {
      ref,
      ...parsed,
      local: own.get(ref) ?? null,
      remote: theirs.get(ref) ?? null,
      known: (tracked && own.get(tracked)) ?? null,
      isTracked: tracked !== null,
      archived: { local: (archive && own.get(archive)) ?? null, remote: (archive && theirs.get(archive)) ?? null },
    };
  });
}

/** Every name that a line must not take any more: of branches, here and there, and of what is archived. */
export async function readTakenRefs(store: Store, listed: readonly RefTip[]): Promise<Set<string>> {
  const own = await store.listRefs(...ownPrefixes, 'refs/remotes/*/teddy/*');
  return new Set(
    [...own, ...listed].map(({ ref }) =>
      ref.replace(/^refs\/remotes\/[^/]+\/|^refs\/heads\/|^refs\/teddy\/archive\//, '').replace(/^teddy\//, ''),
    ),
  );
}
