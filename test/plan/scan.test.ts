import fc from 'fast-check';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { describe, expect } from 'vitest';
import { fenceContent, positionOf, scanBlocks, type Block, type Fence } from '../../src/plan/parse/scan.ts';
import { runs } from '../support/runs.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

function headings(text: string): [number, string][] {
  return scanBlocks(text).flatMap((block) => (block.kind === 'heading' ? [[block.level, block.text]] : []));
}

function fences(text: string): Fence[] {
  return scanBlocks(text).filter((block): block is Fence => block.kind === 'fence');
}

function contents(text: string): string[] {
  return fences(text).map((fence) => fenceContent(text, fence));
}

const kinds = (text: string): Block['kind'][] => scanBlocks(text).map((block) => block.kind);

describe('headings', () => {
  test('one to six marks and a space make a heading', () => {
    expect(headings('# a\n## b\n###### c\n####### d\n#e\n#\tf\n###')).toEqual([
      [1, 'a'],
      [2, 'b'],
      [6, 'c'],
      [1, 'f'],
      [3, ''],
    ]);
  });

  test('four spaces or a tab before the mark make it text', () => {
    expect(headings('   # a\n    # b\n\t# c')).toEqual([[1, 'a']]);
  });

  test('closing marks count only after a space', () => {
    expect(headings('# a ##  \n# C#\n# b # c #\n## ##\n# d \\#')).toEqual([
      [1, 'a'],
      [1, 'C#'],
      [1, 'b # c'],
      [2, ''],
      [1, 'd \\#'],
    ]);
  });
});

describe('fences', () => {
  test('have exact content, including its final newline, and an empty fence is empty', () => {
    expect(contents('```\n  a\t \n\n```\n~~~\n~~~\n```\n\n```')).toEqual(['  a\t \n\n', '', '\n']);
  });

  test('close at a line of the same character that is at least as long', () => {
    expect(contents('````ts\n```\n~~~~\n````x\n ````` \t\n')).toEqual(['```\n~~~~\n````x\n']);
  });

  test('close at a line indented by three spaces, but not by four', () => {
    expect(contents('```\na\n    ```\n   ```\n')).toEqual(['a\n    ```\n']);
  });

  test('are text if a back-tick fence has a back-tick in its info string', () => {
    expect(kinds('``` a`b\n')).toEqual(['paragraph']);
    expect(fences('~~~ a`b\n~~~')[0]?.info).toBe('a`b');
  });

  test("lose the opening line's indentation from the content, as far as there is any", () => {
    expect(contents('  ```\n    a\n b\nc\u2028  d\n\n  ```')).toEqual(['  a\nb\nc\u2028  d\n\n']);
  });

  test('reach to the end if they are never closed, which is reported', () => {
    const [fence] = fences('a\n\n```ts\nx\n# no heading');
    expect(fence).toMatchObject({ closed: false, line: 3, marker: '```' });
    expect(headings('```\n# no heading')).toEqual([]);
  });

  test('close with CRLF, which stays in the content', () => {
    expect(contents('```ts\r\na\r\n```\r\n')).toEqual(['a\r\n']);
    expect(headings('# a\r\n')).toEqual([[1, 'a']]);
  });
});

describe('lines', () => {
  test('are bullets with a text and an indentation, with tabs going to the next stop', () => {
    const found = scanBlocks('- a\n  * b\n\t+ c\n-\n-d').map((block) => [block.kind, block.indent]);
    expect(found).toEqual([
      ['bullet', 0],
      ['bullet', 2],
      ['bullet', 4],
      ['bullet', 0],
      ['paragraph', 0],
    ]);
  });

  test('are a rule, not a bullet, if they have only three marks', () => {
    expect(kinds('---\n* * *\n__ _\n--\n- - a')).toEqual(['rule', 'rule', 'rule', 'paragraph', 'bullet']);
  });

  test('end a paragraph if they are blank or another block', () => {
    const blocks = scanBlocks('a\nb\n\nc\n# d\ne');
    expect(blocks.map(({ kind, line, gap }) => [kind, line, gap])).toEqual([
      ['paragraph', 1, true],
      ['paragraph', 4, true],
      ['heading', 5, false],
      ['paragraph', 6, false],
    ]);
  });

  test('are counted through fences, and columns from 1', () => {
    const last = scanBlocks('```\na\nb\n```\n\n  # c').at(-1);
    expect(last && positionOf(last)).toEqual({ line: 6, column: 3 });
  });

  propertyTest("have the whole text's offsets if only part of it is scanned", () => {
    const text = 'x\n# a\n```\n# b';
    expect(scanBlocks(text, 2, 6, 2)).toMatchObject([{ kind: 'heading', start: 2, end: 6, line: 2 }]);
  });
});

/**
 * Lines with the constructs that the scanner and CommonMark share: no quotes, HTML, links, lists, set-ext underlines or
 * indented code.
 */
const word = fc.constantFrom('a', 'word', 'C#', '`code`', '#x', 'two words', '\u00fc', '\u2028');
const line = fc.oneof(
  fc.constant(''),
  word,
  fc
    .tuple(
      fc.nat(3),
      fc.integer({ min: 1, max: 7 }),
      fc.constantFrom(' ', '\t', '  '),
      word,
      fc.constantFrom('', ' #', ' ## ', '#'),
    )
    .map(([indent, level, space, text, closing]) => ' '.repeat(indent) + '#'.repeat(level) + space + text + closing),
  fc
    .tuple(
      fc.nat(3),
      fc.constantFrom('`', '~'),
      fc.integer({ min: 2, max: 5 }),
      fc.constantFrom('', '', 'ts', ' a b ', 'a`b'),
    )
    .map(([indent, mark, length, info]) => ' '.repeat(indent) + mark.repeat(length) + info),
);
const document = fc
  .tuple(fc.array(line, { maxLength: 24 }), fc.constantFrom('\n', '\r\n'))
  .map(([lines, ending]) => lines.map((text) => text + ending).join(''));

interface Found {
  offset: number | undefined;
  line: number | undefined;
  heading?: number;
  content?: string;
}

function findByCommonMark(text: string): Found[] {
  return fromMarkdown(text).children.flatMap((node): Found[] => {
    const at = { offset: node.position?.start.offset, line: node.position?.start.line };
    if (node.type === 'heading') return [{ ...at, heading: node.depth }];
    return node.type === 'code' ? [{ ...at, content: node.value.replaceAll('\r\n', '\n') }] : [];
  });
}

function findByScanner(text: string): Found[] {
  return scanBlocks(text).flatMap((block): Found[] => {
    const at = { offset: block.offset, line: block.line };
    if (block.kind === 'heading') return [{ ...at, heading: block.level }];
    if (block.kind !== 'fence') return [];
    // CommonMark counts the last line ending as part of the fence
    return [{ ...at, content: fenceContent(text, block).replaceAll('\r\n', '\n').replace(/\n$/, '') }];
  });
}

/** Only blocks are compared, not text inside a heading. Unclosed fences are left out: they are an error here. */
describe('against CommonMark', () => {
  propertyTest('headings and fences are at the same offsets, with the same content', () => {
    fc.assert(
      fc.property(document, (text) => {
        fc.pre(fences(text).every(({ closed }) => closed));
        expect(findByScanner(text)).toEqual(findByCommonMark(text));
      }),
      runs(1000),
    );
  });
});
