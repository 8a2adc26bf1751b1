/** Compares a local line with the same line on the remote, purely on values: the caller passes in git's answers. */
import type { Store } from '../../ports/git.ts';
import type { Oid } from '../../names.ts';
import { isOnLine } from '../../session/entries/ancestry.ts';
import type { SharedTips } from './shared-refs.ts';

export type Standing =
  | 'same'
  /** Only this side has new commits. */
  | 'push'
  /** Only the remote has new commits. */
  | 'pull'
  /** Each side has commits that the other side lacks. */
  | 'diverged'
  | 'only-local'
  | 'only-remote'
  /** The line has no local branch, and its local archive has everything on the remote's branch. */
  | 'archived-here'
  /** The line has no branch on the remote, and its archive there has everything on the local branch. */
  | 'archived-there'
  /** A custom-named local line has everything on this line. */
  | 'renamed'
  /** The remote had the line and deleted it; nobody has added anything here since. */
  | 'gone';

/**
 * Returns true if `tip` is `commit` or builds on it. Only a line's own commits count: a merge may have another line in
 * its history without containing its files.
 */
export type Contains = (tip: Oid, commit: Oid) => boolean;

/** A line that neither side has counts as the same. */
export function toStanding(tips: SharedTips, contains: Contains): Standing {
  const { local, remote } = tips;
  if (local === remote) return 'same';
  if (remote === null) return toLocalStanding(tips, local as Oid, contains);
  if (local === null) return toRemoteStanding(tips, remote, contains);
  if (contains(remote, local)) return 'pull';
  return contains(local, remote) ? 'push' : 'diverged';
}

/** A branch adds nothing to an archive that contains all of its commits, whether or not the other side ever had the branch. */
function toLocalStanding({ known, archived }: SharedTips, local: Oid, contains: Contains): Standing {
  if (archived.remote !== null && contains(archived.remote, local)) return 'archived-there';
  return known !== null && contains(known, local) ? 'gone' : 'only-local';
}

/**
 * teddy also pulls the remote's archive, which becomes the local archive. A landing creates an archive as well, so an
 * archive shows that the branch was put away only when the branch is older.
 */
function toRemoteStanding({ archived, renamed }: SharedTips, remote: Oid, contains: Contains): Standing {
  if (renamed.some((tip) => contains(tip, remote))) return 'renamed';
  const isKept = archived.local !== null && contains(archived.local, remote);
  const isOlder = archived.remote !== null && archived.remote !== remote && contains(archived.remote, remote);
  return isKept || isOlder ? 'archived-here' : 'only-remote';
}

/** Lists the questions that `toStanding` may ask `contains`: the first yes decides, regardless of later questions. */
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

/** A commit that is not in this clone cannot be in a local commit's history. */
export async function readAncestry(store: Store, tips: readonly SharedTips[]): Promise<Contains> {
  const yes = new Set<string>();
  const ask = async (one: SharedTips) => {
    for (const { tip, commit } of listQuestions(one)) {
      const sizes = await Promise.all([store.readSize(tip), store.readSize(commit)]);
      if (sizes.includes(null)) continue;
      // `teddy/global` consists of merges.
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
