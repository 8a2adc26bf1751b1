import fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { TreeFile } from '../../src/ports/git.ts';
import { resolveContext } from '../../src/session/context/context.ts';
import { readIgnoreFiles } from '../../src/session/paths/ignore-rules.ts';
import type { Oid, RepoPath } from '../../src/names.ts';
import { isSecretName } from '../../src/session/masks/secret-names.ts';
import { expectGrowth, expectLinear } from '../support/growth.ts';
import { runs } from '../support/runs.ts';
import { propertyTest, quickTest as test, slowTest } from '../support/slow-test.ts';

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

interface Lists {
  global?: string;
  session?: string;
  turn?: string[];
}

function resolve(lists: Lists, { files = tree, ignore = '' }: { files?: TreeFile[]; ignore?: string } = {}) {
  const isIgnored = readIgnoreFiles([{ directory: '', text: ignore }]);
  return resolveContext({ global: '', session: '', turn: [], ...lists }, files, { root: '/project', isIgnored });
}

/** Lists the files in the tree, then the missing ones, in parentheses. */
async function shown(...args: Parameters<typeof resolve>): Promise<string[]> {
  const { files } = await resolve(...args);
  return files.map(({ path, source }) => (source.kind === 'absent' ? `(${path})` : path));
}

async function leftOut(...args: Parameters<typeof resolve>): Promise<[string, string][]> {
  return (await resolve(...args)).leftOut.map(({ path, reason }) => [path, reason]);
}

describe('the cascade', () => {
  test('lists paths in the order in which the levels name them, each once', async () => {
    const levels = { global: 'README.md\n', session: 'src/main.ts\nREADME.md\n', turn: ['src/app.ts', 'README.md'] };
    expect(await shown(levels)).toEqual(['README.md', 'src/main.ts', 'src/app.ts']);
  });

  test('adds everything below a directory, and only that', async () => {
    expect(await shown({ session: 'docs' })).toEqual(['docs/a.md', 'docs/deep/b.md']);
    expect(await shown({ session: 'docs/' })).toEqual(['docs/a.md', 'docs/deep/b.md']);
  });

  test('finds files in a tree with any order and any names', async () => {
    const names = ['z', 'a/\u{1F600}', 'a/\uFFFD', 'a.b', 'a/b', 'a0', 'a'];
    const files = names.map((path) => ({
      path: path as RepoPath,
      mode: '100644' as const,
      oid: 'a'.repeat(40) as Oid,
    }));
    expect((await shown({ session: 'a/' }, { files: files.slice(0, 6) })).toSorted()).toEqual(
      ['a/b', 'a/\u{1F600}', 'a/\uFFFD'].toSorted(),
    );
    for (const { path } of files) expect(await shown({ session: path }, { files })).toEqual([path]);
  });

  test.each(['.', './', '/', '/project'])("reads %s as the whole project, without teddy's own files", async (line) => {
    expect(await shown({ session: line })).toEqual(
      tree.map(({ path }) => path).filter((path) => !path.startsWith('.teddy/')),
    );
    expect(await leftOut({ session: line })).toEqual([]);
  });

  test('ignores comments, empty lines, CRLF and white space', async () => {
    const session = '# all of it\r\n\r\n  src/app.ts   # the app\r\nmy notes.txt\r\n';
    expect(await resolve({ session })).toMatchObject({ leftOut: [], notes: [] });
    expect(await shown({ session })).toEqual(['src/app.ts', 'my notes.txt']);
  });

  test('records the line that brought in each file', async () => {
    const { files } = await resolve({
      global: '\nREADME.md',
      session: 'docs/ # all',
      turn: ['README.md', 'src/app.ts'],
    });
    expect(files.map(({ path, place }) => [path, place])).toEqual([
      ['README.md', { level: 'global', line: 2, text: 'README.md' }],
      ['docs/a.md', { level: 'session', line: 1, text: 'docs/ # all' }],
      ['docs/deep/b.md', { level: 'session', line: 1, text: 'docs/ # all' }],
      ['src/app.ts', { level: 'turn', line: 2, text: 'src/app.ts' }],
    ]);
  });

  test.each([
    { global: 'docs/', session: 'docs/a.md' },
    { global: 'docs/a.md', session: 'docs/' },
    { session: 'docs/\ndocs/a.md', turn: ['docs/a.md'] },
  ])('counts a file as named individually only by its own line: %j', async (levels) => {
    const { files } = await resolve(levels);
    expect(files.map(({ path, aloneBy }) => [path, aloneBy])).toEqual([
      ['docs/a.md', 'user'],
      ['docs/deep/b.md', null],
    ]);
  });

  test('counts a file that only the turn names individually as named by the model', async () => {
    const { files } = await resolve({ session: 'docs/', turn: ['docs/a.md', 'README.md'] });
    expect(files.map(({ aloneBy, isUsers }) => [aloneBy, isUsers])).toEqual([
      ['model', true],
      [null, true],
      ['model', false],
    ]);
  });

  test('keeps the place of a missing file, which can be excluded', async () => {
    expect(await shown({ global: 'gone.ts\nREADME.md', turn: ['lib/gone.ts'] })).toEqual([
      '(gone.ts)',
      'README.md',
      '(lib/gone.ts)',
    ]);
    expect(await shown({ global: 'gone.ts\nlib/gone.ts', session: '!gone.ts\n!lib/' })).toEqual([]);
    expect(await shown({ global: 'lib/gone.ts', session: '!*.ts' })).toEqual([]);
  });
});

