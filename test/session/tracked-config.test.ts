import { describe, expect, test } from 'vitest';
import { maxTrackedConfigBytes, parseTrackedConfig } from '../../src/session/settings/tracked-config.ts';
import { expectLinear } from '../support/growth.ts';

async function read(text: string) {
  const { values, warnings } = await parseTrackedConfig(text);
  return { values: Object.fromEntries(values), warnings };
}

test('its six settings are read, numbers as they are written', async () => {
  const text =
    '# ours\nmodel: 4.10\nagent: dev\nmaxTurns: 50\nmaxTokens: 1000000\ncontextTokens: 32000\nsnapshot: none\n';
  expect(await read(text)).toEqual({
    values: {
      model: '4.10',
      agent: 'dev',
      maxTurns: '50',
      maxTokens: '1000000',
      contextTokens: '32000',
      snapshot: 'none',
    },
    warnings: [],
  });
  expect(await read('notes: git-ai\n')).toEqual({ values: { notes: 'git-ai' }, warnings: [] });
});

test.each(['', '# nothing\n', '---\n', '{}', 'null'])('%j has no settings', async (text) => {
  expect(await read(text)).toEqual({ values: {}, warnings: [] });
});

test('forbidden settings are named, never with their values, and the rest counts', async () => {
  const names = ['baseUrl', 'OPENAI_API_KEY', 'apiKey', 'provider', 'searchCommand', 'redact', 'timeout', 'recording'];
  const text = `model: m\n${names.map((name) => `${name}: "hidden"\n`).join('')}__proto__: { model: evil }\n`;
  const { values, warnings } = await read(text);
  expect(values).toEqual({ model: 'm' });
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain('cannot set baseUrl, OPENAI_API_KEY, apiKey, provider, searchCommand and 4 more: ');
  expect(warnings[0]).not.toContain('hidden');
});

describe('a value that its setting rejects is left out and reported, and the others count:', () => {
  test.each(['maxTurns: many', 'maxTurns: 0x10', 'maxTurns: [1]', 'maxTurns: {a: 1}', 'maxTurns:', 'maxTurns: &a 5'])(
    '%s',
    async (line) => {
      expect(await read(`${line}\nmodel: m\n`)).toEqual({
        values: { model: 'm' },
        warnings: [expect.stringMatching(/^\.teddy\/config\.yaml: maxTurns is ignored: it takes /)],
      });
    },
  );

  test("no untracked file joins a snapshot at a remote's request", async () => {
    expect(await read('snapshot: all\n')).toEqual({
      values: {},
      warnings: [
        '.teddy/config.yaml: snapshot is ignored: only your own configuration may set that: `git config teddy.snapshot all`.',
      ],
    });
    expect(await read('snapshot: none\n')).toEqual({ values: { snapshot: 'none' }, warnings: [] });
  });

  test('a project chooses the form of commit trailers, but can neither hide who helped nor reveal more', async () => {
    const form = 'generated-by: {tool}, {model} [AI]';
    expect(await read(`assistedBy: "${form}"\n`)).toEqual({ values: { assistedBy: form }, warnings: [] });
    expect(await read('assistedBy: yes\n')).toEqual({ values: { assistedBy: 'true' }, warnings: [] });
    expect(await read('assistedBy: false\n')).toEqual({
      values: {},
      warnings: [
        '.teddy/config.yaml: assistedBy is ignored: only your own configuration may set that: `git config teddy.assistedBy false`.',
      ],
    });
    for (const value of [
      'Approved-by: Ada',
      'Assisted-by: {model} #1',
      'AI-by: GH-1',
      'AI-by: @ada',
      'AI-by: https://{model}',
    ])
      expect(await read(`assistedBy: "${value}"\n`)).toEqual({
        values: {},
        warnings: [
          '.teddy/config.yaml: assistedBy is ignored: in this file it must begin with Assisted-by, Generated-by or AI-, and contain only letters, spaces and -:.,()[] around its placeholders.',
        ],
      });
    expect(await read('assistedByHook: true\n')).toMatchObject({
      values: {},
      warnings: [expect.stringContaining('cannot set assistedByHook: ')],
    });
  });

  test('a name cannot control a terminal', async () => {
    expect(await read('model: "a\\e[2Jb"\nagent: "a\\nb"\n')).toMatchObject({ values: {}, warnings: { length: 2 } });
  });
});

describe('anything but a plain map of names is ignored as a whole and reported:', () => {
  test.each([
    ['a list', '- model: m\n'],
    ['a text', 'model\n'],
    ['broken YAML', 'model: "m\n'],
    ['a name twice', 'model: m\nmodel: n\n'],
    ['two documents', 'model: m\n---\nmodel: n\n'],
    ['an unknown tag', 'model: !evil m\n'],
    ["another language's tag", 'model: !!js/function "function () {}"\n'],
    ['brackets deeper than any stack', `model: ${'['.repeat(maxTrackedConfigBytes - 8)}`],
    ['brackets on separate lines', 'model: \n' + ' [\n'.repeat(4000)],
    ['lists deeper than any stack', '- '.repeat(8000)],
    ['keys deeper than any stack', '? '.repeat(8000)],
    ['tagged lists deeper than any stack', '- !!seq '.repeat(2000)],
  ])('%s', async (_, text) => {
    expect(await read(text)).toEqual({
      values: {},
      warnings: [expect.stringMatching(/^\.teddy\/config\.yaml is ignored: it is (?:no|nested)/)],
    });
  });
});

test('aliases are never followed, so nothing grows', async () => {
  const nested = (depth: number) => {
    const levels = Array.from({ length: depth }, (_, at) => {
      const before = at === 0 ? '"lol"' : `*a${at - 1}`;
      return `a${at}: &a${at} [${Array.from({ length: 9 }, () => before).join(', ')}]\n`;
    });
    return `${levels.join('')}model: *a${depth - 1}\nmaxTurns: 5\n<<: *a${depth - 1}\n`;
  };
  await expectLinear(12, nested, async (text) =>
    expect(await read(text)).toMatchObject({
      values: { maxTurns: '5' },
      warnings: [expect.stringContaining('model is ignored'), expect.stringContaining('cannot set a0')],
    }),
  );
});

test('the files of promise.allow are one pattern or a list, and costly patterns are left out with a warning', async () => {
  const read = (text: string) => parseTrackedConfig(text);
  const one = await read('promise.allow: package-lock.json\n');
  expect([one.warnings, one.allowed.map((matches) => matches('packages/a/package-lock.json'))]).toEqual([[], [true]]);
  const two = await read("promise.allow: [/lock.json, 'dist/**']\n");
  const isAllowed = (path: string) => two.allowed.some((matches) => matches(path));
  expect(['lock.json', 'a/lock.json', 'dist/a/b.js', 'src/dist.js'].map(isAllowed)).toEqual([true, false, true, false]);
  const costly = await read("promise.allow: ['*a*a*a*a', b]\n");
  expect([costly.allowed.length, costly.warnings]).toEqual([
    1,
    [expect.stringMatching(/^\.teddy\/config\.yaml: promise\.allow ignores \*a\*a\*a\*a: it has too many wildcards/)],
  ]);
  for (const text of ['promise.allow: { a: b }\n', 'promise.allow: [[a]]\n', 'promise.allow: []\n'])
    expect([(await read(text)).allowed, (await read(text)).warnings.join()]).toEqual([
      [],
      '.teddy/config.yaml: promise.allow is ignored: it takes a list of paths.',
    ]);
});
