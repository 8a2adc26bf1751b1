/** Holds the layout, the direction of imports and the rules of the house. `src/README.md` explains them. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = new URL('..', import.meta.url).pathname;
const core = ['session', 'plan', 'conversation', 'write'];
const roots = ['main', 'index', 'app', 'ports', 'errors'];

/** Room -> the rooms that it may import from. `app` alone builds adapters; `cli` reaches them through it. */
const mayImport: Record<string, string[]> = {
  main: ['cli', 'errors'],
  index: ['app', 'errors', 'ports', 'workflow', ...core],
  app: ['ports', 'errors', 'git', 'model', 'system', ...core],
  ports: core,
  errors: [],
  cli: ['app', 'ports', 'errors', 'workflow', 'http', ...core],
  http: ['app', 'ports', 'errors', 'workflow', ...core],
  workflow: ['ports', 'errors', ...core],
  session: ['errors', 'ports', 'plan', 'conversation', 'write'],
  plan: ['errors', 'ports', 'session'],
  conversation: ['errors', 'ports', 'session', 'write'],
  write: ['errors', 'ports', 'session'],
  git: ['ports', 'errors', ...core],
  model: ['ports', 'errors', ...core],
  system: ['ports', 'errors', ...core],
};

const packageHomes: Record<string, string[]> = {
  clipanion: ['cli'],
  typanion: ['cli'],
  openai: ['model'],
  hono: ['http'],
  '@hono/node-server': ['http'],
  '@hono/zod-openapi': ['http'],
  yaml: ['session', 'plan', 'conversation', 'write', 'cli', 'system'],
  'smol-toml': ['system'],
  'css-tree': ['system'],
  '@rgrove/parse-xml': ['system'],
  'oxc-parser': ['system'],
  zod: ['session', 'plan', 'conversation', 'write', 'git', 'model', 'system', 'http'],
  // Pure: patterns in, a decision out.
  picomatch: ['session'],
  ignore: ['session'],
  '@secretlint/secretlint-rule-preset-recommend': ['system'],
  diff: ['session', 'plan', 'conversation', 'write', 'cli'],
};

interface SourceFile {
  path: string;
  room: string;
  text: string;
  imports: { target: string; typeOnly: boolean }[];
}

function filesBelow(dir: string): string[] {
  return readdirSync(dir).flatMap((name) => {
    const path = join(dir, name);
    return statSync(path).isDirectory() ? filesBelow(path) : [path];
  });
}

function roomOf(path: string): string {
  const inside = relative(join(root, 'src'), path);
  return inside.includes('/') ? inside.slice(0, inside.indexOf('/')) : inside.replace(/\.ts$/, '');
}

