import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { findingsOf, toBytes, validate } from './validation.ts';
import type { Operation } from '../../src/session/settings/write-limits.ts';
import { runs } from '../support/runs.ts';
import { propertyTest, quickTest as test, slowTest } from '../support/slow-test.ts';

describe('validation as a whole', () => {
  test('reports all faults together', async () => {
    const content = 'Here is the file:\n{\n  "a": \x01\n// ... rest of the file unchanged\n}\n';
    expect(await findingsOf('a.json', content)).toEqual([
      'control-characters 3:8',
      'chat 1:1',
      'omission 4:1',
      'syntax 1:1',
    ]);
  });

  test('lists in the summary what passed, failed and was skipped, but only applicable checks', async () => {
    expect((await validate('a.scss', '// ... existing code ...\n')).summary).toEqual({
      passed: ['utf-8', 'control-characters', 'conflict-markers', 'code-fences', 'chat', 'secrets'],
      failed: ['omission'],
      skipped: [{ check: 'syntax', reason: 'no parser is available for it' }],
    });
    expect((await validate('a.txt', 'a\n', { base: 'b\n' })).summary.passed).toEqual([
      'utf-8',
      'control-characters',
      'bom',
      'line-endings',
      'final-newline',
      'conflict-markers',
      'chat',
      'omission',
      'shrink',
      'secrets',
    ]);
  });

  test('skips code without a parser by name, and prose needs none', async () => {
    const { summary } = await validate('a.go', 'package main\n');
    expect(summary.skipped).toEqual([{ check: 'syntax', reason: 'no parser for files of this name' }]);
    expect((await validate('a.txt', 'text\n')).summary.skipped).toEqual([]);
  });

  test('checks the complete target as it would be written', async () => {
    const { final } = await validate('a.txt', 'c\n', { base: 'a\nb\n', operation: 'append' });
    expect(new TextDecoder().decode(final)).toBe('a\nb\nc\n');
  });

  slowTest('throws for no bytes, and its places are within them', async () => {
    const paths = ['a.txt', 'a.md', 'a.json', 'a.jsonl', 'a.yaml', 'a.toml', 'a.xml', 'a.css', 'a.png', 'Makefile'];
    const pieces = fc
      .array(
        fc.constantFrom(
          '```',
          '````md\n',
          '\n',
          '\r\n',
          '> ',
          '- ',
          '// ... existing code ...',
          '<<<<<<< a\n',
          '{',
          '"',
          ': ',
          '\uFEFF',
          '<a>',
          '=======\n',
          '>>>>>>> b\n',
          'Here is the file:',
        ),
      )
      .map((parts) => toBytes(parts.join('')));
    const bytes = fc.oneof(fc.uint8Array({ maxLength: 200 }), fc.string({ unit: 'binary' }).map(toBytes), pieces);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...paths),
        fc.constantFrom<Operation>('create', 'overwrite', 'append'),
        bytes,
        fc.option(bytes),
        fc.boolean(),
        async (path, operation, content, base, repair) => {
          const { findings, summary } = await validate(path, content, { operation, base, repair });
          const lines = new TextDecoder().decode(content).split('\n').length;
          for (const { line = 1, column = 1 } of findings) {
            expect(line).toBeGreaterThan(0);
            expect(line).toBeLessThanOrEqual(lines + 1);
            expect(column).toBeGreaterThan(0);
          }
          expect(findings.length > 0).toBe(summary.failed.length > 0);
        },
      ),
      runs(1500),
    );
  });

  propertyTest('keeps the content unchanged, byte by byte, if nothing is noted', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1 }), async (content) => {
        const { final, notes } = await validate('a.py', content);
        if (!notes.some((note) => note.includes('fence'))) expect(final).toEqual(content);
      }),
    );
  });
});

describe('syntax of the complete target', () => {
  test('an error that the target had before is not a finding, wherever it has moved', async () => {
    expect(await findingsOf('a.json', '\n{\n  "a": 1,\n}\n', { base: '{\n  "a": 1,\n}\n' })).toEqual([]);
  });

  test('another error is a finding', async () => {
    expect(await findingsOf('a.json', '{\n  "a": ,\n}\n', { base: '{\n  "a": 1,\n}\n' })).toEqual(['syntax 2:8']);
  });

  test('an appended part’s lines are those of the content', async () => {
    const base = '{"a":1}\n{"b":2}\n';
    expect(await findingsOf('a.jsonl', '{"c":3}\n{"d":}\n', { base, operation: 'append' })).toEqual(['syntax 2:6']);
    expect(await findingsOf('a.jsonl', ',2]\n[}\n', { base: '{}\n[1', operation: 'append' })).toEqual(['syntax 2:2']);
    expect(await findingsOf('a.jsonl', ',}\n', { base: '{}\n[1', operation: 'append' })).toEqual(['syntax 1:2']);
  });

  test('an error before the appended part names the target’s line, unless the target had it', async () => {
    const known = await validate('a.yaml', 'b: 3\n', { base: 'a: 1\na: 2\n', operation: 'append' });
    expect(known.findings).toEqual([]);
    const added = await validate('a.json', '}\n', { base: '{\n}\n', operation: 'append' });
    expect(added.findings.map(({ line, message }) => [line, message])).toEqual([[1, 'End of file expected.']]);
    const [above] = (await validate('a.yaml', '  c: d\n', { base: 'a: b\n', operation: 'append' })).findings;
    expect(above?.line).toBeUndefined();
    expect(above?.message).toMatch(/ \(line 1 of the target\)$/);
  });
});

describe('secrets', () => {
  const findSecrets = async (text: string) =>
    text.split('\n').flatMap((line, at) => {
      const kind = /token|private key/.exec(line)?.[0];
      return kind === undefined ? [] : [{ kind, line: at + 1 }];
    });
  const find = (content: string, base: string | null) =>
    findingsOf('a.txt', content, { base, validators: { findSecrets } });

  test('a new one is a finding that does not quote it', async () => {
    const { findings } = await validate('a.txt', 'a\ntoken 1\n', { validators: { findSecrets } });
    expect(findings).toEqual([
      {
        check: 'secrets',
        message: 'This looks like a secret (token); content is committed, so it must not contain any.',
        line: 2,
      },
    ]);
  });

  test('one that the target has is not a finding, another one is', async () => {
    expect(await find('a\ntoken 1\n', 'token 1\n')).toEqual([]);
    expect(await find('token 1\ntoken 2\n', 'token 1\n')).toEqual(['secrets 2:-']);
  });

  test('another private key is a finding, although it begins with the same line', async () => {
    expect(await find('private key\nabc\n', 'private key\nabc\n')).toEqual([]);
    expect(await find('private key\nxyz\n', 'private key\nabc\n')).toEqual(['secrets 1:-']);
  });
});

describe("the user's own checker", () => {
  test('gets the complete target, and its findings count', async () => {
    const given: string[] = [];
    const runChecker = async (target: Uint8Array) => {
      given.push(new TextDecoder().decode(target));
      return [{ check: 'checker', message: 'bad' }];
    };
    const { findings, summary } = await validate('a.py', '```py\nb = 2\n```\n', { validators: { runChecker } });
    expect(given).toEqual(['b = 2\n']);
    expect(findings).toEqual([{ check: 'checker', message: 'bad' }]);
    expect(summary.failed).toEqual(['checker']);
  });
});
