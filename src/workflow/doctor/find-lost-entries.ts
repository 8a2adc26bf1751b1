/**
 * Finds damaged objects below the lines, and entries that are no longer reachable from any ref, which teddy offers as
 * branches.
 */
import { readDefaultBranches } from '../../session/lines/lines.ts';
import { nullIfDamaged } from '../../errors.ts';
import type { Commit, RefTip } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { decodeEntry, type Entry } from '../../session/entries/entry.ts';
import {
  archiveRef,
  conversationBranchRef,
  mainLineRef,
  nameRef,
  shortRef,
  toTurnName,
  turnNumber,
  type Oid,
  type RefName,
} from '../../names.ts';
import { count, type Examination, type Found } from './finding.ts';
import type { DamagedObject } from '../../ports/disk.ts';
import { formatCount } from '../../session/text/format-count.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { readForgotten } from '../../session/entries/cached-rows.ts';
import { moveRefs } from '../line/move-refs.ts';

interface LostCommit {
  oid: Oid;
  commit: Commit;
  entry: Entry | null;
}

/** A lost tip and the entries lost with it, newest first. */
interface LostLine {
  tip: LostCommit;
  entries: Entry[];
}

export const findLostEntries: Examination = async ({ project, refs }) => {
  const lines = await findLines(project);
  const taken = new Set<RefName>(refs.map(({ ref }) => ref));
  const found = lines.map((line) => {
    const ref = chooseRef(line, taken);
    taken.add(ref);
    return toFound(project, line, ref);
  });
  return { found, seen: 'lost entries' };
};

async function findLines({ repository: { store, cache }, remains }: Project): Promise<LostLine[]> {
  const unreachable = new Map<Oid, LostCommit>();
  for (const oid of await remains.unreachableCommits()) {
    // teddy cannot restore an entry that git has partly removed.
    const commit = await store.readCommit(oid).catch(nullIfDamaged);
    if (commit !== null) unreachable.set(oid, { oid, commit, entry: decodeEntry(commit.message) });
  }
  if (![...unreachable.values()].some(({ entry }) => entry !== null)) return [];
  // After a rebase, an amend or a retry, the same entry is on a line.
  const reached = await remains.reachedEntryIds();
  const lines = toLines(
    [...unreachable.values()].filter(({ entry }) => entry && !reached.has(entry.id)),
    unreachable,
  );
  if (lines.length === 0) return [];
  const wereTips = await remains.reflogCommits();
  const forgotten = await readForgotten(cache);
  return dropCopies(lines).filter((line) => wasPublished(line, wereTips) && !forgotten.has(line.tip.oid));
}

/** Returns a line for each tip: a lost entry that no other lost entry follows. */
function toLines(lost: LostCommit[], unreachable: Map<Oid, LostCommit>): LostLine[] {
  const isLost = new Set(lost.map(({ oid }) => oid));
  const built = new Set<Oid>();
  const lines = lost.map((tip): LostLine => {
    const entries: Entry[] = [];
    for (let at: LostCommit | undefined = tip; at !== undefined; at = unreachable.get(at.commit.parents[0] as Oid)) {
      if (isLost.has(at.oid) && at.entry !== null) entries.push(at.entry);
      if (isLost.has(at.oid) && at !== tip) built.add(at.oid);
    }
    return { tip, entries };
  });
  return lines.filter(({ tip }) => !built.has(tip.oid));
}

/** Keeps one copy of each line, because a rebase may itself be lost: the copy with more entries, otherwise the newer one. */
function dropCopies(lines: LostLine[]): LostLine[] {
  const kept = new Map<string, LostLine>();
  const rank = ({ tip, entries }: LostLine) => [
    entries.length,
    Number(/ (\d+) [+-]\d+$/.exec(tip.commit.committer)?.[1] ?? 0),
  ];
  for (const line of lines) {
    const id = line.entries[0]?.id ?? line.tip.oid;
    const other = kept.get(id);
    const [[size = 0, at = 0], [otherSize = 0, otherAt = 0]] = [rank(line), other ? rank(other) : []];
    if (other === undefined || size > otherSize || (size === otherSize && at > otherAt)) kept.set(id, line);
  }
  return [...kept.values()];
}

/**
 * Returns true if the entries were ever on a line. An entry below other entries was, and so was an entry in a reflog. A
 * single entry may come from a preview, or from a command that was killed or refused before the ref moved, so that
 * nobody was told that it was saved. Without reflogs, as in a bare clone, omits only the kinds that a preview or a lost
 * race creates.
 */
function wasPublished({ tip, entries }: LostLine, wereTips: ReadonlySet<Oid>): boolean {
  const kind = entries[0]?.kind;
  if (entries.length > 1) return true;
  return kind !== 'start' && (wereTips.size === 0 ? kind !== 'snapshot' : wereTips.has(tip.oid));
}

