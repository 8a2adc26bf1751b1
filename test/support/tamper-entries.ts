/** Every way in which somebody who may rewrite commits can change what a line says of one of its entries, later commits made to fit. */
import type { Commit, ObjectBatch } from '../../src/ports/git.ts';
import type { Project } from '../../src/ports/project.ts';
import type { Entry } from '../../src/session/entry.ts';
import type { Oid, RepoPath } from '../../src/names.ts';
import type { RecordedLine } from '../../src/workflow/line/find-recorded.ts';
import { verifyLine } from '../../src/workflow/verify/line.ts';
import { editTree } from '../../src/session/edit-tree.ts';
import { listSteps } from './tampering.ts';

export interface EntryTampering {
  /** The kind of change, by its name in the table of docs/security.md. */
  kind: string;
  /** Which one, for a person. */
  what: string;
  /** The tip of the forged line. */
  forge(): Promise<Oid>;
}

interface Rewrite {
  /** The entry itself; null drops it. */
  commit?: (commit: Commit) => Commit | null;
  /** Files of it and of every later commit. */
  files?: { path: RepoPath; bytes: Uint8Array | null }[];
  /** Records that are in the transcript of no commit any more. */
  unsaid?: { path: RepoPath; bytes: Uint8Array };
}

/** The commits from the entry on again, each on top of the one before. */
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

const trailer = (key: string, value: string) => (message: string) =>
  message.replace(new RegExp(`^Teddy-${key}: .*$`, 'm'), `Teddy-${key}: ${value}`);
const without = (key: string) => (message: string) => message.replace(new RegExp(`^Teddy-${key}: .*\n`, 'm'), '');

/** Another value that the trailer could have. */
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

/** Lists tamperings of each entry of a line. */
export async function listTamperings(project: Project, tip: Oid): Promise<EntryTampering[]> {
  const { store } = project.repository;
  const found: EntryTampering[] = [];
  const changes = new Map<Oid, { path: RepoPath; after: Oid | null }[]>();
  for await (const { oid, changes: made } of store.walkChanges(tip, [])) changes.set(oid, made);
  for (const { oid, entry } of await listSteps(project, tip)) {
    if (entry === null) continue;
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

/** Still readable as what it is. */
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
  /** Forgeries that `verify` has no word against. */
  passed: string[];
}

/** Counts what `verify` finds, by kind. `stride`: one of so many is tried. */
export async function tryTamperings(
  project: Project,
  line: RecordedLine,
  stride = 1,
): Promise<Map<string, TamperingRow>> {
  const rows = new Map<string, TamperingRow>();
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

/** No file of a session backs these: only a signature tells. docs/security.md says the same. */
export const unbacked: Readonly<Record<string, RegExp>> = {
  author: /./,
  committer: /./,
  label: /./,
  'newest entry': /./,
  'trailer Base-Branch': /./,
  'trailer Entry': /^memo .* changed$/,
  entry: /^(?:exchange|message) \d+: dropped$/,
  'list of the user’s': /\.context/,
  '.gitattributes': /removed$/,
};