describe('excluding', () => {
  test('a lower level excludes files, directories and patterns from an upper one', async () => {
    const global = 'docs/\nsrc/app.ts\nsrc/main.ts\nREADME.md';
    expect(await shown({ global, session: '!docs/deep/\n!src/m*' })).toEqual(['docs/a.md', 'src/app.ts', 'README.md']);
    expect(await shown({ global, turn: ['!docs', '!src/app.ts'] })).toEqual(['src/main.ts', 'README.md']);
  });

  test('a later line by the user wins, and brings the path back', async () => {
    expect(await shown({ global: 'README.md\nsrc/app.ts\n!README.md', session: 'README.md' })).toEqual([
      'src/app.ts',
      'README.md',
    ]);
    expect(await shown({ turn: ['src/app.ts', '!src/', 'src/app.ts'] })).toEqual(['src/app.ts']);
  });

  test.each(['!src/app.ts', '!src/', '!*.ts', '!src/a*', '!.'])(
    "an exclusion by the user with %s cannot be undone by a model's list",
    async (line) => {
      for (const turn of [['src/app.ts'], ['src/'], ['**/*.ts'], ['!src/', 'src/app.ts']]) {
        for (const lists of [{ session: line }, { global: `src/app.ts\n${line}` }]) {
          const { files, leftOut: out } = await resolve({ ...lists, turn });
          expect(files.map(({ path }) => path)).not.toContain('src/app.ts');
          expect(out).toContainEqual(
            expect.objectContaining({ path: 'src/app.ts', reason: expect.stringContaining(`(${line}) takes it away`) }),
          );
        }
      }
      expect(await shown({ global: line, session: 'src/app.ts', turn: ['src/app.ts'] })).toEqual(['src/app.ts']);
    },
  );

  test('an exclusion by the user before the file exists also applies to a model', async () => {
    expect(await shown({ session: '!build/', turn: ['build/x.js', 'build'] })).toEqual([]);
  });

  test('every excluded file is recorded with both lines', async () => {
    const { takenAway } = await resolve({ global: 'docs/', session: '!docs/deep/', turn: ['!docs/a.md'] });
    expect(takenAway).toEqual([
      {
        path: 'docs/deep/b.md',
        place: { level: 'global', line: 1, text: 'docs/' },
        by: { level: 'session', line: 1, text: '!docs/deep/' },
      },
      expect.objectContaining({ path: 'docs/a.md', by: { level: 'turn', line: 1, text: '!docs/a.md' } }),
    ]);
    expect((await resolve({ global: 'README.md\n!README.md\nREADME.md' })).takenAway).toEqual([]);
  });

  test("excluding a missing path is reported only for the user's lists", async () => {
    const { notes } = await resolve({ session: 'README.md\n!gone/\n!*.gone\n!docs/', turn: ['!other/'] });
    expect(notes).toEqual([
      'session.context, line 2: !gone/ removes nothing.',
      'session.context, line 3: !*.gone removes nothing.',
    ]);
  });
});

