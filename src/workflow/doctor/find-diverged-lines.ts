/**
 * Finds lines that differ from a remote, which is a problem only if both sides have new commits, and memos that are not
 * on their line yet.
 */
import type { RefTip, Store } from '../../ports/git.ts';
import { globalRef, shortRef, type RefName, type Oid } from '../../names.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { nameSome } from '../../session/text/name-some.ts';
import type { Examination, Found } from './finding.ts';
import type { Project } from '../../ports/project.ts';
import { type Entry, decodeEntry } from '../../session/entries/entry.ts';
import { finishMemos } from '../line/decide-memos.ts';
import { prepareLine } from '../line/prepare.ts';
import { readLine } from '../../view/view.ts';
import { groupBy } from '../../session/text/group-by.ts';

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
    ...(ahead.length === 0 ? [] : [`Not pushed yet, as of the last fetch: ${nameSome(ahead)}.`]),
    ...(behind.length === 0 ? [] : [`Not pulled yet, as of the last fetch: ${nameSome(behind)}.`]),
  ];
  return { found, seen: pairs === 0 ? null : 'remotes as last fetched', notes };
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
    meaning: `This clone and ${shortRef(theirs.ref)}, as of the last fetch, have both added to the branch, so it cannot be synced in either direction.`,
    todo: `\`teddy sync ${toShellWord(remote)}\` moves the entries that exist only in this clone to a branch of their own; nothing is lost.`,
  };
}

/** Older memos need no check, because the next command on their line adds them. */
const maxMemos = 50;

export const findMemoPairs: Examination = async ({ project, refs, lines: all }) => {
  const { store } = project.repository;
  const global = refs.find(({ ref }) => ref === globalRef);
  const memos = global === undefined ? [] : await readMemos(store, global.oid);
  const found: Found[] = [];
  for (const [session, entries] of groupBy(memos, ({ session }) => session)) {
    const lines = all.filter((line) => line.remote === null && line.session === session);
    const known = new Set((await Promise.all(lines.map(({ oid }) => readIds(store, oid)))).flat());
    for (const entry of entries.filter(({ id }) => !known.has(id))) {
      const line = await findPending(store, lines, entry);
      if (line !== null) found.push(toMemoPair(project, entry, line));
    }
  }
  return { found, seen: memos.length === 0 ? null : 'memos' };
};

async function readMemos(store: Store, tip: Oid): Promise<Entry[]> {
  const memos: Entry[] = [];
  for await (const { commit } of store.firstParents(tip)) {
    const entry = decodeEntry(commit.message);
    if (entry?.kind === 'memo') memos.push(entry);
    if (memos.length === maxMemos) break;
  }
  return memos;
}

async function readIds(store: Store, tip: Oid): Promise<string[]> {
  const ids: string[] = [];
  for await (const { commit } of store.firstParents(tip)) {
    const entry = decodeEntry(commit.message);
    if (entry !== null) ids.push(entry.id);
    if (entry?.kind === 'start') break;
  }
  return ids;
}

/** Finds the line whose plan still waits to be executed; any other line receives the memos with its next message. */
async function findPending(
  store: Store,
  lines: readonly { ref: RefName; oid: Oid }[],
  { turn }: Entry,
): Promise<RefName | null> {
  for (const { ref, oid } of lines) {
    const { latest } = await readLine(store, oid);
    if (latest?.turn === turn && latest.status === 'planned') return ref;
  }
  return null;
}

function toMemoPair(project: Project, { turn, title }: Entry, ref: RefName): Found {
  const line = shortRef(ref);
  return {
    kind: 'half-memo-pair',
    thing: line,
    meaning: `The memos of turn ${turn} (${title}) are on teddy/global but not on ${line}: the run that accepted them was killed in between.`,
    fix: 'adds them to the branch, as the next `teddy execute` there would',
    async repairFinding() {
      await finishMemos(project, await prepareLine(project, ref));
      return `They are now on ${line} as well.`;
    },
  };
}
