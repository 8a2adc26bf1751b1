/**
 * Every way in which somebody who may rewrite commits can change one of a line's entries, with later commits made to
 * fit.
 */
import { expect } from 'vitest';
import type { Commit, ObjectBatch } from '../../src/ports/git.ts';
import type { Project } from '../../src/ports/project.ts';
import type { Entry } from '../../src/session/entries/entry.ts';
import { dayMs } from '../../src/session/entries/entry-trailers.ts';
import { entryMs } from '../../src/session/entries/logged-entry.ts';
import type { Oid, RepoPath } from '../../src/names.ts';
import type { RecordedLine } from '../../src/workflow/line/find-recorded.ts';
import { verifyLine } from '../../src/workflow/verify/line.ts';
import { editTree } from '../../src/session/paths/edit-tree.ts';
import { systemIds } from '../../src/system/ids.ts';
import type { MemoryProject } from './memory-repository.ts';
import { listSteps } from './tampering.ts';

export interface EntryTampering {
  /** The kind of change, by its name in the table of docs/security.md. */
  kind: string;
  /** A description of the change, for a person. */
  what: string;
  /** The tip of the forged line. */
  forge(): Promise<Oid>;
}

interface Rewrite {
  /** The entry itself; null drops it. */
  commit?: (commit: Commit) => Commit | null;
  /** Files in it and in every later commit. */
  files?: { path: RepoPath; bytes: Uint8Array | null }[];
  /** Records that are no longer in any commit's transcript. */
  unsaid?: { path: RepoPath; bytes: Uint8Array };
}

/** The commits from the entry on, rebuilt, each on top of the one before. */
async function rewrite(project: Project, tip: Oid, at: Oid, change: Rewrite): Promise<Oid> {
  const { store } = project.repository;
  const steps = await listSteps(project, tip);
  const from = steps.findIndex(({ oid }) => oid === at);
  let parents = (await store.readCommit(at)).parents;
  const batch = store.batch();
  const edits = await Promise.all(
    (change.files ?? []).map(async ({ path, bytes }) => ({
      path,
      entry: bytes === null ? null : { mode: '100644' as const, oid: await batch.blob(bytes) },
    })),
  );
  for (const { oid } of steps.slice(from)) {
    const commit = await store.readCommit(oid);
    const again = oid === at && change.commit !== undefined ? change.commit(commit) : commit;
    if (again === null) continue;
    const unsaid = change.unsaid === undefined ? [] : await leaveOut(project, oid, change.unsaid, batch);
    const tree = await editTree(store, batch, again.tree, [...edits, ...unsaid]);
    parents = [await batch.commit({ ...again, tree, parents })];
  }
  await batch.flush();
  if (parents[0] === undefined) throw new Error(`${at} is not on the line.`);
  return parents[0];
}

async function leaveOut(
  { repository: { store } }: Project,
  commit: Oid,
  { path, bytes }: { path: RepoPath; bytes: Uint8Array },
  batch: ObjectBatch,
) {
  const text = Buffer.from((await store.readFile(commit, path))?.bytes ?? []).toString('utf8');
  const left = text.replace(Buffer.from(bytes).toString('utf8'), '');
  return [{ path, entry: left === '' ? null : { mode: '100644' as const, oid: await batch.blob(left) } }];
}

/** Entries get ids that begin with the time, unlike in other tests. */
export function withRealIds(project: MemoryProject): void {
  Object.assign(project, { ids: systemIds(project.clock) });
}

