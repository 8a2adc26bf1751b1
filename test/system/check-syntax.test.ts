import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RepoPath } from '../../src/names.ts';
import { syntaxChecker } from '../../src/system/writes/check-syntax.ts';
import { runs } from '../support/runs.ts';

const check = (path: string, text: string) => syntaxChecker().check(path as RepoPath, text);

async function placesOf(path: string, text: string): Promise<string[]> {
  const verdict = await check(path, text);
  if (!Array.isArray(verdict)) throw new Error(`${path} was not checked.`);
  return verdict.map(({ line, column }) => `${line}:${column}`);
}

describe('syntax', () => {
  test.each([
    ['a.json', '{\n  "a": [1, -2.5e3, "\\u00e9", true, null]\n}\n'],
    ['tsconfig.json', '// options\n{ "a": 1, /* b */ "b": [1,], }\n'],
    ['.vscode/settings.json', '{ "a": 1, } // end'],
    ['a.jsonc', '{}'],
    ['a.jsonl', '{"a":1}\n\n[2]\r\n"x"'],
    ['a.yaml', 'a: 1\n---\nb: !Ref C\nc: !Sub "x"\nd: &x 1\ne: *x\nf:\n  <<: {a: 1}\n'],
    ['chart.yml', '{{- if .Values.a }}\na: 1\n{{- end }}\n'],
    ['a.toml', '[a]\nb = 1979-05-27T07:32:00Z\n[[c]]\nd = "x"\n'],
    ['a.js', 'const a = <p>{b}</p>;\nexport default a;\n'],
    ['a.js', '#!/usr/bin/env node\nreturn require("x");\n'],
    ['a.cjs', 'with (a) b();\nreturn;\n'],
    ['a.mjs', 'await import("x");\n'],
    ['a.ts', 'const a = <T,>(x: T): x is T & {} => true;\nenum E { A }\nexport type { T } from "x";\n'],
    ['a.tsx', 'export const A = () => <B<string> c={d as string} />;\n'],
    ['a.d.ts', 'declare module "x" {\n  export function f(): void;\n}\n'],
    ['a.mts', 'using x = y();\n'],
  ])('passes for %s: %j', async (path, text) => {
    const verdict = await check(path, text);
    expect(verdict === null || 'skipped' in verdict ? [] : verdict).toEqual([]);
  });

  test.each([
    ['a.json', '{\n  "a": 1,\n}\n', '3:1', 'Property name expected.'],
    ['a.json', '{\n  "a": 1\n  "b": 2\n}\n', '3:3', 'Comma expected.'],
    ['a.json', '[1, 2,]', '1:7', 'Value expected.'],
    ['a.json', '{"a": "b\n"}', '1:7', 'Unexpected end of string.'],
    ['a.json', '{"a": [1', '1:9', 'Close bracket expected.'],
    ['a.json', '// a\n{}', '1:1', 'Invalid comment token.'],
    ['a.json', '[01]', '1:3', 'Comma expected.'],
    ['a.json', '["\\x"]', '1:2', 'Invalid escape character.'],
    ['a.json', '{}\n{}', '2:1', 'End of file expected.'],
    ['a.json', '{a: 1}', '1:2', 'Invalid symbol.'],
    ['a.json', '{"a" 1}', '1:6', 'Colon expected.'],
    ['a.json', ' \n', '2:1', 'Value expected.'],
    ['a.jsonc', '{ /* a }', '1:3', 'Unexpected end of comment.'],
    ['a.jsonc', '{ "a": 1 "b": 2 }', '1:10', 'Comma expected.'],
    ['a.ndjson', '{"a":1}\n{"a":\n3\n', '2:6', 'Value expected.'],
    ['a.toml', 'a = 1\nb = \n', '2:5', null],
    ['a.js', 'const a = 1;\nconst b = ;\n', '2:11', null],
    ['a.ts', 'type A = {\n  b: string\n', '3:1', null],
    ['a.tsx', 'const a = (\n  <p>\n);\n', '2:6', null],
    ['a.mjs', 'return 1;\n', '1:1', null],
  ])('fails for %s: %j', async (path, text, place, message) => {
    const verdict = await check(path, text);
    if (!Array.isArray(verdict)) throw new Error('It was not checked.');
    expect(verdict[0] && `${verdict[0].line}:${verdict[0].column}`).toBe(place);
    expect(verdict[0]?.message).toMatch(/^[^a-z].*[.!?]$/s);
    if (message !== null) expect(verdict.map((finding) => finding.message)).toEqual([message]);
  });

  test('has a place for every error in a YAML file', async () => {
    expect(await placesOf('a.yaml', 'a: 1\na: 2\nb: [1\nc: 3\n')).toEqual(['2:1', '4:1']);
  });

  test('counts columns in characters, not bytes', async () => {
    expect(await placesOf('a.ts', 'const grüße = "世界"; const = 1;\n')).toEqual(['1:27']);
  });

  test('allows a byte order mark', async () => {
    for (const [path, text] of [
      ['a.json', '{}'],
      ['a.toml', 'a = 1'],
    ] as const) {
      expect(await check(path, `\uFEFF${text}`)).toEqual([]);
    }
  });

  test.each([
    ['a.html', '<p>', 'HTML is not parsed'],
    ['a.scss', 'a {', 'no parser is available for it'],
    ['a.css', 'a {', 'no parser is available for it'],
    ['a.svg', '<svg>', 'no parser is available for it'],
    ['a.js', '// @flow\nconst a: ?string = 1;', 'Flow is not parsed'],
    ['a.yaml', `- ${'a'.repeat(1024 * 1024)}`, 'YAML of over 1 MiB is not parsed'],
  ])('skips %s with a reason', async (path, text, skipped) => {
    expect(await check(path, text)).toEqual({ skipped });
  });

  test('ignores files with other names', async () => {
    expect(await check('a.txt', '{')).toBeNull();
    expect(await check('Makefile', '{')).toBeNull();
    expect(await check('a.constructor', '{')).toBeNull();
  });
});

