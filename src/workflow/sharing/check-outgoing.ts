/**
 * Finds secrets in a push: in every commit that the remote does not have, and in every file that those commits add or
 * change.
 */
import { TeddyError } from '../../errors.ts';
import type { ChangedCommit, Store } from '../../ports/git.ts';
import type { Masker, Project } from '../../ports/project.ts';
import { isSessionPath } from '../../session/global/global-files.ts';
import type { Oid, RepoPath } from '../../names.ts';
import { contentReader, type AwaitedContent } from '../line/read-content.ts';

/** A secret in the push, described without its value. */
export interface OutgoingSecret {
  commit: Oid;
  /** Null when the secret is in the commit itself: in its message, author or committer, or in a file name. */
  path: RepoPath | null;
  kind: string;
}

/** Memory has room for several copies of a file of this size; nobody writes a larger text by hand. */
const maxFileBytes = 64 * 1024 * 1024;
/** git treats a file as binary when it finds a NUL in this many bytes. */
const binaryProbeBytes = 8000;
const filesAhead = 16;

interface Leaving {
  commit: Oid;
  path: RepoPath;
  after: AwaitedContent;
  before: AwaitedContent | null;
}

/**
 * Searches all commits in the push, including the code commits below a session; `known` are the commits that the remote
 * has. Skips binary files, and secrets that the file's previous version already contained: the remote has these, or
 * teddy reports them in that version. Throws INTERRUPTED or MASKING_FAILED.
 */
export async function checkOutgoing(
  project: Project,
  tips: readonly Oid[],
  known: readonly Oid[],
  { signal }: { signal?: AbortSignal } = {},
): Promise<OutgoingSecret[]> {
  if ((await project.settings.get('redact')) === 'false') {
    project.notices.warn(
      'NOTHING was searched for secrets: teddy.redact is false. The push may contain keys and passwords.',
    );
    return [];
  }
  const found = new Map<string, OutgoingSecret>();
  const add = (commit: Oid, path: RepoPath | null, kinds: Iterable<string>) => {
    for (const kind of kinds) found.set(`${commit} ${kind} ${path ?? ''}`, { commit, path, kind });
  };
  const searchCommit = async (changed: ChangedCommit) => add(changed.oid, null, await findKindsIn(project, changed));
  for await (const file of readAhead(listLeaving(project, tips, known, searchCommit))) {
    if (signal?.aborted) throw new TeddyError('INTERRUPTED', 'Interrupted.', 'Nothing was pushed.');
    add(file.commit, file.path, await findKinds(project, file));
    for (const awaited of [file.after, file.before]) awaited?.release();
  }
  return [...found.values()];
}

/** Lists each content once, where it first appears. */
async function* listLeaving(
  { repository: { store } }: Project,
  tips: readonly Oid[],
  known: readonly Oid[],
  onCommit: (commit: ChangedCommit) => Promise<void>,
): AsyncGenerator<Leaving> {
  const contents = contentReader(store);
  const seen = new Set<Oid>();
  const start = (oid: Oid) => contents.await(oid, maxFileBytes);
  for await (const changed of walkNewCommits(store, tips, known)) {
    await onCommit(changed);
    const { oid, changes } = changed;
    // A commit that only removes or moves a file did not introduce its content.
    for (const { before } of changes) if (before !== null) seen.add(before);
    for (const { path, after, before, mode, oldMode } of changes) {
      if (after === null || mode === '160000' || seen.has(after)) continue;
      seen.add(after);
      const hasBefore = before !== null && oldMode !== '160000';
      yield { commit: oid, path, after: start(after), before: hasBefore ? start(before) : null };
    }
  }
}

/** Reads files ahead, so that the search never waits for git. */
async function* readAhead(files: AsyncIterable<Leaving>): AsyncGenerator<Leaving> {
  const waiting: Leaving[] = [];
  for await (const file of files) {
    waiting.push(file);
    if (waiting.length < filesAhead) continue;
    const next = waiting.shift();
    if (next !== undefined) yield next;
  }
  yield* waiting;
}

async function findKindsIn({ masker }: Project, { commit, changes }: ChangedCommit): Promise<Set<string>> {
  const { author, committer, message } = commit;
  const names = changes.flatMap(({ path, before }) => (before === null ? path : []));
  const { found } = await masker.mask([author, committer, message, ...names].join('\n'));
  return new Set(found.map(({ kind }) => kind));
}