function importsOf(text: string): SourceFile['imports'] {
  const statements = text.matchAll(/^(?:import|export)\s+(type\s)?[^;'"]*?from\s+'([^']+)'|^import\s+'([^']+)'/gm);
  const dynamic = text.matchAll(/\bimport\(\s*'([^']+)'\s*\)/g);
  return [
    ...[...statements].map((m) => ({ target: m[2] ?? m[3] ?? '', typeOnly: m[1] !== undefined })),
    ...[...dynamic].map((m) => ({ target: m[1] ?? '', typeOnly: false })),
  ];
}

const sources: SourceFile[] = filesBelow(join(root, 'src'))
  .filter((path) => path.endsWith('.ts'))
  .map((path) => {
    const text = readFileSync(path, 'utf8');
    return { path, room: roomOf(path), text, imports: importsOf(text) };
  });

/** Where a file of the tests reads a clock to measure with, or expects less or more of a time. */
function findTimings(path: string, text: string): string[] {
  const clocks = path.endsWith('.test.ts') ? text.matchAll(/\b(?:performance\.now|hrtime|cpuUsage)\b/g) : [];
  const comparisons = text.matchAll(/\bexpect\((?:(?!;\n)[^])*?\.toBe(?:Less|Greater)Than(?:OrEqual)?\([^;]*\);/g);
  const times = /\bDate\.now\b|\w+Ms\b|\bms\b|\b(?:elapsed|duration|seconds|took)\w*/i;
  return [
    ...[...clocks].map(([found]) => found),
    ...[...comparisons].map(([found]) => found).filter((c) => times.test(c)),
  ];
}

const name = (file: SourceFile) => relative(root, file.path);

function violations(check: (file: SourceFile) => string[]): string[] {
  return sources.flatMap((file) => check(file).map((what) => `${name(file)}: ${what}`));
}

describe('architecture', () => {
  test('src holds only the rooms of the tour', () => {
    const rooms = new Set(sources.map((file) => file.room));
    expect([...rooms].filter((room) => !(room in mayImport))).toEqual([]);
  });

  test('imports go in one direction', () => {
    const wrong = violations((file) =>
      file.imports
        .filter(({ target }) => target.startsWith('.'))
        .map(({ target }) => ({ target, to: roomOf(join(file.path, '..', target)) }))
        .filter(
          ({ target, to }) =>
            !target.endsWith('package.json') && to !== file.room && !mayImport[file.room]?.includes(to),
        )
        .map(({ target }) => `imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test('the core takes only types from the ports', () => {
    const wrong = violations((file) =>
      core.includes(file.room)
        ? file.imports
            .filter((i) => i.target.endsWith('/ports.ts') && !i.typeOnly)
            .map(() => 'imports values from ports')
        : [],
    );
    expect(wrong).toEqual([]);
  });

  test('the core knows no node module, no clock and no randomness', () => {
    const wrong = violations((file) =>
      core.includes(file.room)
        ? [
            ...file.imports.filter((i) => i.target.startsWith('node:')).map((i) => `imports ${i.target}`),
            ...[...file.text.matchAll(/\b(?:Date\.now|new Date\(\)|Math\.random|crypto\.|process\.)/g)].map(
              (m) => m[0],
            ),
          ]
        : [],
    );
    expect(wrong).toEqual([]);
  });

  test('each outside package has one home', () => {
    const wrong = violations((file) =>
      file.imports
        .filter(({ target, typeOnly }) => !target.startsWith('.') && !target.startsWith('node:') && !typeOnly)
        .map(({ target }) =>
          target
            .split('/')
            .slice(0, target.startsWith('@') ? 2 : 1)
            .join('/'),
        )
        .filter((pkg) => !packageHomes[pkg]?.includes(file.room))
        .map((pkg) => `imports ${pkg}`),
    );
    expect(wrong).toEqual([]);
  });

  test('no file of the core is over 250 lines', () => {
    const wrong = violations((file) => {
      const lines = file.text.split('\n').length - 1;
      return core.includes(file.room) && lines > 250 ? [`${lines} lines`] : [];
    });
    expect(wrong).toEqual([]);
  });

  test('only main and cli print or end the process', () => {
    const wrong = violations((file) =>
      file.room === 'main' || file.room === 'cli'
        ? []
        : [...file.text.matchAll(/\bconsole\.|\bprocess\.(?:exit|stdout|stderr)\b/g)].map((m) => m[0]),
    );
    expect(wrong).toEqual([]);
  });

  test('only app builds adapters', () => {
    const adapters = ['git', 'model', 'system'];
    const wrong = violations((file) =>
      file.imports
        .filter(({ target }) => target.startsWith('.'))
        .map(({ target }) => roomOf(join(file.path, '..', target)))
        .filter((to) => adapters.includes(to) && to !== file.room && file.room !== 'app')
        .map((to) => `imports ${to}`),
    );
    expect(wrong).toEqual([]);
  });

  test('no test compares a duration: what is slow is no failure, and times are for the bench', () => {
    const tests = filesBelow(join(root, 'test'))
      .filter((path) => path.endsWith('.ts') && !path.startsWith(join(root, 'test', 'bench')))
      .filter((path) => path !== fileURLToPath(import.meta.url));
    expect(
      tests.flatMap((path) => findTimings(path, readFileSync(path, 'utf8')).map((found) => `${path}: ${found}`)),
    ).toEqual([]);
    for (const timing of [
      'const started = performance.now();',
      'const from = process.cpuUsage();',
      'const from = process.hrtime.bigint();',
      'expect(Date.now() - before).toBeLessThan(1000);',
      'expect(Math.min(...waitsMs)).toBeGreaterThan(150);',
      'expect(\n  result.durationMs,\n).not.toBeGreaterThanOrEqual(5);',
      'expect(ms).toBeLessThan(1);',
      'expect(count).toBeLessThan(elapsed);',
    ])
      expect(findTimings('x.test.ts', timing), timing).toHaveLength(1);
    expect(findTimings('x.test.ts', 'expect(files.length).toBeLessThan(5);\nrun({ waitMs: 5 });')).toEqual([]);
  });

  test('names say what a thing is, and nothing is a default export', () => {
    const wrong = violations((file) => [
      ...(/(?:utils?|helpers?|manager|service|common|misc)\b/.test(name(file)) ? ['its name says nothing'] : []),
      ...(/^export default/m.test(file.text) ? ['has a default export'] : []),
      ...(/^export \* from/m.test(file.text) ? ['is a barrel'] : []),
      ...(file.text.match(/\binterface I[A-Z][a-z]/g) ?? []).map((found) => `has an I prefix: ${found}`),
    ]);
    expect(wrong).toEqual([]);
  });

  test('the top level is fixed', () => {
    const allowed = [
      'package.json',
      'package-lock.json',
      'tsconfig.json',
      'src',
      'test',
      'fixtures',
      'hooks',
      'README.md',
      'LICENSE',
      'docs',
    ];
    const made = ['node_modules', 'dist', 'coverage'];
    const found = readdirSync(root).filter(
      (entry) => !entry.startsWith('.') && !allowed.includes(entry) && !made.includes(entry),
    );
    expect(found).toEqual([]);
    expect(roots.every((file) => sources.some((source) => source.room === file))).toBe(true);
  });
});