describe('ways to write a path', () => {
  test('brackets in a name that exists are not a pattern', async () => {
    expect(await shown({ turn: ['app/[id]/page.tsx', 'app/[id]/'] })).toEqual(['app/[id]/page.tsx']);
  });

  test.each([
    ['/src/app.ts', 'src/app.ts'],
    ['./src/../src/app.ts', 'src/app.ts'],
    ['/project/src/app.ts', 'src/app.ts'],
    ['`src/app.ts`', 'src/app.ts'],
    ['[the app](/src/app.ts)', 'src/app.ts'],
    ['"my notes.txt"', 'my notes.txt'],
  ])('%s names %s', async (line, path) => {
    expect(await shown({ turn: [line] })).toEqual([path]);
  });

  test('an https line names a page, in one spelling; any other URL is left out with its reason', async () => {
    const { files } = await resolve({ turn: ['https://EXAMPLE.com/a*b#part', '"https://example.com/x y"'] });
    expect(files.map(({ path, source }) => [path, source])).toEqual([
      ['https://EXAMPLE.com/a*b#part', { kind: 'page', page: 'https://example.com/a*b' }],
      ['https://example.com/x y', { kind: 'page', page: 'https://example.com/x%20y' }],
    ]);
    for (const url of ['http://example.com/', 'https://169.254.169.254/', 'file:///etc/passwd', 'https://a:b@c.com']) {
      expect(await leftOut({ session: url, turn: [url] })).toHaveLength(2);
      expect(await shown({ session: url, turn: [url] })).toEqual([]);
    }
    expect(await shown({ session: 'https://example.com/', turn: ['!https://example.com/'] })).toEqual([]);
  });
});

describe('patterns', () => {
  const files = treeOf(
    '.hidden/x.ts',
    'a(b)/c.ts',
    'app.ts',
    'build1/out/x.js',
    'docs/a.md',
    'docs/deep/b.md',
    'lib/app.ts',
    'lib/app.tsx',
    'lib/build1/y.js',
    'lib/[x].ts',
    'lib/x.ts',
  );

  test.each([
    ['*.md', ['docs/a.md', 'docs/deep/b.md']],
    ['/*.ts', ['app.ts']],
    ['docs/*.md', ['docs/a.md']],
    ['docs/*', ['docs/a.md']],
    ['docs/**', ['docs/a.md', 'docs/deep/b.md']],
    ['**/deep/**', ['docs/deep/b.md']],
    ['a?p.ts', ['app.ts', 'lib/app.ts']],
    ['app.{ts,tsx}', ['app.ts', 'lib/app.ts', 'lib/app.tsx']],
    ['lib/[wx].ts', ['lib/x.ts']],
    ['lib/[!a][!p]*', ['lib/[x].ts', 'lib/x.ts']],
    ['lib/[x].ts', ['lib/[x].ts']],
    ['build*/', ['build1/out/x.js', 'lib/build1/y.js']],
    ['/build*/', ['build1/out/x.js']],
    ['x.*', ['.hidden/x.ts', 'build1/out/x.js', 'lib/x.ts']],
    ['.hidden/*', ['.hidden/x.ts']],
    ['a(b)/*.ts', ['a(b)/c.ts']],
    ['/project/lib/*.tsx', ['lib/app.tsx']],
    ['./docs/*.md', ['docs/a.md']],
  ])('%s is %j', async (pattern, expected) => {
    expect((await shown({ session: pattern }, { files })).toSorted()).toEqual(expected.toSorted());
  });

  test('characters of other languages match themselves', async () => {
    for (const pattern of ['(a|aa)+*', '+(a)*', '@(app).*', '!(app).*', 'app.ts$*']) {
      expect(await shown({ session: 'README.md', turn: [pattern.replace(/^!/, '"x"')] }, { files })).not.toContain(
        'app.ts',
      );
    }
  });

  test('a pattern without matches names itself, in case that is a file', async () => {
    expect(await shown({ session: '*.py' })).toEqual(['(*.py)']);
  });

  slowTest("the number of directory searches for a model's list is limited", async () => {
    const files = treeOf(...Array.from({ length: 1000 }, (_, at) => `src/${at}.ts`));
    const turn = Array.from({ length: 150 }, (_, at) => `src/${'./'.repeat(at)}`);
    expect((await shown({ turn }, { files })).length).toBe(1000);
    const refused = await leftOut({ turn }, { files });
    expect(refused.length).toBe(49);
    expect(refused[0]).toEqual([turn[101], expect.stringContaining('too often')]);
    expect(await leftOut({ session: turn.join('\n') }, { files })).toEqual([]);
  });

  slowTest('a list with as many files as the project is read in linear time', async () => {
    const filesOf = (count: number) => treeOf(...Array.from({ length: count }, (_, at) => `src/${at}.ts`));
    await expectLinear(30_000, filesOf, async (files) => {
      const turn = files.map(({ path }) => path);
      expect((await shown({ global: 'README.md', turn }, { files })).length).toBe(files.length + 1);
    });
  });

  test('a pattern with too many wildcards is left out, and so are too many patterns', async () => {
    expect(await leftOut({ turn: ['*a*a*a*a*a*a*a*b'] })).toEqual([
      ['*a*a*a*a*a*a*a*b', expect.stringContaining('too many wildcards')],
    ]);
    const out = await leftOut({ turn: Array.from({ length: 102 }, (_, at) => `x${at}*`) });
    expect(out).toEqual([
      ['x100*', expect.stringContaining('more than 100 patterns')],
      ['x101*', expect.stringContaining('more than 100 patterns')],
    ]);
    // Three wildcards take at most cubic time in the length of a name.
    await expectGrowth(
      248,
      (length) => treeOf('a'.repeat(length), `x/${'a'.repeat(length)}`),
      (files) => shown({ turn: ['*a*a*b'] }, { files }),
      { parts: 4, times: 2 * 4 ** 2 },
    );
  });
});

