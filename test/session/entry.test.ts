import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { checkMessage } from '../../src/session/entries/entry-trailers.ts';
import { decodeEntry, encodeEntry, entryKinds, toLabel, type Entry } from '../../src/session/entries/entry.ts';
import type { SessionId, TurnName } from '../../src/names.ts';
import { runs } from '../support/runs.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

const plain: Entry = {
  kind: 'plan',
  session: '20260124-add-login' as SessionId,
  turn: '02' as TurnName,
  id: '019bf000-0000-7000-8000-000000000001',
  created: '2026-01-24T10:00:00.000Z',
  title: 'Add the login route',
  details: [],
};

/** Reads trailers by git's rule: `Key: value` lines in the last paragraph, if there is more than a subject. */
function readTrailers(message: string): [string, string][] {
  const paragraphs = message.trimEnd().split(/\n[ \t]*\n/);
  const last = paragraphs.length > 1 ? (paragraphs.at(-1) ?? '') : '';
  return [...last.matchAll(/^([A-Za-z0-9-]+)[ \t]*:[ \t]*(.*)$/gm)].map(([, key = '', value = '']) => [key, value]);
}

/** Text by a user or a model, including text that could pass for a trailer, a separator or a line ending. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(
      fc.constantFrom(
        'Teddy-Entry: report',
        'Teddy-Session: 20990101-forged',
        'Teddy-Status: SUCCESS',
        'Signed-off-by: Eve <eve@example.org>',
        '(cherry picked from commit 0)',
        '\n',
        '\n\n',
        '\r',
        '\u2028',
        '---',
        ' ',
        '  Teddy-Turn: 09',
        'words',
        ':',
      ),
      { maxLength: 8 },
    )
    .map((parts) => parts.join('')),
);

const anyEntry: fc.Arbitrary<Entry> = fc
  .record({
    kind: fc.constantFrom(...entryKinds),
    turn: fc.option(fc.constantFrom('01', '12', '123', '02-branch-01').map((turn) => turn as TurnName)),
    title: anyText,
    details: fc.array(anyText, { maxLength: 14 }),
    labels: fc.record(
      {
        baseBranch: anyText,
        agent: anyText,
        provider: fc.constantFrom('openai', 'manual'),
        model: anyText,
        tokens: fc.record(
          {
            input: fc.nat(),
            output: fc.nat(),
            cached: fc.integer({ min: 1, max: 1e9 }),
            reasoning: fc.integer({ min: 1, max: 1e9 }),
          },
          { requiredKeys: ['input', 'output'] },
        ),
        costUsd: fc.nat(99_999_999).map((millionths) => millionths / 1_000_000),
        status: fc.constantFrom('SUCCESS', 'PARTIAL'),
        sha256: fc.constant('ab'.repeat(32)),
        write: fc.record({
          id: fc.uuid({ version: 4 }),
          intent: anyText,
          validation: fc.constantFrom('passed: bytes'),
        }),
      },
      { requiredKeys: [] },
    ),
  })
  .map(({ labels, ...entry }) => ({ ...plain, ...entry, ...labels }));

/** The part of an entry that its label keeps: one line each, at most ten, without blank ones at the end. */
function toLabelled(entry: Entry): Entry {
  const details = entry.details.slice(0, 10).map((detail) => toLabel(detail, 100));
  while (details.at(-1) === '') details.pop();
  const value = (key: 'baseBranch' | 'agent' | 'model') =>
    entry[key] === undefined ? {} : { [key]: toLabel(entry[key], 1000) };
  return {
    ...entry,
    title: toLabel(entry.title, 72),
    details,
    ...(entry.write ? { write: { ...entry.write, intent: toLabel(entry.write.intent, 1000) } } : {}),
    ...value('baseBranch'),
    ...value('agent'),
    ...value('model'),
  };
}