/** An id from another moment. */
function toId(ms: number): string {
  const time = ms.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7abc-8def-0123456789ab`;
}

/** Another program has appended these messages. */
function isSaid({ kind, agent }: Entry): boolean {
  return (kind === 'exchange' || kind === 'message') && agent === undefined;
}

/** These commits' messages, rewritten. */
async function rewriteAll(
  project: Project,
  tip: Oid,
  edit: (oid: Oid, message: string) => string,
  changed: readonly string[],
): Promise<Oid> {
  const { store } = project.repository;
  const steps = await listSteps(project, tip);
  const batch = store.batch();
  let parent: Oid | null = null;
  for (const { oid } of steps) {
    const commit = await store.readCommit(oid);
    const message = changed.includes(oid) ? edit(oid, commit.message) : commit.message;
    parent = await batch.commit({ ...commit, message, parents: parent === null ? commit.parents : [parent] });
  }
  await batch.flush();
  return parent ?? tip;
}

/** Two neighbouring entries change places, and so do their records in every commit's transcript. */
async function swapSaid(project: Project, tip: Oid, first: Oid, second: Oid): Promise<Oid> {
  const { store } = project.repository;
  const [path, ...others] = (await store.diffTrees((await store.readCommit(first)).parents[0] ?? null, second)).flatMap(
    (change) => (change.path.endsWith('transcript.jsonl') ? change.path : []),
  );
  if (path === undefined || others.length > 0) throw new Error('The two are not of one transcript.');
  const read = async (oid: Oid) => Buffer.from((await store.readFile(oid, path))?.bytes ?? []).toString('utf8');
  const before = await read((await store.readCommit(first)).parents[0] as Oid);
  const [one, two] = [(await read(first)).slice(before.length), (await read(second)).slice((await read(first)).length)];
  const batch = store.batch();
  let parent: Oid | null = null;
  const steps = (await listSteps(project, tip)).map(({ oid }) => oid);
  const at = steps.indexOf(first);
  for (const oid of [...steps.slice(0, at), second, first, ...steps.slice(at + 2)]) {
    const commit = await store.readCommit(oid);
    // The commit that comes first now has only its own record.
    const text =
      oid === second ? before + two : (await read(oid === first ? second : oid)).replace(one + two, two + one);
    const tree = oid === first ? (await store.readCommit(second)).tree : commit.tree;
    const edits = text === '' ? [] : [{ path, entry: { mode: '100644' as const, oid: await batch.blob(text) } }];
    const parents: Oid[] = parent === null ? commit.parents : [parent];
    parent = await batch.commit({ ...commit, tree: await editTree(store, batch, tree, edits), parents });
  }
  await batch.flush();
  return parent ?? tip;
}

const trailer = (key: string, value: string) => (message: string) =>
  message.replace(new RegExp(`^Teddy-${key}: .*$`, 'm'), `Teddy-${key}: ${value}`);
const without = (key: string) => (message: string) => message.replace(new RegExp(`^Teddy-${key}: .*\n`, 'm'), '');

/** Another possible value for the trailer. */
const otherValues: Record<string, string> = {
  Session: '20260125-another',
  Entry: 'memo',
  Turn: '07',
  'Entry-Id': '01890000-0000-7000-8000-000000000001',
  Created: '2026-01-23T00:00:00.000Z',
  'Base-Branch': 'release',
  Agent: 'reviewer',
  Provider: 'another',
  Model: 'another',
  Tokens: '1/1',
  Cost: '0.5',
  Status: 'FAILURE',
  Sha256: '0'.repeat(64),
  Format: '2',
  'Write-Session': '01890000-0000-7000-8000-000000000002',
  Intent: 'another',
  Validation: 'another',
  'Import-Format': 'another',
};

/** Lists tamperings with each entry on a line. */
export async function listTamperings(project: Project, tip: Oid): Promise<EntryTampering[]> {
  const { store } = project.repository;
  const found: EntryTampering[] = [];
  const changes = new Map<Oid, { path: RepoPath; after: Oid | null }[]>();
  for await (const { oid, changes: made } of store.walkChanges(tip, [])) changes.set(oid, made);
  const steps = await listSteps(project, tip);
  const entries = steps.flatMap(({ oid, entry }) => (entry === null ? [] : [{ oid, entry }]));
  for (const [at, { oid, entry }] of entries.entries()) {
    const commit = await store.readCommit(oid);
    const add = (kind: string, what: string, change: Rewrite) =>
      found.push({ kind, what: `${nameOf(entry)} ${what}`, forge: () => rewrite(project, tip, oid, change) });
    const onCommit = (kind: string, what: string, edit: (one: Commit) => Commit) => add(kind, what, { commit: edit });
    const onMessage = (kind: string, what: string, edit: (text: string) => string) =>
      onCommit(kind, what, (one) => ({ ...one, message: edit(one.message) }));

    for (const [, key = ''] of commit.message.matchAll(/^Teddy-([A-Za-z0-9-]+): /gm)) {
      onMessage(`trailer ${key}`, 'changed', trailer(key, otherValues[key] ?? 'another'));
      onMessage(`trailer ${key}`, 'removed', without(key));
    }
    const next = entries[at + 1];
    const id = (text: string) => trailer('Entry-Id', text);
    onMessage('entry id', 'of the day after', id(toId(entryMs(entry) + 2 * dayMs)));
    onMessage('entry id', 'of a day before', id(toId(entryMs(entry) - dayMs / 2)));
    onMessage('entry id', 'of the moment before', id(toId(entryMs(entry) - 1)));
    if (next !== undefined) {
      onMessage('entry id', 'later than the next one', id(toId(entryMs(next.entry) + 1)));
      const both = { [oid]: next.entry.id, [next.oid]: entry.id };
      found.push({
        kind: 'entry id',
        what: `${nameOf(entry)} swapped with that of the next entry`,
        forge: () => rewriteAll(project, tip, (one, text) => id(both[one] ?? '')(text), Object.keys(both)),
      });
    }
    const records = next !== undefined && isSaid(entry) && isSaid(next.entry) && entry.turn === next.entry.turn;
    if (records)
      found.push({
        kind: 'order of two that were said',
        what: nameOf(entry),
        forge: () => swapSaid(project, tip, oid, next.oid),
      });
    onMessage('label', 'another subject', (text) => text.replace(/: .*/, ': Another'));
    onMessage('label', 'a line more', (text) => text.replace('\n\nTeddy-Session', '\n\nMore\n\nTeddy-Session'));
    onCommit('author', 'another name', (one) => ({ ...one, author: one.author.replace(/^[^<]*/, 'Somebody ') }));
    onCommit('author', 'another time', (one) => ({
      ...one,
      author: one.author.replace(/\d+ (?=[+-])/, '1700000000 '),
    }));
    onCommit('committer', 'another name', (one) => ({
      ...one,
      committer: one.committer.replace(/^[^<]*/, 'Somebody '),
    }));
    const isLast = oid === tip;
    add(isLast ? 'newest entry' : 'entry', 'dropped', { commit: () => null });

    for (const { path, after } of changes.get(oid) ?? []) {
      if (after === null) continue;
      const bytes = await store.readBlob(after);
      const kind = kindOf(path, entry);
      const hash = (now: Uint8Array) => (one: Commit) => ({
        ...one,
        message: one.message.replace(project.hash(bytes), project.hash(now)),
      });
      const changed = changeText(path, bytes);
      add(kind, `${path} changed`, { files: [{ path, bytes: changed }], commit: hash(changed) });
      add(kind, `${path} removed`, { files: [{ path, bytes: null }] });
      if (entry.kind !== 'exchange') continue;
      const before = (await store.readFile(commit.parents[0] as Oid, path))?.bytes ?? new Uint8Array();
      add('entry', 'dropped with its records', {
        commit: () => null,
        unsaid: { path, bytes: bytes.subarray(before.length) },
      });
    }
    if (entry.turn !== null) {
      const path = `.teddy/sessions/${entry.session}/${entry.turn}/extra.md` as RepoPath;
      add('another file', path, { files: [{ path, bytes: Buffer.from('extra\n') }] });
    }
    const code = 'forged.txt' as RepoPath;
    add('code', `${code} added`, { files: [{ path: code, bytes: Buffer.from('forged\n') }] });
  }
  return found;
}

function nameOf({ kind, turn }: Entry): string {
  return `${kind}${turn === null ? '' : ` ${turn}`}:`;
}

function kindOf(path: RepoPath, { kind }: Entry): string {
  if (!path.startsWith('.teddy/')) return kind === 'snapshot' ? 'snapshot of the user’s edits' : 'code';
  const name = path.split('/').at(-1) ?? '';
  return name.endsWith('.context') && name !== 'turn.context' ? 'list of the user’s' : name;
}

/** Still readable as the same kind. */
function changeText(path: RepoPath, bytes: Uint8Array): Uint8Array {
  const text = Buffer.from(bytes).toString('utf8');
  if (path.endsWith('.jsonl')) {
    const said = text.replace(/("content":")/, '$1X');
    return Buffer.from(said === text ? text.replace(/("timestamp":"\d{3})\d/, '$10') : said);
  }
  if (path.endsWith('.context')) return Buffer.from(`${text}more.txt\n`);
  const at = text.search(/[a-z]{4}/);
  return Buffer.from(at < 0 ? `${text}x` : `${text.slice(0, at)}zq${text.slice(at)}`);
}

export interface TamperingRow {
  runs: number;
  caught: number;
  /** Forgeries that `verify` cannot detect. */
  passed: string[];
}

/** Counts `verify`'s findings, by kind. `stride`: only every n-th is tried. */
export async function tryTamperings(
  project: Project,
  line: RecordedLine,
  stride = 1,
): Promise<Map<string, TamperingRow>> {
  const rows = new Map<string, TamperingRow>();
  expect((await verifyLine(project, line)).violations).toEqual([]);
  for (const [at, { kind, what, forge }] of (await listTamperings(project, line.tip)).entries()) {
    if (at % stride !== 0) continue;
    const row = rows.get(kind) ?? { runs: 0, caught: 0, passed: [] };
    rows.set(kind, row);
    row.runs += 1;
    const { violations } = await verifyLine(project, { ...line, tip: await forge() });
    if (violations.length > 0) row.caught += 1;
    else row.passed.push(what);
  }
  return rows;
}

/** No file in a session backs these: only a signature reveals a change. docs/security.md agrees. */
export const unbacked: Readonly<Record<string, RegExp>> = {
  // Between the entry before and the next one, a change of a few moments is undetectable, or, without a dated file, of
  // more.
  'entry id': /of the moment before$|^start: of a day before$/,
  author: /./,
  committer: /./,
  'newest entry': /./,
  'trailer Base-Branch': /./,
  'trailer Entry': /^memo .* changed$/,
  entry: /^(?:exchange|message) \d+: dropped$/,
  'list of the user’s': /\.context/,
  '.gitattributes': /removed$/,
};
