import { describe, expect, test } from 'vitest';
import { mergeGlobalFile, mergeLines } from '../../src/session/global/merge-global.ts';

describe('two edits of one file of teddy/global', () => {
  test.each(['memos.yaml', 'global.context', 'agents/dev.md'])('of %s: one side alone is taken as it is', (name) => {
    expect(mergeGlobalFile(name, { base: '- a\n', mine: '-   b\n', theirs: '- a\n' })).toBe('-   b\n');
    expect(mergeGlobalFile(name, { base: '- a\n', mine: '- a\n', theirs: '-   b\n' })).toBe('-   b\n');
    expect(mergeGlobalFile(name, { base: '- a\n', mine: '- b\n', theirs: '- b\n' })).toBe('- b\n');
  });

  test('are brought together line by line, or memo by memo; a prompt only by a person', () => {
    const sides = { base: '- a\n', mine: '- a\n- b\n', theirs: '- c\n- "a"\n' };
    expect(mergeGlobalFile('memos.yaml', sides)).toBe('- c\n- "a"\n- b\n');
    expect(mergeGlobalFile('global.context', sides)).toBe('- c\n- "a"\n- b\n');
    expect(mergeGlobalFile('agents/dev.md', sides)).toBeNull();
  });
});

describe('merging lines', () => {
  test('takes over what one side added and removed, and keeps the rest of the other', () => {
    expect(mergeLines('a\nb\n', 'a\nc\n', 'b\na\nd\n')).toBe('a\nd\nc\n');
  });

  test('adds no line that is there already', () => {
    expect(mergeLines('', 'x\n', 'x\n')).toBe('x\n');
  });

  test('without a change gives the other side as it is', () => {
    expect(mergeLines('a\n', 'a\n', 'b\n# note\n')).toBe('b\n# note\n');
  });
});
