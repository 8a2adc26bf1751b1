import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { changeMemos, mergeMemos, parseMemos, renderMemos, type MemoChange } from '../../src/session/global/memos.ts';
import { expectLinear } from '../support/growth.ts';
import { quickTest as test, slowTest } from '../support/slow-test.ts';

const add = (fact: string): MemoChange => ({ kind: 'add', fact });
const remove = (fact: string): MemoChange => ({ kind: 'remove', fact });

const written = `# Facts of this project.

- All API endpoints must be documented in OpenAPI spec.
# Tools
- Use 'pnpm' for all package management. # since May
- 'Node: 20'

- "Tabs\\tare forbidden"
`;

describe('reading memos.yaml', () => {
  test('returns the facts in order', () => {
    expect(parseMemos(written)).toEqual([
      'All API endpoints must be documented in OpenAPI spec.',
      "Use 'pnpm' for all package management.",
      'Node: 20',

      'Tabs\tare forbidden',
    ]);
  });

  test.each(['', '\n', '# nothing yet\n', '[]\n', '---\n'])('finds no facts in %j', (text) =>
    expect(parseMemos(text)).toEqual([]),
  );

  test.each([
    ['- fine\n- Use port: 80\n', 2],
    ['- fine\n\n- 42\n', 3],
    ['- fine\n- - nested\n', 2],
    ['- fine\n-\n', 2],
    ['facts:\n  - a\n', 1],
    ['just text\n', 1],
    ['- fine\n- "open\n', 3],
    ['- a\n--- \n- b\n', 2],
    ['- fine\n- *gone\n', 2],
  ])('refuses %j with its line', (text, line) => {
    expect(() => parseMemos(text)).toThrow(
      expect.objectContaining({
        code: 'DAMAGED_SESSION',
        message: expect.stringContaining(`memos.yaml, line ${line}:`),
      }),
    );
  });

  slowTest("returns the same facts from renderMemos's output", () => {
    const fact = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('', '- a', 'a: b', '# a', 'true', '42', ' a ', 'a\nb\n', '"', '~'),
    );
    fc.assert(
      fc.property(fc.array(fact), (facts) => {
        expect(parseMemos(renderMemos(facts))).toEqual(facts);
      }),
    );
  });
});

