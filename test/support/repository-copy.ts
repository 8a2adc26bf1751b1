/** A repository in memory, and copies of it, made without starting git. */
import { createHash } from 'node:crypto';
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
  type BigIntStats,
} from 'node:fs';
import { join } from 'node:path';

export interface KeptRepository {
  /** In an order in which they can be made. */
  entries: { path: string; stats: BigIntStats; content: Buffer | string | null }[];
}

export function keepRepository(root: string): KeptRepository {
  const entries: KeptRepository['entries'] = [];
  const visit = (below: string) => {
    for (const name of readdirSync(join(root, below))) {
      const path = join(below, name);
      const place = join(root, path);
      const stats = lstatSync(place, { bigint: true });
      const content = stats.isSymbolicLink() ? readlinkSync(place) : stats.isDirectory() ? null : readFileSync(place);
      entries.push({ path, stats, content });
      if (content === null) visit(path);
    }
  };
  visit('');
  return { entries };
}

/** Into an existing empty directory. */
export function writeRepository({ entries }: KeptRepository, root: string): void {
  for (const { path, stats, content } of entries) {
    const mode = Number(stats.mode & 0o777n);
    if (content === null) mkdirSync(join(root, path), { mode });
    else if (typeof content === 'string') symlinkSync(content, join(root, path));
    else writeFileSync(join(root, path), content, { mode });
  }
  const index = entries.find(({ path }) => path === '.git/index');
  if (index?.content instanceof Buffer)
    writeFileSync(join(root, '.git/index'), moveIndex(index.content, entries, root));
}

/**
 * The index for a copy's files: git would take all of them for changed, since they are other files. Those that differ
 * from the index already are left unchanged.
 */
function moveIndex(index: Buffer, entries: KeptRepository['entries'], root: string): Buffer {
  const moved = Buffer.from(index);
  const hash = ['sha1', 'sha256'].find((name) =>
    moved.subarray(-digest(name, moved).length).equals(digest(name, moved)),
  );
  if (hash === undefined || moved.readUInt32BE(4) > 3) throw new Error('The index has a form that is not known here.');
  const idBytes = hash === 'sha1' ? 20 : 32;
  const known = new Map(entries.map(({ path, stats }) => [path, stats]));
  for (let left = moved.readUInt32BE(8), at = 12; left > 0; left -= 1) {
    const flags = moved.readUInt16BE(at + 40 + idBytes);
    const begin = at + 42 + idBytes + ((flags & 0x4000) === 0 ? 0 : 2);
    const end = moved.indexOf(0, begin);
    const path = moved.toString('utf8', begin, end);
    const stats = known.get(path);
    if (stats !== undefined && encodeStats(stats).equals(moved.subarray(at, at + 40)))
      encodeStats(lstatSync(join(root, path), { bigint: true })).copy(moved, at);
    at += Math.ceil((end - at + 1) / 8) * 8;
  }
  digest(hash, moved).copy(moved, moved.length - idBytes);
  return moved;
}

/** The last bytes are the hash of all before them. */
function digest(hash: string, index: Buffer): Buffer {
  const length = hash === 'sha1' ? 20 : 32;
  return createHash(hash).update(index.subarray(0, -length)).digest();
}

/** The start of an index entry. */
function encodeStats(stats: BigIntStats): Buffer {
  const { ctimeNs, mtimeNs, dev, ino, mode, uid, gid, size } = stats;
  const second = 1_000_000_000n;
  // git only stores if a mode is a link, and if it is executable.
  const kept = stats.isSymbolicLink() ? 0o120000n : (mode & 0o100n) === 0n ? 0o100644n : 0o100755n;
  const numbers = [
    ctimeNs / second,
    ctimeNs % second,
    mtimeNs / second,
    mtimeNs % second,
    dev,
    ino,
    kept,
    uid,
    gid,
    size,
  ];
  const bytes = Buffer.alloc(4 * numbers.length);
  numbers.forEach((number, at) => bytes.writeUInt32BE(Number(number & 0xffff_ffffn), 4 * at));
  return bytes;
}
