/** Lines that are not as a remote has them: that is no fault, unless both have gone on. */
import type { RefTip, Store } from '../../ports/git.ts';
import { shortRef } from '../../names.ts';
import { toShellWord } from '../../session/shell-word.ts';
import { nameSome } from '../../session/name-some.ts';
import type { Examination, Found } from './finding.ts';

export const findDivergedLines: Examination = async ({ project, lines }) => {
  const { store } = project.repository;
  const [found, ahead, behind]: [Found[], string[], string[]] = [[], [], []];
  let pairs = 0;
  for (const theirs of lines) {
    const { remote, branchRef } = theirs;
    const ours = lines.find(({ ref }) => ref === branchRef);
    if (remote === null || ours === undefined) continue;
    const name = shortRef(ours.ref);
    pairs += 1;
    const relation = await compare(store, ours, theirs);
    if (relation === 'diverged') found.push(toFound(ours, theirs, remote));
    if (relation === 'ahead') ahead.push(name);
    if (relation === 'behind') behind.push(name);
  }
  const notes = [
    ...(ahead.length === 0 ? [] : [`Not pushed yet, as far as is known: ${nameSome(ahead)}.`]),
    ...(behind.length === 0 ? [] : [`A remote has more, as last fetched, of: ${nameSome(behind)}.`]),
  ];
  return { found, seen: pairs === 0 ? null : 'remotes, as last fetched', notes };
};

async function compare(store: Store, a: RefTip, b: RefTip): Promise<'same' | 'ahead' | 'behind' | 'diverged'> {
  if (a.oid === b.oid) return 'same';
  if (await store.isAncestor(b.oid, a.oid)) return 'ahead';
  return (await store.isAncestor(a.oid, b.oid)) ? 'behind' : 'diverged';
}

function toFound(ours: RefTip, theirs: RefTip, remote: string): Found {
  return {
    kind: 'diverged-line',
    thing: shortRef(ours.ref),
    meaning: `Both this clone and ${shortRef(theirs.ref)}, as last fetched, have added to the line: it is synced on neither side.`,
    fix: null,
    todo: `\`teddy session sync ${toShellWord(remote)}\` gives the entries that only this clone has a branch of their own; nothing is lost.`,
    mend: null,
  };
}
