/** Our object ids against two other implementations: git, and isomorphic-git on an in-memory file system. */
import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import fc from 'fast-check';
import isomorphic from 'isomorphic-git';
import { memfs } from 'memfs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  decodeCommit,
  decodeTree,
  encodeCommit,
  encodeObject,
  encodeTree,
  type ObjectType,
} from '../../src/session/entries/object-format.ts';
import type { Commit, TreeEntry, TreeMode } from '../../src/ports/git.ts';
import type { Oid } from '../../src/names.ts';
import { gitBytes, gitText } from '../support/git-process.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { runs } from '../support/runs.ts';

type Format = 'sha1' | 'sha256';

const hexLength = { sha1: 40, sha256: 64 };
const zone = 'Ада Bright <ada@example.org> 1769248800 -0330';
const messages = ['', 'One line', 'One line\n', 'Käse 日本 🦊\n\nBody\n\nTrailer: x\n', '\n\nleading\r\n', 'a\n\n\n'];

function oidOf(format: Format, type: ObjectType, content: Uint8Array): Oid {
  return createHash(format).update(encodeObject(type, content)).digest('hex') as Oid;
}

function entryOf(format: Format, mode: string, name: string | Buffer, digit = 'a'): TreeEntry {
  const oid = digit.repeat(hexLength[format]) as Oid;
  if (typeof name === 'string') return { mode: mode as TreeMode, name, oid };
  return { mode: mode as TreeMode, name: name.toString('utf8'), rawName: Uint8Array.from(name), oid };
}

const typeOf = (mode: string) => (mode === '40000' ? 'tree' : mode === '160000' ? 'commit' : 'blob');

function toMktreeRow({ mode, name, rawName, oid }: TreeEntry): Buffer {
  const head = `${mode.padStart(6, '0')} ${typeOf(mode)} ${oid}\t`;
  return Buffer.concat([Buffer.from(head), Buffer.from(rawName ?? Buffer.from(name)), Buffer.from('\0')]);
}

function oddEntries(format: Format): TreeEntry[] {
  return [
    entryOf(format, '100644', 'a0', '1'),
    entryOf(format, '40000', 'a', '2'),
    entryOf(format, '100755', 'a.b', '3'),
    entryOf(format, '100644', 'a-', '4'),
    entryOf(format, '120000', 'ab', '5'),
    entryOf(format, '160000', 'a00', '6'),
    entryOf(format, '100664', 'Z', '7'),
    entryOf(format, '100644', 'line\nbreak', '8'),
    entryOf(format, '100644', 'ü 日本 🦊', '9'),
    entryOf(format, '100644', Buffer.from([0x66, 0xff]), 'b'),
    entryOf(format, '100644', Buffer.from([0x66, 0xfe]), 'c'),
  ];
}

