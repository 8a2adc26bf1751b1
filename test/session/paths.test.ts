import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { unwrapPath } from '../../src/session/paths/path-marks.ts';
import { parsePlanPath, parseRepoPath } from '../../src/session/paths/paths.ts';
import { runs } from '../support/runs.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

const root = '/home/dev/project';

function path(text: string): string {
  const parsed = parsePlanPath(text, root);
  return 'path' in parsed ? parsed.path : `refused: ${parsed.problem}`;
}

describe('the forms of a path', () => {
  test.each([
    ['src/app.ts', 'src/app.ts'],
    ['/home.tsx', 'home.tsx'],
    ['[variables.tf](/variables.tf)', 'variables.tf'],
    ['[shown](/real.ts)', 'real.ts'],
    ['[my notes](/docs/my%20notes.md)', 'docs/my notes.md'],
    ['[my notes](/docs/my notes.md)', 'docs/my notes.md'],
    ['[my notes](</docs/my notes.md>)', 'docs/my notes.md'],
    ['[titled](/a.ts "A file")', 'a.ts'],
    ['[escaped](/a\\(1\\).ts)', 'a(1).ts'],
    ['[app/[id]/(tab)/x.tsx](/app/[id]/(tab)/x.tsx)', 'app/[id]/(tab)/x.tsx'],
    ['pages/[id].tsx', 'pages/[id].tsx'],
    ['[id](x)/page.tsx', '[id](x)/page.tsx'],
    ['[sale](/100%.md)', '100%.md'],
    ['100%25.md', '100%25.md'],
    ['`src/app.ts`', 'src/app.ts'],
    ['**src/app.ts**', 'src/app.ts'],
    ['[`a.ts`](/a.ts)', 'a.ts'],
    ['__main__.py', '__main__.py'],
    ['__init__', '__init__'],
    ['.env.example', '.env.example'],
    ['.gitignore', '.gitignore'],
    ['.github/x', '.github/x'],
    ['docs/.teddy/x', 'docs/.teddy/x'],
    ['docs/my notes.md', 'docs/my notes.md'],
    ['src\\win\\a.c', 'src/win/a.c'],
    ['./src//a/./b/../c.ts', 'src/a/c.ts'],
    ['/home/dev/project/src/a.ts', 'src/a.ts'],
    ['/home/dev/project2/a.ts', 'home/dev/project2/a.ts'],
    ['console.ts', 'console.ts'],
    ['a:b.txt', 'refused: it names a drive'],
    ['aa:b.txt', 'aa:b.txt'],
  ])('%j is %j', (text, expected) => {
    expect(path(text)).toBe(expected);
  });

  test('the root of a Windows project is removed in both spellings', () => {
    expect(parsePlanPath('C:\\work\\x\\a.ts', 'C:\\work\\x')).toEqual({ path: 'a.ts' });
    expect(parsePlanPath('C:/project/a.ts', 'C:\\project\\')).toEqual({ path: 'a.ts' });
  });

  test('a path in a context list has no Markdown', () => {
    expect(parseRepoPath('[a](b)')).toEqual({ path: '[a](b)' });
    expect(unwrapPath('[a](/b%20c)')).toBe('/b c');
  });
});

