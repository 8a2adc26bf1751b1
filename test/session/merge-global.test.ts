import { describe, expect, test } from 'vitest';
import { mergeGlobalFile } from '../../src/session/global-files.ts';

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