/**
 * Chooses the line's own branch if it is gone, otherwise the next free number of a conversation branch, as `session
 * rewind` does.
 */
function chooseRef({ entries }: LostLine, taken: ReadonlySet<RefName>): RefName {
  const session = entries[0]?.session as Entry['session'];
  const isFree = (ref: RefName) => ![ref, archiveRef(ref)].some((name) => taken.has(name));
  const main = mainLineRef(session);
  const branch = entries.find(({ kind, turn }) => kind === 'branch' && turn !== null)?.turn;
  if (branch && isFree(conversationBranchRef(session, branch))) return conversationBranchRef(session, branch);
  if (!branch && entries.at(-1)?.kind === 'start' && isFree(main)) return main;
  const turn = entries.find((entry) => entry.turn !== null)?.turn ?? null;
  const next = turn === null ? 1 : turnNumber(turn) + 1;
  for (let number = 1; ; number += 1) {
    const ref = conversationBranchRef(session, toTurnName(next, number));
    if (isFree(ref)) return ref;
  }
}

function toFound(project: Project, line: LostLine, ref: RefName): Found {
  const { tip, entries } = line;
  const last = tip.entry?.turn === null || tip.entry === null ? '' : `, the last of turn ${tip.entry.turn}`;
  return {
    kind: 'lost-entry',
    thing: tip.oid,
    meaning: `${count(entries.length, 'entry', 'entries')} of ${entries[0]?.session}${last}: not on any branch, so git will eventually remove ${entries.length === 1 ? 'it' : 'them'}.`,
    fix: `creates the branch ${shortRef(ref)} there`,
    todo: `Or run \`git branch <name> ${tip.oid.slice(0, 12)}\`. If you do not need it, leave it to \`git gc\`.`,
    repairFinding: () => recover(project, line),
  };
}

/** Never replaces a branch: skips a name taken in the meantime. */
async function recover(project: Project, line: LostLine): Promise<string> {
  for (;;) {
    const refs: RefTip[] = await project.repository.store.listRefs(
      'refs/heads/teddy/',
      'refs/remotes/*/teddy/*',
      'refs/teddy/archive/',
    );
    const taken = new Set(refs.map(({ ref }) => ref.replace(/^refs\/remotes\/[^/]+\//, 'refs/heads/') as RefName));
    const ref = chooseRef(line, taken);
    if (await moveRefs(project, [{ ref, old: null, new: line.tip.oid }], 'lost entries found'))
      return `They are now on the branch ${shortRef(ref)}.`;
  }
}

/** Finds missing or empty objects on the lines. */
export const findDamagedObjects: Examination = async ({ project, refs }) => {
  const { repository, remains } = project;
  if ((await repository.store.setting('extensions.partialClone')) !== undefined) {
    return {
      found: [],
      seen: null,
      notes: ['This is a partial clone, where missing objects are normal, so teddy did not look for any.'],
    };
  }
  const tips = refs.filter(({ ref }) => !ref.startsWith('refs/remotes/') && !ref.startsWith('refs/teddy/quarantine/'));
  // `git fsck` reports damage to the code alone.
  const bases = (await readDefaultBranches(project)).filter(({ ref }) => !tips.some((tip) => tip.ref === ref));
  const { objects, damaged } = await remains.checkObjects(
    tips,
    bases.map(({ oid }) => oid),
  );
  return { found: damaged.map((object) => toDamagedObject(object, refs)), seen: `${formatCount(objects)} objects` };
};

function toDamagedObject({ oid, ref, path }: DamagedObject, refs: readonly RefTip[]): Found {
  const remotes = refs.flatMap(({ ref: other }) => (isSameLine(ref, other) ? [other.split('/')[2] ?? ''] : []));
  const what = path === null ? `The object ${oid}` : `${path} (${oid})`;
  return {
    kind: 'damaged-object',
    thing: oid,
    meaning: `${what} of ${nameRef(ref)} is missing or damaged, so anything that needs it cannot be read here.`,
    todo:
      remotes[0] === undefined
        ? elsewhere
        : `${remotes.join(', ')} may have it: \`git fetch --refetch ${toShellWord(remotes[0])}\`.`,
  };
}

const elsewhere = 'Another clone may have it: `git fetch --refetch <path or URL of that clone>`. See `git fsck`.';

function isSameLine(ref: RefName, other: RefName): boolean {
  const [, name] = /^refs\/remotes\/[^/]+\/(teddy\/.+)$/.exec(other) ?? [];
  return name !== undefined && ref === `refs/heads/${name}`;
}