async function findKinds(project: Project, { commit, path, after, before }: Leaving): Promise<Set<string>> {
  const content = await after.read();
  // The remote refuses a push with a missing object anyway.
  if (content.kind === 'missing' || content.kind === 'unread') return new Set();
  if (content.kind === 'large') {
    project.notices.warn(
      `${path} in ${commit.slice(0, 12)} was NOT searched for secrets: it has ${content.sizeBytes} bytes.`,
    );
    return new Set();
  }
  const text = toText(path, content.bytes);
  if (text === null) return new Set();
  const earlier = await before?.read();
  const known = earlier?.kind === 'bytes' ? toText(path, earlier.bytes) : null;
  return findNewSecrets(project.masker, { path, text, known: known ?? '' });
}

/** Returns null for a binary file. teddy's own files are never binary. */
function toText(path: RepoPath, bytes: Uint8Array): string | null {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  if (!isSessionPath(path) && bytes.subarray(0, binaryProbeBytes).includes(0)) return null;
  return new TextDecoder().decode(bytes);
}

interface Walk {
  from: Oid;
  not: readonly Oid[];
}

/**
 * Walks every commit reachable from `tips` but not from `known`, each once however many parents lead to it, with its
 * changes against its first parent.
 */
async function* walkNewCommits(
  store: Store,
  tips: readonly Oid[],
  known: readonly Oid[],
): AsyncGenerator<ChangedCommit> {
  const seen = new Set<Oid>();
  const unique = [...new Set(tips)];
  for (const [at, tip] of unique.entries()) {
    const waiting: Walk[] = [{ from: tip, not: [...known, ...unique.slice(0, at)] }];
    for (let walk = waiting.pop(); walk !== undefined; walk = waiting.pop()) {
      for await (const changed of store.walkChanges(walk.from, walk.not)) {
        if (seen.has(changed.oid)) continue;
        seen.add(changed.oid);
        yield changed;
        waiting.push(...toMerged(changed, walk.not));
      }
    }
  }
}

/** The push also sends the commits that came in through a merge, one by one. */
function toMerged({ commit: { parents } }: ChangedCommit, not: readonly Oid[]): Walk[] {
  return parents.slice(1).map((from, at) => ({ from, not: [...not, ...parents.slice(0, at + 1)] }));
}

/** A masker receives pieces of this size, because it scans a text several times. */
const pieceChars = 4 * 1024 * 1024;
/** Longer than any key, so that at least one of two neighboring pieces contains the whole key. */
const overlapChars = 64 * 1024;
/** The number of lines that identify a key: all keys have the same first line. */
const keyLines = 3;

export interface ChangedText {
  path: RepoPath;
  text: string;
  /** The previous version; empty when there is none. */
  known: string;
}

/** Returns the kinds of the new secrets. */
export async function findNewSecrets(masker: Masker, { path, text, known }: ChangedText): Promise<Set<string>> {
  const kinds = new Set<string>();
  const knownLines = known === '' ? null : new Set(known.split('\n'));
  for (const piece of toPieces(withoutBeginning(text, known))) {
    const { found } = await masker.mask(piece, path);
    if (found.length === 0) continue;
    const lines = piece.split('\n');
    for (const { kind, line } of found) if (!isKnown(lines, line - 1, known, knownLines)) kinds.add(kind);
  }
  return kinds;
}

/** Cuts off the known beginning of a file that only grows, such as a transcript, to avoid searching it again each time. */
function withoutBeginning(text: string, known: string): string {
  if (known.length <= overlapChars || !text.startsWith(known)) return text;
  return text.slice(known.lastIndexOf('\n', known.length - overlapChars) + 1);
}

function isKnown(lines: readonly string[], at: number, known: string, knownLines: Set<string> | null): boolean {
  if (knownLines === null || !knownLines.has(lines[at] ?? '')) return false;
  if (!/-----BEGIN/.test(lines[at] ?? '')) return true;
  return known.includes(lines.slice(at, at + keyLines).join('\n'));
}

/** Cuts a text at line ends. */
function* toPieces(text: string): Generator<string> {
  let start = 0;
  while (text.length - start > pieceChars) {
    const end = Math.max(text.lastIndexOf('\n', start + pieceChars), start + pieceChars - overlapChars);
    yield text.slice(start, end);
    start = end - overlapChars;
  }
  yield text.slice(start);
}
