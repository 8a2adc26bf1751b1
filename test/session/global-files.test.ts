import { describe, expect, test } from 'vitest';
import { mergeLines, toGlobalContext } from '../../src/session/global-files.ts';

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

describe('the first global.context', () => {
  test('names the documents that the project has', () => {
    expect(toGlobalContext(['src', 'README.md', 'AGENTS.md'])).toMatch(/\nREADME\.md\nAGENTS\.md\n$/);
  });

  test('names the README of a project that has none yet', () => {
    expect(toGlobalContext([])).toMatch(/\nREADME\.md\n$/);
  });
});
