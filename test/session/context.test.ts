import { describe, expect, test } from 'vitest';
import type { TreeFile } from '../../src/ports.ts';
import { resolveContext } from '../../src/session/context.ts';
import type { Oid, RepoPath } from '../../src/session/names.ts';
import { isSecretName } from '../../src/session/secret-names.ts';

function treeOf(...paths: string[]): TreeFile[] {
  return paths.sort().map((path) => ({ path: path as RepoPath, mode: '100644', oid: 'a'.repeat(40) as Oid }));
}

const tree = treeOf(
  '.env',
  '.env.example',
  '.teddy/memos.yaml',
  'README.md',
  'app/[id]/page.tsx',
  'docs/a.md',
  'docs/deep/b.md',
  'docs.md',
  'my notes.txt',
  'src/app.ts',
  'src/main.ts',
  'src/server.pem',
);

function resolve(levels: { global?: string; session?: string; turn?: string[] }, root?: string) {
  return resolveContext({ global: '', session: '', turn: [], ...levels }, tree, root);
}

function shown(levels: Parameters<typeof resolve>[0]): string[] {
  return resolve(levels).files.map(({ path }) => path);
}

describe('the cascade', () => {
  test('paths come in the order in which the levels name them, each once', () => {
    const levels = { global: 'README.md\n', session: 'src/main.ts\nREADME.md\n', turn: ['src/app.ts', 'README.md'] };
    expect(shown(levels)).toEqual(['README.md', 'src/main.ts', 'src/app.ts']);
  });

  test('a directory brings in everything below it, and only that', () => {
    expect(shown({ session: 'docs' })).toEqual(['docs/a.md', 'docs/deep/b.md']);
    expect(shown({ session: 'docs/' })).toEqual(['docs/a.md', 'docs/deep/b.md']);
  });

  test.each(['.', './', '/', '/project'])('%s is the whole project, without what teddy keeps itself', (line) => {
    const context = resolve({ session: line }, '/project');
    expect(context.files.map(({ path }) => path)).toEqual(
      tree.map(({ path }) => path).filter((path) => !path.startsWith('.teddy/')),
    );
    expect(context.leftOut).toEqual([]);
  });

  test('comments, empty lines, CRLF and white space name nothing', () => {
    const session = '# all of it\r\n\r\n  src/app.ts   # the app\r\nmy notes.txt\r\n';
    expect(resolve({ session })).toMatchObject({ missing: [], leftOut: [], notes: [] });
    expect(shown({ session })).toEqual(['src/app.ts', 'my notes.txt']);
  });

  test('a lower level takes away what an upper one gave', () => {
    expect(shown({ global: 'docs/\nsrc/app.ts', session: '!docs/deep/\n!src/app.ts' })).toEqual(['docs/a.md']);
  });

  test('a later line wins, and names the path anew', () => {
    expect(shown({ global: 'README.md\nsrc/app.ts\n!README.md', turn: ['README.md'] })).toEqual([
      'src/app.ts',
      'README.md',
    ]);
  });

  test('taking away what is not there is said', () => {
    expect(resolve({ session: 'README.md\n!docs/' }).notes).toEqual([
      'session.context, line 2: !docs/ takes nothing away.',
    ]);
  });

  test('a file that the tree does not have is missing, not an error, and can be taken away', () => {
    expect(resolve({ global: 'gone.ts\nlib/gone.ts', turn: ['also/gone.ts'] }).missing).toEqual([
      'gone.ts',
      'lib/gone.ts',
      'also/gone.ts',
    ]);
    expect(resolve({ global: 'gone.ts', session: '!gone.ts' })).toMatchObject({ missing: [], notes: [] });
  });

  test.each([
    { global: 'docs/', session: 'docs/a.md' },
    { global: 'docs/a.md', session: 'docs/' },
  ])('a file is named alone only by a line of its own: %j', (levels) => {
    const { files } = resolve(levels);
    expect(files.map(({ path, alone }) => [path, alone])).toEqual([
      ['docs/a.md', true],
      ['docs/deep/b.md', false],
    ]);
  });
});

