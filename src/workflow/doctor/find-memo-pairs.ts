/** Memos that a killed run had put into `teddy/global` and not on its line yet. */
import type { Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { decodeEntry, type Entry } from '../../session/entry.ts';
import { globalRef, shortRef, type Oid, type RefName } from '../../names.ts';
import { finishMemos } from '../line/decide-memos.ts';
import { prepareLine } from '../line/prepare.ts';
import { readLine } from '../line/read.ts';
import type { Examination, Found } from './finding.ts';

/** A pair is finished by the next command of its line: an older half is of no use to anybody. */
const maxMemos = 50;

export const findMemoPairs: Examination = async ({ project, refs, lines: all }) => {
  const { store } = project.repository;
  const global = refs.find(({ ref }) => ref === globalRef);
  const memos = global === undefined ? [] : await readMemos(store, global.oid);
  const found: Found[] = [];
  for (const [session, entries] of groupBySession(memos)) {
    const lines = all.filter((line) => line.remote === null && line.session === session);
    const known = new Set((await Promise.all(lines.map(({ oid }) => readIds(store, oid)))).flat());
    for (const entry of entries.filter(({ id }) => !known.has(id))) {
      const line = await findPending(store, lines, entry);
      if (line !== null) found.push(toFound(project, entry, line));
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

function groupBySession(memos: Entry[]): Map<string, Entry[]> {
  const groups = new Map<string, Entry[]>();
  for (const entry of memos) groups.set(entry.session, [...(groups.get(entry.session) ?? []), entry]);
  return groups;
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

/** The line whose plan still waits to be executed: any other gets the memos with its next message. */
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

function toFound(project: Project, { turn, title }: Entry, ref: RefName): Found {
  const line = shortRef(ref);
  return {
    kind: 'half-memo-pair',
    thing: line,
    meaning: `The memos of turn ${turn} (${title}) are on teddy/global and not on ${line}: the run that took them was killed in between.`,
    fix: 'puts them on the line, as the next `teddy session execute` there does',
    todo: null,
    async mend() {
      await finishMemos(project, await prepareLine(project, ref));
      return `They are on ${line} as well.`;
    },
  };
}
