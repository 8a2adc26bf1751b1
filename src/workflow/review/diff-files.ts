/** Shows how files differ between two trees, in git's format, and counts the changed lines. */
import { quoteDiffName, renderUnifiedDiff } from '../../plan/match/diff.ts';
import type { Store, TreeChange, DiffKind } from '../../ports/git.ts';
import { formatCount } from '../../session/text/format-count.ts';
import { repoPathFromGit, type Oid, type RepoPath } from '../../names.ts';

export interface FileDiff {
  path: RepoPath;
  change: TreeChange['change'];
  /** The number of lines; 0 when not counted. */
  added: number;
  removed: number;
  kind: DiffKind;
  /** A unified diff in git's style that ends with a newline. */
  diff: string;
}

/** A change without a mode, as in a report, counts as a plain file's change. */
type Change = Pick<TreeChange, 'path' | 'change' | 'before' | 'after'> & Partial<Pick<TreeChange, 'mode'>>;

/** teddy does not compare larger files line by line: that takes long, and nobody reads the result. */
const maxBytes = 4 * 1024 * 1024;
const filesAtATime = 32;

type BlobReader = Pick<Store, 'readSize' | 'readBlob'>;

/** Returns the diffs in the order of `changes`. Throws DAMAGED_SESSION. */
export async function diffFiles(store: BlobReader, changes: readonly Change[]): Promise<FileDiff[]> {
  const diffs: FileDiff[] = [];
  for (let at = 0; at < changes.length; at += filesAtATime) {
    diffs.push(...(await Promise.all(changes.slice(at, at + filesAtATime).map((change) => diffFile(store, change)))));
  }
  return diffs;
}

/** Lists the differences outside `.teddy`. */
export async function listCodeChanges(store: Store, before: Oid | null, after: Oid): Promise<TreeChange[]> {
  return store.diffTrees(before, after, { without: teddyDir });
}

const teddyDir = repoPathFromGit('.teddy');

export function isCode(path: RepoPath): boolean {
  return path !== teddyDir && !path.startsWith(`${teddyDir}/`);
}

async function diffFile(store: BlobReader, change: Change): Promise<FileDiff> {
  const sides = [change.before, change.after];
  const sizes = await Promise.all(sides.map((oid) => (oid === null ? 0 : store.readSize(oid))));
  // A submodule's object is in another repository, and a shallow clone may lack an older version of a file.
  if (sizes.includes(null))
    return change.mode === '160000' || change.mode === null
      ? toUnread(change, 'submodule', `Submodule ${describeOids(change)}`)
      : toUnread(change, 'missing', `Not in this repository: ${describeOids(change)}`);
  if (sizes.some((size) => (size ?? 0) > maxBytes)) return toUnread(change, 'large', describeSizes(change, sizes));
  const [before, after] = await Promise.all(sides.map((oid) => (oid === null ? null : store.readBlob(oid))));
  return toFileDiff(change, before ?? null, after ?? null);
}

/** Null means that a file does not exist. */
export function toFileDiff(change: Change, before: Uint8Array | null, after: Uint8Array | null): FileDiff {
  const { path } = change;
  const body = renderUnifiedDiff(path, before, after ?? new Uint8Array());
  const isSame = body === '' || (before === null && after === null);
  if (isSame) return { path, change: change.change, added: 0, removed: 0, kind: 'text', diff: '' };
  if (body === 'Binary files differ\n')
    return toUnread(change, 'binary', `Binary files ${describeNames(change)} differ`);
  const lines = body.split('\n');
  const start = lines.findIndex((line) => line.startsWith('@@'));
  const changed = start === -1 ? [] : lines.slice(start);
  const named = after === null ? body.replace(/^\+\+\+ .*$/m, '+++ /dev/null') : body;
  return {
    path,
    change: change.change,
    added: changed.filter((line) => line.startsWith('+')).length,
    removed: changed.filter((line) => line.startsWith('-')).length,
    kind: 'text',
    diff: toHeader(change) + (start === -1 ? '' : named),
  };
}

function toUnread(change: Change, kind: FileDiff['kind'], text: string): FileDiff {
  const { path } = change;
  return { path, change: change.change, added: 0, removed: 0, kind, diff: `${toHeader(change)}${text}\n` };
}

/** A deleted file's mode is unknown here. */
function toHeader({ path, change, mode }: Change): string {
  const kind =
    change === 'added' ? `new file mode ${mode ?? '100644'}\n` : change === 'deleted' ? 'deleted file\n' : '';
  return `diff --git ${quoteDiffName(`a/${path}`)} ${quoteDiffName(`b/${path}`)}\n${kind}`;
}

function describeNames({ path, change }: Change): string {
  const [old, now] = [quoteDiffName(`a/${path}`), quoteDiffName(`b/${path}`)];
  return `${change === 'added' ? '/dev/null' : old} and ${change === 'deleted' ? '/dev/null' : now}`;
}

function describeSizes(change: Change, sizes: (number | null)[]): string {
  const [before, after] = sizes.map((size) => formatCount(size ?? 0));
  return `Large files ${describeNames(change)} differ: ${before} and ${after} bytes are not compared line by line`;
}

function describeOids({ path, before, after }: Change): string {
  return `${quoteDiffName(path)} ${before?.slice(0, 10) ?? 'none'}..${after?.slice(0, 10) ?? 'none'}`;
}
