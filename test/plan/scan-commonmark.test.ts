/** The scanner against mdast, on the nastiest documents that both are meant to read alike. */
import fc from 'fast-check';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { describe, expect } from 'vitest';
import { isPlan, parsePlan } from '../../src/plan/parse/parse.ts';
import { fenceContent, scanBlocks, type Fence } from '../../src/plan/parse/scan.ts';
import { quickTest as test, slowTest } from '../support/slow-test.ts';

interface Found {
  offset: number | undefined;
  line: number | undefined;
  heading?: number;
  content?: string;
}

type Node = ReturnType<typeof fromMarkdown>['children'][number];

/** NUL becomes U+FFFD in CommonMark; here it stays unchanged. */
const comparable = (text: string) => text.replaceAll('\r\n', '\n').replaceAll('\0', '\uFFFD');

/** At any depth: a list is not a container for the scanner. Set-ext headings and indented code are text for it. */
function findByCommonMark(text: string, nodes: Node[] = fromMarkdown(text).children): Found[] {
  return nodes.flatMap((node): Found[] => {
    const at = { offset: node.position?.start.offset, line: node.position?.start.line };
    const mark = text.charAt(at.offset ?? 0);
    const isOneLine = node.position?.start.line === node.position?.end.line;
    if (node.type === 'heading') return isOneLine ? [{ ...at, heading: node.depth }] : [];
    if (node.type === 'code' && (mark === '`' || mark === '~')) {
      return [{ ...at, content: comparable(node.value) }];
    }
    return 'children' in node ? findByCommonMark(text, node.children as Node[]) : [];
  });
}

function findByScanner(text: string): Found[] {
  return scanBlocks(text).flatMap((block): Found[] => {
    const at = { offset: block.offset, line: block.line };
    if (block.kind === 'heading') return [{ ...at, heading: block.level }];
    if (block.kind !== 'fence') return [];
    return [{ ...at, content: comparable(fenceContent(text, block)).replace(/\n$/, '') }];
  });
}

/** An unclosed fence is an error here, and content in CommonMark. */
function closeFence(text: string, end: string): string {
  const last = scanBlocks(text).at(-1);
  return last?.kind === 'fence' && !last.closed ? text + last.marker + end : text;
}

function expectAlike(text: string): void {
  expect(findByScanner(text)).toEqual(findByCommonMark(text));
}

const ending = fc.constantFrom('\n', '\r\n');
const word = fc.constantFrom(
  'a',
  'C#',
  '`code`',
  '#x',
  'two words',
  '\u00fc',
  '\u2028',
  '\u00a0',
  '\0',
  '\ud800',
  '==',
);
const spaces = fc.nat(3).map((count) => ' '.repeat(count));
const marks = fc.tuple(fc.constantFrom('`', '~'), fc.integer({ min: 1, max: 9 })).map(([mark, n]) => mark.repeat(n));

const heading = fc
  .tuple(spaces, fc.integer({ min: 1, max: 8 }), fc.constantFrom(' ', '\t', '  ', ' \t', ''), word, fc.nat(4))
  .map(
    ([indent, level, gap, text, closing]) =>
      `${indent}${'#'.repeat(level)}${gap}${text}${['', ' #', ' ## ', '#', '\t#\t'][closing]}`,
  );
const fenceLine = fc
  .tuple(spaces, marks, fc.constantFrom('', '', '', ' ', '\t', 'ts', ' a b ', 'a`b', 'a~b', '{.x}', '\0'))
  .map((parts) => parts.join(''));
/** Indented code, unless a paragraph precedes it; a tab counts as four columns. */
const indented = fc
  .tuple(fc.constantFrom('    ', '\t', ' \t', '  \t', '   \t', '     '), fc.oneof(heading, fenceLine, word))
  .map((parts) => parts.join(''));
const underline = fc.tuple(word, fc.constantFrom('===', '---', '=', '-- ', '  ---')).map((parts) => parts.join('\n'));
const rule = fc.constantFrom('---', '***', '* * *', ' ___', '-\t-\t-', '--');
const line = fc.oneof(fc.constant(''), word, heading, heading, fenceLine, fenceLine, indented, underline, rule);

const join = (lines: string[], end: string) => lines.map((text) => text.replaceAll('\n', end) + end).join('');