describe('.teddyignore', () => {
  const ignore = 'docs/deep\n*.tsx\n';

  test('filters directories and patterns on every level, silently', async () => {
    for (const lists of [{ session: 'docs/\napp/\n*.md' }, { turn: ['docs/', 'app/', '*.md'] }]) {
      const { files, leftOut: out } = await resolve(lists, { ignore });
      expect(files.map(({ path }) => path)).toEqual(['docs/a.md', 'README.md', 'docs.md']);
      expect(out.every(({ isQuiet }) => isQuiet)).toBe(true);
      expect(out.map(({ path }) => path)).toContain('docs/deep/b.md');
    }
  });

  test('does not filter files that the user names individually, and a model may then name them as well', async () => {
    expect(await shown({ session: 'docs/deep/b.md', turn: ['docs/deep/b.md'] }, { ignore })).toEqual([
      'docs/deep/b.md',
    ]);
    expect(await leftOut({ session: 'docs/\ndocs/deep/b.md' }, { ignore })).toEqual([]);
  });

  test('refuses a path to a model, whether it exists or not', async () => {
    expect(await leftOut({ turn: ['docs/deep/b.md', 'new.tsx'] }, { ignore })).toEqual([
      ['docs/deep/b.md', expect.stringContaining('.teddyignore leaves it out')],
      ['new.tsx', expect.stringContaining('.teddyignore leaves it out')],
    ]);
  });
});

