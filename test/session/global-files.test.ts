import { describe, expect, test } from 'vitest';
import {
  isUsualContext,
  parseGlobalFile,
  sessionContextText,
  toGlobalContext,
} from '../../src/session/global/global-files.ts';

describe('the first global.context', () => {
  test("names the project's documents", () => {
    expect(toGlobalContext(['src', 'README.md', 'AGENTS.md'])).toMatch(/\nREADME\.md\nAGENTS\.md\n$/);
  });

  test.each(['Readme.md', 'README.rst', 'readme.txt', 'README'])('names a README that is called %s', (name) => {
    const text = toGlobalContext(['src', name]);
    expect(text.split('\n').at(-2)).toBe(name);
    expect(isUsualContext(text)).toBe(true);
  });

  test('names the README of a project that has none yet', () => {
    expect(toGlobalContext([])).toMatch(/\nREADME\.md\n$/);
  });
});

describe('a context list that is harmless whoever wrote it', () => {
  test("is teddy's own default, or an empty one", () => {
    for (const text of ['', '# only\n\n  # comments\n', sessionContextText, toGlobalContext([])]) {
      expect(isUsualContext(text), text).toBe(true);
    }
    expect(isUsualContext(toGlobalContext(['README.md', 'AGENTS.md', 'CONTRIBUTING.md']))).toBe(true);
  });

  test.each(['.env', 'README.md\n.env', '!README.md', 'docs/README.md', '"README.md "', '*.md', '#\n.\n'])(
    'is not %j',
    (text) => expect(isUsualContext(text)).toBe(false),
  );
});

describe('a file name on teddy/global', () => {
  test("is one of two, or an agent's", () => {
    expect(parseGlobalFile('global.context')).toEqual({ name: 'global.context', agent: null });
    expect(parseGlobalFile('memos.yaml')).toEqual({ name: 'memos.yaml', agent: null });
    expect(parseGlobalFile('agents/a-2.md')).toEqual({ name: 'agents/a-2.md', agent: 'a-2' });
    expect(parseGlobalFile('agents/a-2')).toEqual({ name: 'agents/a-2.md', agent: 'a-2' });
  });

  test.each([
    ['', 'USAGE'],
    ['agents/', 'USAGE'],
    ['agents/a/b.md', 'USAGE'],
    ['../memos.yaml', 'USAGE'],
    ['agents/..', 'BAD_NAME'],
    ['agents/A.md', 'BAD_NAME'],
    ['agents/a--b.md', 'BAD_NAME'],
    ['agents/a b', 'BAD_NAME'],
  ])('is not %j: %s', (text, code) => {
    expect(() => parseGlobalFile(text)).toThrow(expect.objectContaining({ code }));
  });
});