describe('against CommonMark', () => {
  slowTest('headings and fences of any length, nested, indented, and beside set-ext headings and indented code', () => {
    let fences = 0;
    fc.assert(
      fc.property(fc.array(line, { maxLength: 30 }), ending, (lines, end) => {
        const text = closeFence(join(lines, end), end);
        fc.pre(!hasTabUnderIndentedFence(text));
        fences += findByScanner(text).filter(({ content }) => content !== undefined).length;
        expectAlike(text);
      }),
      { numRuns: 1000 },
    );
    expect(fences).toBeGreaterThan(300);
  });

  /** CommonMark makes spaces from a tab that the fence's indentation cuts into; a plan keeps its tabs. */
  function hasTabUnderIndentedFence(text: string): boolean {
    return scanBlocks(text).some(
      (block): block is Fence =>
        block.kind === 'fence' &&
        block.indent > 0 &&
        /^ {0,2}\t/m.test(text.slice(block.contentStart, block.contentEnd)),
    );
  }

  slowTest('documents whose fences contain whole documents', () => {
    const inner = fc.array(fc.oneof(line, fenceLine), { maxLength: 12 });
    fc.assert(
      fc.property(
        fc.array(inner, { minLength: 1, maxLength: 4 }),
        fc.constantFrom('`', '~'),
        ending,
        (parts, mark, end) => {
          const fenced = parts.flatMap((lines) => {
            const runs = lines.join('\n').match(/`+|~+/g) ?? [];
            const marker = mark.repeat(Math.max(2, ...runs.map((run) => run.length)) + 1);
            return ['# before', `${marker}md`, ...lines, marker, '## after'];
          });
          const text = join(fenced, end);
          expectAlike(text);
          expect(findByScanner(text).map(({ heading: level }) => level)).toEqual(
            parts.flatMap(() => [1, undefined, 2]),
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  slowTest("lists with fences in them, if these are indented like their bullet's text", () => {
    const bullet = fc.constantFrom('- ', '* ', '+ ');
    const content = fc.array(fc.oneof(word, fc.constantFrom('# x', '- y', '', '    z')), { maxLength: 4 });
    const item = fc
      .tuple(bullet, word, content, fc.constantFrom('```', '~~~~'), fc.boolean())
      .map(([mark, text, lines, fence, gap]) => [
        mark + text,
        ...(gap ? [''] : []),
        ...[fence, ...lines, fence].map((one) => `  ${one}`),
      ]);
    fc.assert(
      fc.property(fc.array(item, { minLength: 1, maxLength: 5 }), ending, (items, end) => {
        expectAlike(`# List${end}${join(items.flat(), end)}${end}# End${end}`);
      }),
      { numRuns: 500 },
    );
  });

  test('a byte order mark is not part of the first line', () => {
    const text = '\uFEFF# Title\n\n```\n\uFEFFa\n```\n';
    expect(parsePlan(`${text}## Message\n\nx\n`).plan.title).toBe('Title');
    expect(findByCommonMark(text.slice(1))).toMatchObject([{ heading: 1 }, { content: '\uFEFFa' }]);
    expect(scanBlocks(text, 1)).toMatchObject([{ kind: 'heading', text: 'Title' }, { kind: 'fence' }]);
  });
});

describe('intended differences from CommonMark', () => {
  test('HTML does not hide headings and fences', () => {
    expect(scanBlocks('<!--\n# a\n-->\n<pre>\n```\n</pre>\n```\n').map(({ kind }) => kind)).toEqual([
      'paragraph',
      'heading',
      'paragraph',
      'fence',
    ]);
  });

  test('a lone carriage return does not end a line', () => {
    expect(scanBlocks('a\r# b\r```\r')).toMatchObject([{ kind: 'paragraph', line: 1 }]);
    expect(scanBlocks('```\na\r```\n```\n')).toMatchObject([{ kind: 'fence', contentEnd: 10, closed: true }]);
  });

  test('a tab in an indented fence stays a tab', () => {
    const [fence] = scanBlocks('  ```\n\ta\n \tb\n  ```\n');
    expect(fence?.kind === 'fence' && fenceContent('  ```\n\ta\n \tb\n  ```\n', fence)).toBe('\ta\n\tb\n');
  });
});

slowTest('parsePlan and isPlan never throw for any text, with HTML, quotes, links and any line ending', () => {
  const odd = fc.constantFrom(
    '<!--',
    '-->',
    '<div>',
    '</div>',
    '> # a',
    '> ```',
    '[a]: b',
    '1. ```',
    '- # x',
    '<?',
    ']]>',
  );
  const plan = fc.constantFrom(
    '# T',
    '## Action Plan',
    '## Memos',
    '## Context Vault',
    '### CREATE',
    '### EDIT',
    '### EXECUTE',
    '- **File Path:** a',
    '- **env:**',
    '  - A: 1',
    '#### FIND:',
    '`REPLACE:`',
    '[+] a',
  );
  const any = fc.array(fc.tuple(fc.oneof(line, odd, plan, plan), fc.constantFrom('\n', '\n', '\r\n', '\r', '\n\n')), {
    maxLength: 40,
  });
  fc.assert(
    fc.property(any, fc.constantFrom('', '\uFEFF'), (rows, mark) => {
      const text = mark + rows.map((row) => row.join('')).join('');
      isPlan(text);
      const { problems, notes } = parsePlan(text);
      const lines = text.split('\n');
      for (const { line: at, column } of [...problems, ...notes]) {
        expect(column).toBeGreaterThan(0);
        expect(column).toBeLessThanOrEqual((lines[at - 1]?.length ?? -1) + 1);
      }
    }),
    { numRuns: 1000 },
  );
});