describe('changing memos.yaml', () => {
  test('adds at the end and keeps comments, order and quoting', () => {
    const { text, added } = changeMemos(written, [add('Deploy on Tuesday: always')]);
    expect(text).toBe(`${written}- "Deploy on Tuesday: always"\n`);
    expect(added).toEqual(['Deploy on Tuesday: always']);
  });

  test('removes the fact with its own comment, and keeps the comment above it', () => {
    const { text, removed } = changeMemos(written, [remove("  Use 'pnpm' for all package management. ")]);
    expect(text).toBe(written.replace("- Use 'pnpm' for all package management. # since May\n", ''));
    expect(removed).toEqual(["Use 'pnpm' for all package management."]);
  });

  test('keeps a comment above the last fact when that is removed', () => {
    expect(changeMemos('- a\n# Tools\n- b\n', [remove('b')]).text).toBe('- a\n# Tools\n');
  });

  test('reports facts that exist already, and missing ones', () => {
    const changed = changeMemos('- a\n', [add(' a '), remove('b'), add('c'), add('c'), remove('a')]);
    expect(changed).toEqual({ text: '- c\n', added: ['c'], removed: ['a'], missing: ['b'], present: ['a', 'c'] });
  });

  test('keeps a comment above the last fact above its replacement', () => {
    expect(changeMemos('- a\n# Tools\n- b\n', [remove('b'), add('c')]).text).toBe('- a\n# Tools\n- c\n');
    expect(changeMemos('- a\n# Tools\n- b\n', [add('c'), remove('b')]).text).toBe('- a\n# Tools\n- c\n');
  });

  test('keeps the comments above several removed facts in their order, whichever is removed first', () => {
    const text = '# One\n- a\n# Two\n- b\n# Three\n- c\n';
    for (const changes of [
      [remove('a'), remove('b')],
      [remove('b'), remove('a')],
    ]) {
      expect(changeMemos(text, changes).text).toBe('# One\n# Two\n# Three\n- c\n');
    }
  });

  slowTest('takes about four times as long for 12,000 changes as for 3,000', async () => {
    const toChanges = (count: number) =>
      [add, remove].flatMap((toChange) => Array.from({ length: count / 2 }, (_, at) => toChange(`fact ${at * 2}`)));
    const make = (count: number) => ({
      text: renderMemos(Array.from({ length: count }, (_, at) => `fact ${at}`)),
      changes: toChanges(count),
    });
    await expectLinear(12_000, make, ({ text, changes }) => {
      changeMemos(text, changes);
      mergeMemos(text, renderMemos(changes.map(({ fact }) => `new ${fact}`)), text);
    });
  });

  test('treats facts as equal that differ only in white space around them', () => {
    const changed = changeMemos('- " a "\n- b\n', [add('a'), remove('a')]);
    expect(changed).toEqual({ text: '- b\n', added: [], removed: ['a'], missing: [], present: ['a'] });
  });

  test('changes no byte when there is nothing to change', () => {
    const odd = '-   a\n-   "b"   # x\n\n\n';
    expect(changeMemos(odd, [add('b'), remove('c')]).text).toBe(odd);
  });

  test.each(['', '[]\n', '# Facts\n', '# Facts\n[]\n', '---\n# Facts\n', 'null\n'])('starts a list in %j', (text) => {
    const changed = changeMemos(text, [add('a'), add('b')]).text;
    expect(changed.endsWith('- a\n- b\n')).toBe(true);
    expect(changed.includes('# Facts')).toBe(text.includes('# Facts'));
  });

  test('removes the last fact and leaves an empty list', () => {
    expect(parseMemos(changeMemos('- a\n', [remove('a')]).text)).toEqual([]);
  });

  slowTest('results in the old facts, without the removed and with the added ones', () => {
    const fact = fc.oneof(
      fc.constantFrom('a', 'b: c', '# d', '42'),
      fc.string({ unit: 'binary' }).map((found) => found.trim()),
    );
    const change = fc.record({ kind: fc.constantFrom('add' as const, 'remove' as const), fact });
    fc.assert(
      fc.property(fc.uniqueArray(fact), fc.array(change), (facts, changes) => {
        const expected = new Set(facts);
        for (const { kind, fact: changed } of changes) expected[kind === 'add' ? 'add' : 'delete'](changed);
        expect(parseMemos(changeMemos(renderMemos(facts), changes).text)).toEqual([...expected]);
      }),
    );
  });
});

describe('merging memos', () => {
  test("applies one side's additions and removals, and keeps the other's comments", () => {
    expect(mergeMemos('- a\n- b\n', '- a\n- c\n', '# Ours\n- a\n- b\n- d\n')).toBe('# Ours\n- a\n- d\n- c\n');
  });

  test('adds nothing twice and ignores the removal of missing facts', () => {
    expect(mergeMemos('- a\n- b\n', '- b\n- c\n', '- b\n- c\n')).toBe('- b\n- c\n');
  });

  test('rejects a broken list', () => {
    expect(() => mergeMemos('', 'x: 1\n', '')).toThrow(expect.objectContaining({ code: 'DAMAGED_SESSION' }));
  });
});

test('a removal keeps the blank line above the remaining group', () => {
  const text = '- a\n\n# Style\n- tabs\n- short\n';
  expect(changeMemos(text, [remove('tabs')]).text).toBe('- a\n\n# Style\n- short\n');
});

test('a list that is nested a thousand times is refused, not traversed', () => {
  expect(() => parseMemos('- '.repeat(4000))).toThrow(expect.objectContaining({ code: 'DAMAGED_SESSION' }));
  expect(() => parseMemos('['.repeat(4000))).toThrow(expect.objectContaining({ code: 'DAMAGED_SESSION' }));
});