describe('nesting that is too deep', () => {
  const deep = (open: string, close: string, depth = 200_000) => open.repeat(depth) + close.repeat(depth);

  test('ends only the check of one file', async () => {
    const texts = [
      ['a.json', deep('[', ']')],
      ['a.jsonl', `1\n${'['.repeat(200_000)}\n`],
      ['a.yaml', deep('[', ']', 5000)],
      ['a.yaml', '- '.repeat(5000)],
      ['a.toml', `a = ${deep('[', ']')}`],
      ['a.ts', deep('[', ']')],
      ['a.ts', `x = ${'1+'.repeat(1_000_000)}1`],
    ] as const;
    for (const [path, text] of texts)
      expect(await check(path, text)).toEqual({ skipped: expect.stringMatching(/too deeply/) });
  });

  test('in one YAML file after another does not end the process', async () => {
    for (const part of ['[', '- ', '? ', '['])
      expect(await check('a.yaml', part.repeat(100_000))).toEqual({ skipped: 'it is nested too deeply' });
  });

  test('leaves JavaScript unchecked, which is reported', async () => {
    expect(await check('a.js', deep('[', ']'))).toEqual({ skipped: 'the parser gave up: it is nested too deeply' });
  });

  test('does not arise from aliases that multiply, which are not followed', async () => {
    const lines = Array.from({ length: 30 }, (_, at) => `a${at + 1}: &a${at + 1} [*a${at}, *a${at}, *a${at}]`);
    expect(await check('a.yaml', `a0: &a0 x\n${lines.join('\n')}\n`)).toEqual([]);
  });
});

describe('JSON', () => {
  const isJson = (text: string) => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  const pieces = fc
    .array(
      fc.constantFrom(...'{}[],:"\\ \n\t-+.eE0123456789ab/*'.split(''), 'true', 'null', '"a"', '"a":', '\\u00e9'),
      {
        maxLength: 12,
      },
    )
    .map((parts) => parts.join(''));

  test('accepts the engine’s output', async () => {
    await fc.assert(
      fc.asyncProperty(fc.json(), fc.boolean(), async (text, isWide) => {
        const written = isWide ? JSON.stringify(JSON.parse(text), null, 2) : text;
        expect(await check('a.json', written)).toEqual([]);
      }),
      runs(100),
    );
  });

  test('agrees with the engine about validity', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          pieces,
          fc.string(),
          fc.json().map((text) => text.slice(1)),
        ),
        async (text) => {
          expect((await placesOf('a.json', text)).length === 0).toBe(isJson(text));
        },
      ),
      runs(4000),
    );
  });

  test('points into the text', async () => {
    await fc.assert(
      fc.asyncProperty(pieces, fc.constantFrom('a.json', 'a.jsonc', 'a.jsonl'), async (text, path) => {
        for (const place of await placesOf(path, text)) {
          const [line = 0, column = 0] = place.split(':').map(Number);
          expect(column).toBeLessThanOrEqual((text.split('\n')[line - 1]?.length ?? -1) + 1);
        }
      }),
      runs(3000),
    );
  });
});