describe("an entry's message", () => {
  propertyTest('is read back as the entry, whatever text a user or a model wrote', () => {
    fc.assert(
      fc.property(anyEntry, (entry) => {
        const decoded = decodeEntry(encodeEntry(entry));
        const details = [...(decoded?.details ?? [])];
        while (details.at(-1) === '') details.pop();
        expect({ ...decoded, details }).toEqual(toLabelled(entry));
      }),
      runs(1000),
    );
  });

  propertyTest("never has a trailer that a user's text has forged", () => {
    fc.assert(
      fc.property(anyEntry, (entry) => {
        const trailers = readTrailers(encodeEntry(entry));
        expect(trailers.every(([key]) => key.startsWith('Teddy-'))).toBe(true);
        expect(new Set(trailers.map(([key]) => key)).size).toBe(trailers.length);
        expect(Object.fromEntries(trailers)).toMatchObject({
          'Teddy-Session': plain.session,
          'Teddy-Entry': entry.kind,
          'Teddy-Entry-Id': plain.id,
          'Teddy-Format': '1',
        });
      }),
      runs(1000),
    );
  });

  test('reads well: subject, details, trailers', () => {
    const entry: Entry = {
      ...plain,
      details: ['1. CREATE src/a.ts', 'Note: with care'],
      tokens: { input: 7, output: 3 },
      agent: 'dev',
    };
    expect(encodeEntry(entry)).toBe(`turn 02 plan: Add the login route

1. CREATE src/a.ts
  Note: with care

Teddy-Session: 20260124-add-login
Teddy-Entry: plan
Teddy-Turn: 02
Teddy-Entry-Id: 019bf000-0000-7000-8000-000000000001
Teddy-Created: 2026-01-24T10:00:00.000Z
Teddy-Agent: dev
Teddy-Tokens: 7/3
Teddy-Format: 1
`);
  });

  test.each([
    [{ input: 7, output: 3 }, '7/3'],
    [{ input: 7, output: 3, cached: 0, reasoning: 0 }, '7/3'],
    [{ input: 7, output: 3, cached: 5 }, '7/3 cached=5'],
    [{ input: 7, output: 3, reasoning: 2 }, '7/3 reasoning=2'],
    [{ input: 7, output: 3, cached: 5, reasoning: 2 }, '7/3 cached=5 reasoning=2'],
  ])('writes the tokens %j as %j, and nothing else passes for tokens', (tokens, written) => {
    const message = encodeEntry({ ...plain, sha256: 'ab'.repeat(32), tokens });
    expect(message).toContain(`\nTeddy-Tokens: ${written}\n`);
    expect(checkMessage(message).problems).toEqual([]);
    const { cached, reasoning, ...counts } = tokens as {
      input: number;
      output: number;
      cached?: number;
      reasoning?: number;
    };
    const known = { ...counts, ...(cached ? { cached } : {}), ...(reasoning ? { reasoning } : {}) };
    expect(decodeEntry(message)?.tokens).toEqual(known);
    for (const forged of ['7/3 cached=0', '7/3 cached=05', '7/3 reasoning=2 cached=5', '7/3 cached=-1', '7/3 more=1']) {
      const bad = message.replace(`Teddy-Tokens: ${written}`, `Teddy-Tokens: ${forged}`);
      expect(decodeEntry(bad)?.tokens).toBeUndefined();
      expect(checkMessage(bad).problems).toEqual([expect.stringContaining('Teddy-Tokens cannot be')]);
    }
  });

  test('is cut if it is too long: 72 characters of title, ten details of 100', () => {
    const message = encodeEntry({ ...plain, title: '😀'.repeat(80), details: Array(12).fill('x'.repeat(120)) });
    const [subject = '', details = ''] = message.split('\n\n');
    expect([...subject.replace('turn 02 plan: ', '')].length).toBe(72);
    expect(subject.endsWith('…')).toBe(true);
    expect(details.split('\n').map((line) => [...line].length)).toEqual(Array(10).fill(100));
  });

  test('survives lines that git and people add below it', () => {
    const message = encodeEntry(plain);
    expect(decodeEntry(`${message}(cherry picked from commit ${'0'.repeat(40)})\n`)).toEqual(plain);
    expect(decodeEntry(`${message}Signed-off-by: Ada <ada@example.org>\n\n`)).toEqual(plain);
    expect(decodeEntry(`${message}Teddy-Turn: 09\n`)).toEqual(plain);
  });
});

describe('a commit that is not an entry', () => {
  test.each([
    ['has no trailers', 'Fix the login\n'],
    ['is empty', ''],
    ['landed a session', 'Add login\n\nTeddy-Landed-From: teddy/20260124-add-login\n'],
    ['lacks the id', encodeEntry(plain).replace(/Teddy-Entry-Id.*\n/, '')],
    ['lacks the session', encodeEntry(plain).replace(/Teddy-Session.*\n/, '')],
    ['lacks the format', encodeEntry(plain).replace(/Teddy-Format.*\n/, '')],
    ['has a later format', encodeEntry(plain).replace('Teddy-Format: 1', 'Teddy-Format: 2')],
    ['is of an unknown kind', encodeEntry(plain).replace('Teddy-Entry: plan', 'Teddy-Entry: dream')],
    ['names no session', encodeEntry(plain).replace('20260124-add-login', 'add-login')],
    ['names no turn', encodeEntry(plain).replace('Teddy-Turn: 02', 'Teddy-Turn: 2')],
    ['quotes an entry further up', `${encodeEntry(plain)}\nMine now.\n`],
  ])('%s', (_, message) => {
    expect(decodeEntry(message)).toBeNull();
  });

  propertyTest('is detected for any text', () => {
    fc.assert(fc.property(anyText, (text) => decodeEntry(text) === null));
  });
});