describe('the text around a path', () => {
  // In full, with plans' notes and errors: parse-answers.test.ts.
  test.each([
    ['"a.txt"', 'a.txt'],
    ['<a.txt>', 'a.txt'],
    ['`a.txt` (new file)', 'a.txt'],
    ['[a](/a.txt#L10)', 'a.txt'],
    ['[c](/docs/c#.md)', 'docs/c#.md'],
    ['`"a.txt"`', '"a.txt"'],
    ['`a.txt (1)`', 'a.txt (1)'],
    ['v1.2 - notes.md', 'v1.2 - notes.md'],
    ['Report (final).md', 'Report (final).md'],
    ["it's.md", "it's.md"],
  ])('%j is %j', (text, expected) => {
    expect(path(text)).toBe(expected);
  });

  propertyTest('every path can be named: percent-encoded in a link', () => {
    const char = fc.constantFrom(...'"<>`\'#:()[]*, .-aL1%', '\u201c', 'and', '.ts');
    fc.assert(
      fc.property(fc.array(char, { minLength: 1, maxLength: 8 }), (chars) => {
        const parsed = parseRepoPath(chars.join(''));
        if (!('path' in parsed)) return;
        expect(
          parsePlanPath(
            `[it](/${encodeURIComponent(parsed.path).replace(/[()]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)})`,
          ),
        ).toEqual({ path: parsed.path });
      }),
      runs(1000),
    );
  });

  test('a hint that shows how to write such a name is correct', () => {
    for (const name of [
      '"a" b.ts',
      'a<b>.ts',
      'a`b.ts',
      'a.ts (1)',
      'a.ts: b',
      'a.ts # b',
      'a.ts:1',
      'a.ts#L1',
      'ä "b".ts',
    ]) {
      const parsed = parsePlanPath(name);
      const shown = 'problem' in parsed ? /(?:in back-ticks|as a link): (.+)$/.exec(parsed.hint ?? '')?.[1] : undefined;
      expect([name, parsePlanPath(shown ?? '')]).toEqual([name, { path: name }]);
    }
  });
});

describe('a refused path', () => {
  test.each([
    ['', 'it is empty'],
    ['[a]()', 'it is empty'],
    ['.', 'root'],
    ['/', 'root'],
    [root, 'root'],
    ['src/..', 'root'],
    ['..', 'leaves'],
    ['a/../../b', 'leaves'],
    ['/../x', 'leaves'],
    ['[a](/%2e%2e/x)', 'leaves'],
    ['..\\x', 'leaves'],
    ['C:\\x', 'drive'],
    ['c:x', 'drive'],
    ['\\\\server\\share\\x', 'network'],
    ['//server/share', 'network'],
    ['https://example.com/a', 'URL'],
    ['file:///etc/passwd', 'URL'],
    ['a\0b', 'control'],
    ['[a](/a%00b)', 'control'],
    ['a\nb', 'control'],
    ['a\u009bb', 'control'],
    ['a\ud800b', 'Unicode'],
    ['.git', '.git'],
    ['.git/config', '.git'],
    ['sub/.GIT/config', '.git'],
    ['.Git./config', '.git'],
    ['.git  /config', '.git'],
    ['.git::$INDEX_ALLOCATION/config', '.git'],
    ['a/GIT~1/config', '.git'],
    ['.g\u200cit/config', '.git'],
    ['\ufeff.git/config', '.git'],
    ['[a](/%2egit/config)', '.git'],
    ['.teddy', '.teddy'],
    ['.TEDDY/memos.yaml', '.teddy'],
    ['x/../.teddy./a', '.teddy'],
    ['TEDDY~1/a', '.teddy'],
    ['CON', 'device'],
    ['src/nul.txt', 'device'],
    ['aux', 'device'],
    ['com1.log/x', 'device'],
    ['a/.. /b', 'dots'],
    ['./c:x', 'drive'],
  ])('is %j, because %s', (text, reason) => {
    expect(path(text)).toMatch(/^refused: /);
    expect(path(text)).toContain(reason);
  });

  test('may be longer than any system allows', () => {
    expect(path('x'.repeat(4097))).toContain('longer');
  });

  propertyTest('an accepted path has no empty or dot parts, and is accepted again unchanged', () => {
    const part = fc.oneof(
      fc.constantFrom('..', '.', '', '.git', 'a', ' ', '%2e', '[', '](', ')', '`', '\\'),
      fc.string({ maxLength: 4 }),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), fc.constantFrom('/', '\\', ''), (parts, separator) => {
        const parsed = parsePlanPath(parts.join(separator), root);
        if (!('path' in parsed)) return;
        expect(parsed.path.split('/').filter((it) => it === '' || it === '.' || it === '..')).toEqual([]);
        expect(parseRepoPath(`./${parsed.path}/.`)).toEqual({ path: parsed.path });
      }),
      runs(1000),
    );
  });
});