describe('ways to write a path', () => {
  test('brackets in a name that exists are not a pattern', () => {
    expect(shown({ turn: ['app/[id]/page.tsx', 'app/[id]/'] })).toEqual(['app/[id]/page.tsx']);
  });

  test.each([
    ['/src/app.ts', 'src/app.ts'],
    ['./src/../src/app.ts', 'src/app.ts'],
    ['/project/src/app.ts', 'src/app.ts'],
    ['`src/app.ts`', 'src/app.ts'],
    ['[the app](/src/app.ts)', 'src/app.ts'],
    ['"my notes.txt"', 'my notes.txt'],
  ])('%s names %s', (line, path) => {
    expect(resolve({ turn: [line] }, '/project').files.map((file) => file.path)).toEqual([path]);
  });

  test.each(['src/*.ts', '**/docs/**', 'src/[ab].ts', 'src/?.ts', '!docs/*'])(
    '%s is a glob: not supported yet, and left out',
    (line) => {
      const { files, leftOut } = resolve({ session: `README.md\n${line}` });
      expect(files).toHaveLength(1);
      expect(leftOut).toEqual([{ path: line, reason: 'globs are not supported yet', level: 'session', line: 2 }]);
    },
  );

  test('a URL is not supported yet, and left out', () => {
    expect(resolve({ turn: ['https://example.com/a*b'] }).leftOut[0]?.reason).toBe('URLs are not supported yet');
  });
});

describe('containment', () => {
  test.each([
    '../other/file',
    'src/../../x',
    '.git/config',
    '.GIT/config',
    '.teddy/memos.yaml',
    '.teddy',
    'C:\\x',
    '//host/share',
    '""',
  ])('%s is left out with a reason at every level', (line) => {
    for (const levels of [{ global: line }, { session: line }, { turn: [line] }]) {
      const { files, missing, leftOut } = resolve(levels);
      expect({ files, missing }).toEqual({ files: [], missing: [] });
      expect(leftOut).toEqual([expect.objectContaining({ line: 1, reason: expect.stringMatching(/\w/) })]);
    }
  });

  test('a symbolic link is left out, also in a directory', () => {
    const linked = [...tree, { path: 'src/zlink' as RepoPath, mode: '120000' as const, oid: 'b'.repeat(40) as Oid }];
    const { files, leftOut } = resolveContext({ global: '', session: 'src/', turn: [] }, linked);
    expect(files.map(({ path }) => path)).not.toContain('src/zlink');
    expect(leftOut).toEqual([
      expect.objectContaining({ path: 'src/zlink', reason: expect.stringContaining('symbolic link') }),
    ]);
  });
});

describe('secrets', () => {
  test('a list of a model never brings one in, by name, by directory or as missing', () => {
    const { files, missing, leftOut } = resolve({ turn: ['.env', 'src/', '.env.example', 'conf/.env.local'] });
    expect(files.map(({ path }) => path)).toEqual(['src/app.ts', 'src/main.ts', '.env.example']);
    expect(missing).toEqual([]);
    expect(leftOut.map(({ path }) => path)).toEqual(['.env', 'src/server.pem', 'conf/.env.local']);
    expect(leftOut[0]?.reason).toContain('named like a secret');
  });

  test("the user's own level brings it in, and a model may then name it as well", () => {
    const { files, leftOut } = resolve({ session: '.env', turn: ['.env'] });
    expect(files.map(({ path }) => path)).toEqual(['.env']);
    expect(leftOut).toEqual([]);
  });

  test.each([
    '.env',
    'a/.env.local',
    '.ENV.production',
    'prod.env',
    'x.pem',
    'x.KEY',
    'id_rsa',
    '.npmrc',
    '.netrc',
    '.ssh/config',
  ])('%s is named like a secret', (path) => expect(isSecretName(path as RepoPath)).toBe(true));

  test.each(['.env.example', 'env.ts', 'id_rsa.pub', 'keys.ts', 'pem.md', '.envrc.md', 'ssh/config'])(
    '%s is not named like a secret',
    (path) => expect(isSecretName(path as RepoPath)).toBe(false),
  );
});
