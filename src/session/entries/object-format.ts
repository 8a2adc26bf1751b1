/** git's own encoding of trees and commits, byte for byte. */
import type { Commit, TreeEntry, TreeMode } from '../../ports/git.ts';
import { TeddyError } from '../../errors.ts';
import { parseOid, type Oid } from '../../names.ts';

export type ObjectType = 'blob' | 'tree' | 'commit' | 'tag';

/** Returns the bytes to hash and deflate: `<type> <size>\0<content>`. */
export function encodeObject(type: ObjectType, content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content]);
}

/** Encodes a tree, sorted as git does: a directory sorts as if its name ended in `/`. */
export function encodeTree(entries: TreeEntry[]): Buffer {
  const rows = entries.map((entry) => {
    const name = Buffer.from(entry.rawName ?? Buffer.from(entry.name));
    return { entry, name, key: entry.mode === '40000' ? Buffer.concat([name, Buffer.from('/')]) : name };
  });
  rows.sort((a, b) => Buffer.compare(a.key, b.key));
  return Buffer.concat(
    rows.flatMap(({ entry, name }) => [
      Buffer.from(`${entry.mode} `),
      name,
      Buffer.from([0]),
      Buffer.from(entry.oid, 'hex'),
    ]),
  );
}

export function decodeTree(bytes: Buffer, oidBytes: 20 | 32): TreeEntry[] {
  const entries: TreeEntry[] = [];
  for (let at = 0; at < bytes.length;) {
    const { entry, end } = decodeRow(bytes, at, oidBytes);
    entries.push(entry);
    at = end;
  }
  return entries;
}

/** Decodes the row that begins at `at`, and returns the row's end. */
export function decodeRow(bytes: Buffer, at: number, oidBytes: 20 | 32): { entry: TreeEntry; end: number } {
  const space = bytes.indexOf(0x20, at);
  const nul = bytes.indexOf(0, space);
  const end = nul + 1 + oidBytes;
  if (space < 0 || nul < 0 || end > bytes.length) {
    throw new TeddyError('DAMAGED_SESSION', 'A tree object is truncated.', 'Run `git fsck` to see what is damaged.');
  }
  const name = bytes.toString('utf8', space + 1, nul);
  const mode = bytes.toString('latin1', at, space) as TreeMode;
  const oid = bytes.toString('hex', nul + 1, end) as Oid;
  return { entry: { mode, name, oid, ...toRawName(name, bytes.subarray(space + 1, nul)) }, end };
}

/** Returns the raw bytes of a name that is not UTF-8; decoding replaced its invalid bytes with U+FFFD. */
function toRawName(name: string, raw: Buffer): Pick<TreeEntry, 'rawName'> {
  return !name.includes('\uFFFD') || Buffer.from(name).equals(raw) ? {} : { rawName: Uint8Array.from(raw) };
}

export function encodeCommit(commit: Commit): Buffer {
  const header = [
    `tree ${commit.tree}`,
    ...commit.parents.map((parent) => `parent ${parent}`),
    `author ${commit.author}`,
    `committer ${commit.committer}`,
  ];
  return Buffer.from(`${header.join('\n')}\n\n${commit.message}`);
}

/** Reads the parts of any commit that teddy needs, and skips other headers (signatures, encodings). */
export function decodeCommit(bytes: Buffer): Commit {
  const text = bytes.toString('utf8');
  const end = text.indexOf('\n\n');
  const headers = (end < 0 ? text : text.slice(0, end)).split('\n');
  const values = (key: string) =>
    headers.filter((line) => line.startsWith(`${key} `)).map((line) => line.slice(key.length + 1));
  return {
    tree: parseOid(values('tree')[0] ?? ''),
    parents: values('parent').map(parseOid),
    author: values('author')[0] ?? '',
    committer: values('committer')[0] ?? '',
    message: end < 0 ? '' : text.slice(end + 2),
  };
}