describe.each<Format>(['sha1', 'sha256'])('object ids in %s', (format) => {
  let repo: ScratchRepository;
  beforeAll(async () => {
    repo = await makeScratchRepository({}, { objectFormat: format, firstCommit: false });
  });
  // The trees name objects that do not exist: nothing for fsck.
  afterAll(() => rm(repo.root, { recursive: true, force: true }));

  const hashObject = (type: string, content: Uint8Array) =>
    gitText(repo.root, ['hash-object', '--literally', '-t', type, '--stdin'], { input: content });

  test('blobs have the ids that git gives them', () => {
    for (const bytes of [Buffer.alloc(0), Buffer.from('x\r\n'), Buffer.from([0, 255, 13]), Buffer.alloc(100_000, 'ä')])
      expect(oidOf(format, 'blob', bytes)).toBe(hashObject('blob', bytes));
  });

  test('trees are sorted like git does, whatever the names and modes', () => {
    const entries = oddEntries(format);
    const input = Buffer.concat(entries.map(toMktreeRow));
    const expected = gitText(repo.root, ['mktree', '-z', '--missing'], { input });
    expect(oidOf(format, 'tree', encodeTree(entries.toReversed()))).toBe(expected);
  });

  test('a tree that was read is rewritten with the same bytes, including names that are not UTF-8', () => {
    const bytes = encodeTree(oddEntries(format));
    const decoded = decodeTree(bytes, format === 'sha1' ? 20 : 32);
    expect(decoded.map(({ mode }) => mode)).toContain('100664');
    expect(encodeTree(decoded)).toEqual(bytes);
  });

  test('a tree that is cut off is damage, not a shorter tree', () => {
    const bytes = encodeTree([entryOf(format, '100644', 'name')]);
    for (const length of [bytes.length - 1, 12, 6])
      expect(() => decodeTree(bytes.subarray(0, length), format === 'sha1' ? 20 : 32)).toThrow(/truncated/);
  });

  test('any trees have the ids by git mktree', () => {
    const name = fc
      .uint8Array({ minLength: 1, maxLength: 6 })
      .map((bytes) => Buffer.from(bytes.map((byte) => (byte === 0 || byte === 0x2f ? 0x2e : byte))));
    const mode = fc.constantFrom('100644', '100755', '120000', '160000', '40000');
    const row = fc.record({ name, mode, digit: fc.constantFrom(...'123456789abcdef') });
    const tree = fc.uniqueArray(row, { minLength: 1, maxLength: 12, selector: (each) => each.name.toString('hex') });
    fc.assert(
      fc.property(fc.array(tree, { minLength: 20, maxLength: 20 }), (trees) => {
        const entries = trees.map((rows) => rows.map((each) => entryOf(format, each.mode, each.name, each.digit)));
        const input = Buffer.concat(
          entries.map((each) => Buffer.concat([...each.map(toMktreeRow), Buffer.from('\0')])),
        );
        const expected = gitText(repo.root, ['mktree', '-z', '--missing', '--batch'], { input }).split('\n');
        expect(entries.map((each) => oidOf(format, 'tree', encodeTree(each)))).toEqual(expected);
      }),
      runs(5),
    );
  });

  test('commits have the ids by git hash-object and git commit-tree', () => {
    const tree = gitText(repo.root, ['mktree'], { input: '' }) as Oid;
    const env = {
      GIT_AUTHOR_NAME: 'Ада Bright',
      GIT_AUTHOR_EMAIL: 'ada@example.org',
      GIT_AUTHOR_DATE: '1769248800 -0330',
      GIT_COMMITTER_NAME: 'Ада Bright',
      GIT_COMMITTER_EMAIL: 'ada@example.org',
      GIT_COMMITTER_DATE: '1769248800 -0330',
    };
    const parents: Oid[] = [];
    for (const message of messages) {
      const commit: Commit = { tree, parents: [...parents], author: zone, committer: zone, message };
      const oid = oidOf(format, 'commit', encodeCommit(commit));
      expect(oid).toBe(hashObject('commit', encodeCommit(commit)));
      expect(decodeCommit(encodeCommit(commit))).toEqual(commit);
      const args = ['commit-tree', tree, ...parents.flatMap((parent) => ['-p', parent])];
      const made = gitText(repo.root, args, { input: message, env });
      if (message === '' || message.endsWith('\n')) expect(oid).toBe(made);
      parents.push(made as Oid);
    }
  });

  test('a signed, merged and re-encoded commit is read without its other headers', () => {
    const tree = '1'.repeat(hexLength[format]);
    const parent = '2'.repeat(hexLength[format]);
    const text = `tree ${tree}\nparent ${parent}\nauthor A <a> 1 +0000\ncommitter B <b> 2 +0000\nencoding UTF-8\ngpgsig -----BEGIN\n parent no\n \n tree no\n -----END\n\nSubject\n\nparent no\n`;
    expect(decodeCommit(Buffer.from(text))).toEqual({
      tree,
      parents: [parent],
      author: 'A <a> 1 +0000',
      committer: 'B <b> 2 +0000',
      message: 'Subject\n\nparent no\n',
    });
  });
});

test('isomorphic-git on an in-memory file system gives the same ids', async () => {
  const { fs } = memfs();
  const dir = '/repo';
  await isomorphic.init({ fs, dir });
  const bytes = Buffer.from('Käse\r\n\0');
  const blob = await isomorphic.writeBlob({ fs, dir, blob: bytes });
  expect(oidOf('sha1', 'blob', bytes)).toBe(blob);

  const entries = oddEntries('sha1').filter(
    ({ rawName, mode }) => rawName === undefined && mode !== ('100664' as string),
  );
  const rows = entries.map(
    ({ mode, name, oid }) => ({ mode: mode.padStart(6, '0'), path: name, oid, type: typeOf(mode) }) as const,
  );
  const tree = await isomorphic.writeTree({ fs, dir, tree: rows });
  expect(oidOf('sha1', 'tree', encodeTree(entries))).toBe(tree);

  const person = { name: 'Ада Bright', email: 'ada@example.org', timestamp: 1769248800, timezoneOffset: 210 };
  const message = 'Käse 日本 🦊\n\nBody\n';
  const commit: Commit = { tree: tree as Oid, parents: [], author: zone, committer: zone, message };
  for (let generation = 0; generation < 3; generation += 1) {
    const { parents } = commit;
    const oid = await isomorphic.writeCommit({
      fs,
      dir,
      commit: { message, tree, parent: parents, author: person, committer: person },
    });
    expect(oidOf('sha1', 'commit', encodeCommit(commit))).toBe(oid);
    commit.parents = [...parents, oid as Oid];
  }
});

test('git’s hash for a file equals that of a blob with its bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 3000 }), (bytes) => {
      const header = Buffer.from(`blob ${bytes.length}\0`);
      expect(encodeObject('blob', bytes)).toEqual(Buffer.concat([header, bytes]));
    }),
    runs(100),
  );
  expect(gitBytes('.', ['hash-object', '--stdin'], { input: 'x' }).toString('utf8').trim()).toBe(
    oidOf('sha1', 'blob', Buffer.from('x')),
  );
});
