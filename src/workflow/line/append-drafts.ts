/** Turns a draft into the content of its commit: an entry and its files, with secrets masked. */
import type { KnownRecord } from '../../conversation/records/record.ts';
import { encodeRecord } from '../../conversation/records/transcript.ts';
import type { Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { TreeEdit } from '../../session/paths/edit-tree.ts';
import { encodeEntry, type Entry, type EntryKind } from '../../session/entries/entry.ts';
import { toLaterId } from '../../session/entries/logged-entry.ts';
import { joinPath, turnDir, type Oid, type RepoPath, type SessionId, type TurnName } from '../../names.ts';
import { maskRecords } from './mask-record.ts';
import { maskEntry } from './mask-text.ts';
import type { LineState, LineTurns } from '../../view/view.ts';

type Label = Pick<Entry, 'title' | 'details'>;
/** Entry trailers that cannot be derived from the entry's draft, position or files. */
export type EntryTrailers = Partial<Omit<Entry, 'kind' | 'session' | 'turn' | 'id' | 'created' | keyof Label>>;

/** A file in the project or in `.teddy/`, by path. */
export interface FileEdit {
  path: RepoPath;
  /** Null removes the file. */
  bytes: Uint8Array | string | null;
  executable?: boolean;
}

/** An entry to append: describes its content, but never its position. */
export interface Draft {
  kind: EntryKind;
  turn?: TurnName | null;
  /** A function makes the label from the masked records, and from the masked `plan.md` if it quotes the plan. */
  label: Label | ((records: readonly KnownRecord[], plan: string | undefined) => Label);
  /** Derived from the source's own ID when the entry may arrive twice; otherwise generated. */
  id?: string;
  /** The time of the event, in ISO 8601, used as the author date. Defaults to now. */
  at?: string | undefined;
  trailers?: EntryTrailers;
  /** Records to append to the turn's transcript, in this order. */
  records?: readonly KnownRecord[];
  /** True for a model's answer to teddy; teddy does not mask its records and plan. */
  isAnswer?: boolean;
  /** The turn's files by name. New content is appended to `raw.jsonl`. */
  files?: Readonly<Record<string, string>>;
  code?: {
    /** The tree that provides the entry's code (everything except `.teddy/`). Defaults to the tip's tree. */
    tree?: Oid | null;
    files?: readonly FileEdit[];
    /** Edits that use existing blobs. */
    edits?: readonly TreeEdit[];
  };
}

/** The first commit of a session that begins on top of `tip`; with `tip` null, the first commit of the repository. */
export interface StartPosition {
  tip: Oid | null;
  session: SessionId;
  created: string;
  entry: null;
}

/** The place for the next entry: after `entry`, on top of `tip`. */
export type AppendPosition = StartPosition | (LineTurns & Partial<Pick<LineState, 'latest'>>);

/** The commit made from a draft. */
export interface EntryContent {
  entry: Entry;
  message: string;
  files: FileEdit[];
  tree: Oid | null;
  edits: readonly TreeEdit[];
  at: string | undefined;
  records: readonly KnownRecord[];
}

export interface Drafts {
  /** Returns the content of the entry that follows the entries added so far. */
  add(draft: Draft): Promise<EntryContent>;
  /** Returns the number of secrets masked in the records and plans added so far. */
  masked(): number;
}

/** Opens a builder of commits. With `isStream`, keeps only the growing turn's files in memory. */
export function openDrafts(project: Project, place: AppendPosition, { isStream }: { isStream: boolean }): Drafts {
  const { masker, ids, hash } = project;
  const tails = openTails(project.repository.store, place, isStream);
  let last: Pick<Entry, 'session' | 'created' | 'id'> = place.entry ?? { ...place, id: '' };
  let masked = 0;
  return {
    async add({ kind, turn = null, label, id: wanted, at, trailers, files: own = {}, code = {}, ...said }) {
      const { session, created } = last;
      const fresh = wanted ?? ids.entryId();
      const id = keepIds.has(kind) ? fresh : toLaterId(fresh, last);
      const spoken = { records: said.records ?? [], plan: own['plan.md'] };
      const { records, plan, count } =
        said.isAnswer === true ? { ...spoken, count: 0 } : await maskRecords(masker, spoken);
      masked += count;
      const named: Record<string, string> = plan === undefined ? own : { ...own, 'plan.md': plan };
      const about = named[subjects[kind] ?? ''];
      const entry: Entry = {
        kind,
        session,
        turn,
        id,
        created,
        ...(typeof label === 'function' ? label(records, plan) : label),
        ...(about === undefined ? {} : { sha256: hash(about) }),
        ...trailers,
      };
      const files = [...(code.files ?? [])];
      for (const [name, content] of Object.entries(named))
        files.push(
          name === 'raw.jsonl'
            ? await tails.grow(turn, name, content)
            : { path: joinPath(turnDir(session, requireTurn(turn)), name), bytes: content },
        );
      const lines = records.map((record) => encodeRecord(kind === 'approval' ? { ...record, id } : record));
      if (lines.length > 0) files.push(await tails.grow(turn, 'transcript.jsonl', lines.join('')));
      last = entry;
      const message = encodeEntry(await maskEntry(masker, entry));
      return { entry, message, files, tree: code.tree ?? null, edits: code.edits ?? [], at, records };
    },
    masked: () => masked,
  };
}

/** Kinds that keep their ID: a start has no entry before it, and a memo has a twin with the same ID on `teddy/global`. */
const keepIds: ReadonlySet<EntryKind> = new Set(['start', 'memo']);

/** The file that the sha256 in an entry covers. */
const subjects: Partial<Record<EntryKind, string>> = {
  message: '_context.log',
  plan: 'plan.md',
  report: 'report.md',
};

function requireTurn(turn: TurnName | null): TurnName {
  if (turn === null) throw new Error('An entry without a turn has no files of a turn.');
  return turn;
}

interface Tails {
  /** Returns the file with all of the turn's content so far; lines added later do not change the returned bytes. */
  grow(turn: TurnName | null, name: string, lines: string): Promise<FileEdit>;
}

interface Tail {
  bytes: Uint8Array;
  length: number;
}

/** The turns' growing files, starting with the line's content; each file is read once. */
function openTails(store: Store, place: AppendPosition, isStream: boolean): Tails {
  const { session } = place;
  const encoder = new TextEncoder();
  const tails = new Map<RepoPath, Tail>();
  let current: TurnName | null = null;
  const read = async (turn: TurnName, path: RepoPath): Promise<Uint8Array> => {
    if (place.entry === null || !place.turns.includes(turn)) return new Uint8Array();
    if (place.latest?.turn === turn && path.endsWith('/transcript.jsonl')) return place.latest.transcript;
    return (await store.readFile(place.entryOid, path))?.bytes ?? new Uint8Array();
  };
  return {
    async grow(named, name, lines) {
      const turn = requireTurn(named);
      if (isStream && turn !== current) tails.clear();
      current = turn;
      const path = joinPath(turnDir(session, turn), name);
      const tail = tails.get(path) ?? toTail(await read(turn, path));
      tails.set(path, tail);
      addBytes(tail, encoder.encode(lines));
      return { path, bytes: tail.bytes.subarray(0, tail.length) };
    },
  };
}

/** Does not change a last line that another program cut off; new content begins on a new line. */
function toTail(bytes: Uint8Array): Tail {
  const tail = { bytes, length: bytes.length };
  if (bytes.length > 0 && bytes.at(-1) !== newline) addBytes(tail, Uint8Array.of(newline));
  return tail;
}

const newline = 10;

function addBytes(tail: Tail, added: Uint8Array): void {
  const length = tail.length + added.length;
  if (length > tail.bytes.length) {
    const larger = new Uint8Array(2 * length);
    larger.set(tail.bytes.subarray(0, tail.length));
    tail.bytes = larger;
  }
  tail.bytes.set(added, tail.length);
  tail.length = length;
}