describe('containment', () => {
  test.each([
    '../other/file',
    'src/../../x',
    '.git/config',
    '.GIT/config',
    '.git/*',
    '../*.ts',
    '**/.git/**',
    '/../etc/*',
    '.teddy/memos.yaml',
    '.teddy/*',
    '.teddy',
    'C:\\x',
    'C:\\*',
    '//host/share',
    '""',
    '~/../../.ssh/id_rsa',
  ])('%s is left out with a reason at every level', async (line) => {
    for (const levels of [{ global: line }, { session: line }, { turn: [line] }]) {
      const { files, leftOut: out } = await resolve(levels);
      expect(files).toEqual([]);
      expect(out).toEqual([
        expect.objectContaining({ reason: expect.stringMatching(/\w/), place: expect.objectContaining({ line: 1 }) }),
      ]);
    }
  });

  test.each([
    ['120000' as const, 'symbolic link'],
    ['160000' as const, 'submodule'],
  ])('an entry of mode %s is left out as a %s, by name, in a directory and by a pattern', async (mode, reason) => {
    const files = [...tree, { path: 'src/zlink' as RepoPath, mode, oid: 'b'.repeat(40) as Oid }];
    for (const line of ['src/zlink', 'src/', '*link']) {
      expect(await shown({ session: line }, { files })).not.toContain('src/zlink');
      expect(await leftOut({ session: line }, { files })).toContainEqual([
        'src/zlink',
        expect.stringContaining(reason),
      ]);
    }
  });
});

describe('secrets', () => {
  test("a model's list never brings one in, by name, by directory, by pattern or as missing", async () => {
    const lists = { turn: ['.env', 'src/', '.env.example', 'conf/.env.local', '**/.e*', '*.pem'] };
    expect(await shown(lists)).toEqual(['src/app.ts', 'src/main.ts', '.env.example']);
    const out = await leftOut(lists);
    expect([...new Set(out.map(([path]) => path))]).toEqual(['.env', 'src/server.pem', 'conf/.env.local']);
    for (const [, reason] of out) expect(reason).toContain('named like a secret');
  });

  test("the user's own level brings it in, and a model may then name it, exclude it and name it again", async () => {
    expect(await shown({ session: '.env', turn: ['.env'] })).toEqual(['.env']);
    expect(await shown({ session: '.', turn: ['!.env', '.env'] })).toContain('.env');
    expect(await leftOut({ session: '.env', turn: ['.env'] })).toEqual([]);
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
    '.envrc',
    '.env-prod',
    'a/.env~',
    '.env.',
    '.env ',
    '.env::$DATA',
    '.e\u200cnv',
    '.\u017fsh/config',
    'server.pem.',
  ])('%s is named like a secret', (path) => expect(isSecretName(path as RepoPath)).toBe(true));

  test.each(['.env.example', '.environment', 'env.ts', 'id_rsa.pub', 'keys.ts', 'pem.md', '.envrc.md', 'ssh/config'])(
    '%s is not named like a secret',
    (path) => expect(isSecretName(path as RepoPath)).toBe(false),
  );
});

describe('any lines', () => {
  const odd = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom(...'ab.*?[]{}()!#"/\\ ,|+$^~-'), maxLength: 12 }),
    fc.constantFrom(
      ...tree.map(({ path }) => path),
      'src/',
      'docs',
      '.',
      '*',
      '**',
      '**/*',
      'src/*',
      '!src/',
      '!*',
      '!.',
    ),
    fc.webUrl(),
  );

  slowTest('resolve without failing, show a path once, and show only contained files in the tree', async () => {
    const paths = new Set<string>(tree.map(({ path }) => path));
    await fc.assert(
      fc.asyncProperty(fc.array(odd), fc.array(odd), fc.array(odd), odd, async (global, session, turn, ignore) => {
        const lists = { global: global.join('\n'), session: session.join('\n'), turn };
        const { files, leftOut: out, rules } = await resolve(lists, { ignore });
        expect(new Set(files.map(({ path }) => path)).size).toBe(files.length);
        for (const { path, source } of files) {
          if (source.kind === 'blob') expect(paths).toContain(path);
          if (source.kind !== 'page')
            expect(path).not.toMatch(/^\/|(?:^|\/)\.\.?(?:\/|$)|(?:^|\/)\.git(?:\/|$)|^\.teddy\//);
          expect(out.map((one) => one.path)).not.toContain(path);
        }
        expect(rules.length).toBeLessThanOrEqual(global.length + session.length + turn.length + 200);
      }),
      runs(1000),
    );
  });

  propertyTest('from a model bring in nothing that is named like a secret', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(odd), async (turn) => {
        const { files } = await resolve({ turn });
        for (const { path, source } of files)
          if (source.kind !== 'page') expect(isSecretName(path as RepoPath)).toBe(false);
      }),
      runs(1000),
    );
  });
});
