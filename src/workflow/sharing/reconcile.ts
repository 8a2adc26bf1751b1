/** How a line here stands to the same line there. Values only: the answers of git are given. */
import type { Store } from '../../ports/git.ts';
import type { Oid } from '../../names.ts';
import { isOnLine } from '../../session/entries/ancestry.ts';
import type { SharedTips } from './shared-refs.ts';

export type Standing =
  | 'same'
  /** There is more here. */
  | 'push'
  /** There is more there. */
  | 'pull'
  /** Each has what the other has not. */
  | 'diverged'
  | 'only-local'
  | 'only-remote'
  /** It has no branch here, and its archive has all that the remote's branch has. */
  | 'archived-here'
  /** The same the other way round. */
  | 'archived-there'
  /** A line here that has a name of its own has all that it has. */
  | 'renamed'
  /** The remote had it and has deleted it; nothing was added here since. */
  | 'gone';

/**
 * Whether `tip` is `commit`, or goes on from it. Of a line only its own commits count: a merge may have another one in its
 * history, and leave out what that holds.
 */
export type Contains = (tip: Oid, commit: Oid) => boolean;

/** One that neither side has is the same. */
export function toStanding(tips: SharedTips, contains: Contains): Standing {
  const { local, remote } = tips;
  if (local === remote) return 'same';
  if (remote === null) return toLocalStanding(tips, local as Oid, contains);
  if (local === null) return toRemoteStanding(tips, remote, contains);
  if (contains(remote, local)) return 'pull';
  return contains(local, remote) ? 'push' : 'diverged';
}

/** A branch adds nothing to an archive that has all of it, whether or not the other side ever had the branch. */
function toLocalStanding({ known, archived }: SharedTips, local: Oid, contains: Contains): Standing {
  if (archived.remote !== null && contains(archived.remote, local)) return 'archived-there';
  return known !== null && contains(known, local) ? 'gone' : 'only-local';
}

/**
 * The archive that the remote has comes along, and will be that of here. A landing keeps an archive as well, so a branch is only
 * known to be put away by it where it is older.
 */
function toRemoteStanding({ archived, renamed }: SharedTips, remote: Oid, contains: Contains): Standing {
  if (renamed.some((tip) => contains(tip, remote))) return 'renamed';
  const isKept = archived.local !== null && contains(archived.local, remote);
  const isOlder = archived.remote !== null && archived.remote !== remote && contains(archived.remote, remote);
  return isKept || isOlder ? 'archived-here' : 'only-remote';
}

/** `toStanding` may ask this of `contains`: a yes decides, whatever comes after it. */
export function listQuestions({ local, remote, known, archived, renamed }: SharedTips): { tip: Oid; commit: Oid }[] {
  if (local === remote) return [];
  const asked: [Oid | null, Oid | null][] =
    remote === null
      ? [
          [archived.remote, local],
          [known, local],
        ]
      : local === null
        ? [...renamed, archived.local, archived.remote].map((tip) => [tip, remote])
        : [
            [local, remote],
            [remote, local],
          ];
  return asked.flatMap(([tip, commit]) => (tip === null || commit === null || tip === commit ? [] : [{ tip, commit }]));
}

const askedAtOnce = 8;

/** A commit that is not here is in no history that is. */
export async function readAncestry(store: Store, tips: readonly SharedTips[]): Promise<Contains> {
  const yes = new Set<string>();
  const ask = async (one: SharedTips) => {
    for (const { tip, commit } of listQuestions(one)) {
      const sizes = await Promise.all([store.readSize(tip), store.readSize(commit)]);
      if (sizes.includes(null)) continue;
      // `teddy/global` is put together by merges.
      const isIn = one.kind === 'global' ? await store.isAncestor(commit, tip) : await isOnLine(store, tip, commit);
      if (!isIn) continue;
      yes.add(`${tip} ${commit}`);
      return;
    }
  };
  const apart = tips.filter(({ local, remote }) => local !== remote);
  for (let at = 0; at < apart.length; at += askedAtOnce) await Promise.all(apart.slice(at, at + askedAtOnce).map(ask));
  return (tip, commit) => tip === commit || yes.has(`${tip} ${commit}`);
}
