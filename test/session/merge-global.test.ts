import { describe, expect, test } from 'vitest';
import { mergeGlobalFile, mergeLines } from '../../src/session/global/merge-global.ts';

describe('two edits of one file on teddy/global', () => {
  test.each(['memos.yaml', 'global.context', 'agents/dev.md'])(
    'to %s: one side alone is accepted unchanged',
    (name) => {
      expect(mergeGlobalFile(name, { base: '- a\n', mine: '-   b\n', theirs: '- a\n' })).toBe('-   b\n');
      expect(mergeGlobalFile(name, { base: '- a\n', mine: '- a\n', theirs: '-   b\n' })).toBe('-   b\n');
      expect(mergeGlobalFile(name, { base: '- a\n', mine: '- b\n', theirs: '- b\n' })).toBe('- b\n');
    },
  );

  test('are merged line by line, or memo by memo; a prompt only by a person', () => {
    const sides = { base: '- a\n', mine: '- a\n- b\n', theirs: '- c\n- "a"\n' };
    expect(mergeGlobalFile('memos.yaml', sides)).toBe('- c\n- "a"\n- b\n');
    expect(mergeGlobalFile('global.context', sides)).toBe('- c\n- "a"\n- b\n');
    expect(mergeGlobalFile('agents/dev.md', sides)).toBeNull();
  });
});

describe('merging lines', () => {
  test("applies one side's additions and removals, and keeps the rest from the other", () => {
    expect(mergeLines('a\nb\n', 'a\nc\n', 'b\na\nd\n')).toBe('a\nd\nc\n');
  });

  test('adds no line that exists already', () => {
    expect(mergeLines('', 'x\n', 'x\n')).toBe('x\n');
  });

  test('without a change returns the other side unchanged', () => {
    expect(mergeLines('a\n', 'a\n', 'b\n# note\n')).toBe('b\n# note\n');
  });
});
