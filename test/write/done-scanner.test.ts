import fc from 'fast-check';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { describe, expect } from 'vitest';
import { openScanner, type Scanned, type ScannerOptions } from '../../src/write/done-scanner.ts';
import { expectLinear } from '../support/growth.ts';
import { runs } from '../support/runs.ts';
import { propertyTest, quickTest as test, slowTest } from '../support/slow-test.ts';

const encode = (text: string) => new TextEncoder().encode(text);
const latin1 = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');
const fromLatin1 = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'));

interface Outcome {
  content: string;
  lines: number;
  isDone: boolean;
  trailing: string;
}

/** Latin 1, so every byte is one character. */
function scan(pieces: Uint8Array[], options: Partial<ScannerOptions> = {}, isAnswerEnd = true): Outcome {
  const scanner = openScanner({ marker: 'DONE', isMarkdown: false, ...options });
  const parts: Scanned[] = pieces.map((piece) => scanner.next(piece));
  parts.push(scanner.end({ isAnswerEnd }));
  const joined = (of: 'content' | 'trailing') => parts.map((part) => latin1(part[of])).join('');
  return {
    content: joined('content'),
    lines: parts.reduce((sum, { lines }) => sum + lines, 0),
    isDone: parts.at(-1)?.isDone ?? false,
    trailing: joined('trailing'),
  };
}

const scanText = (text: string, options: Partial<ScannerOptions> = {}, isAnswerEnd = true) =>
  scan([encode(text)], options, isAnswerEnd);
const scanMarkdown = (text: string, isAnswerEnd = true) => scanText(text, { isMarkdown: true }, isAnswerEnd);

describe('a line DONE', () => {
  test('ends the content, which keeps its last newline', () => {
    expect(scanText('a\nb\nDONE\n')).toEqual({ content: 'a\nb\n', lines: 2, isDone: true, trailing: '' });
  });

  test.each(['DONE\n', 'DONE \n', 'DONE\t \n', 'DONE\r\n', 'DONE \r\r\n', 'DONE', 'DONE  ', 'DONE\r'])(
    'may end with spaces, tabs and carriage returns, and at the end of an answer without a newline: %j',
    (line) => {
      expect(scanText(`a\n${line}`)).toEqual({ content: 'a\n', lines: 1, isDone: true, trailing: '' });
    },
  );

  test.each([
    'DONE.',
    'done',
    'Done',
    '**DONE**',
    'DONE_FLAG=1',
    'We are DONE',
    ' DONE',
    '\tDONE',
    'DONE DONE',
    'DONEDONE',
    'DONE\u00a0',
    'DONE\0',
    'DONE\rx',
    'x\rDONE',
    'DON',
    'DONE-0123abcd',
    '\ufeffDONE',
  ])('is not %j', (line) => {
    const whole = latin1(encode(`a\n${line}\nb\n`));
    expect(scanText(`a\n${line}\nb\n`)).toMatchObject({ content: whole, isDone: false, trailing: '' });
    expect(scanText(`a\n${line}`)).toMatchObject({ isDone: false });
  });

  test('may be the first line, and the content is empty then', () => {
    expect(scanText('DONE\n')).toEqual({ content: '', lines: 0, isDone: true, trailing: '' });
  });

  test('counts without a newline only at the end of an answer', () => {
    expect(scanText('a\nDONE', {}, false)).toMatchObject({ content: 'a\nDONE', isDone: false });
    expect(scanText('a\nDONE \r', {}, false)).toMatchObject({ content: 'a\nDONE \r', isDone: false });
    expect(scanText('a\nDONE\n', {}, false)).toMatchObject({ content: 'a\n', isDone: true });
  });

  test('is detected as soon as its newline has come, and not before', () => {
    const scanner = openScanner({ marker: 'DONE', isMarkdown: false });
    expect(scanner.next(encode('a\nDONE')).isDone).toBe(false);
    expect(scanner.heldBytes()).toBe(4);
    expect(scanner.next(encode('\n')).isDone).toBe(true);
    expect(scanner.heldBytes()).toBe(0);
  });

  test('is the first of several; the text after it is trailing, not content', () => {
    expect(scanText('a\nDONE\nb\nDONE\nc')).toEqual({ content: 'a\n', lines: 1, isDone: true, trailing: 'b\nDONE\nc' });
  });

  test('ends the content for all later pieces', () => {
    const pieces = ['a\nDONE\nb', 'c\nDONE\n', 'd'].map(encode);
    expect(scan(pieces)).toMatchObject({ content: 'a\n', trailing: 'bc\nDONE\nd' });
  });

  test('is the session’s marker if it has one, and plain DONE is text then', () => {
    const options = { marker: 'DONE-0123abcd' } as const;
    expect(scanText('a\nDONE\nDONE-0123abc\nDONE-0123abcde\nDONE-0123abcd\n', options)).toMatchObject({
      content: 'a\nDONE\nDONE-0123abc\nDONE-0123abcde\n',
      isDone: true,
    });
  });

  test('leaves NUL, bytes that are not UTF-8, CRLF and lone carriage returns unchanged', () => {
    const content = '\0a\r\n\xff\xfe\xc3\r\rb\n\x80\n';
    expect(scan([fromLatin1(`${content}DONE\r\n`)])).toMatchObject({ content, isDone: true });
  });

  test('after an answer that ended within a line begins a new line', () => {
    const scanner = openScanner({ marker: 'DONE', isMarkdown: false });
    scanner.next(encode('a'));
    expect(scanner.end({ isAnswerEnd: true }).isDone).toBe(false);
    expect(scanner.next(encode('DONE\n'))).toMatchObject({ isDone: true, content: new Uint8Array(0) });
  });
});

describe('in a Markdown target a line DONE', () => {
  test.each([
    ['```', '```'],
    ['~~~', '~~~'],
    ['````', '`````'],
    ['   ```js', '   ```'],
    ['~~~ a`b', '~~~~  '],
    ['```', '```\r'],
    ['```js\r', '```\t'],
  ])('inside the code fence %j is text, and after %j it counts', (opening, closing) => {
    const content = `${opening}\nDONE\ncode\n${closing}\n`;
    expect(scanMarkdown(`${content}DONE\nmore`)).toMatchObject({ content, isDone: true, trailing: 'more' });
  });

  test.each([
    ['```', '~~~'],
    ['````', '```'],
    ['```', '    ```'],
    ['```', '\t```'],
    ['```', '``` js'],
    ['```', '```\\'],
    ['```', '` ``'],
  ])('is still inside if %j is followed by %j', (opening, line) => {
    const content = `${opening}\n${line}\nDONE\nmore\n`;
    expect(scanMarkdown(content)).toMatchObject({ content, isDone: false });
  });

  test.each(['``', '    ```', '\t```', '``` a`b', 'a ```', '> ```', '`~`', '~~', ' \t```', '```\0`'])(
    'is not inside a fence after %j',
    (line) => {
      expect(scanMarkdown(`${line}\nDONE\nmore\n`)).toMatchObject({ content: `${line}\n`, isDone: true });
    },
  );

  test('counts inside an open fence when it is the last line of an answer', () => {
    for (const end of ['', '\n', '\r\n', '\n\n \t\r\n', ' \n  ']) {
      expect(scanMarkdown(`\`\`\`\ncode\nDONE${end}`)).toMatchObject({ content: '```\ncode\n', isDone: true });
    }
  });

  test('returns the white space after such a last line as trailing', () => {
    expect(scanMarkdown('```\nDONE \n \n\t')).toEqual({ content: '```\n', lines: 1, isDone: true, trailing: ' \n\t' });
  });

  test('does not count inside an open fence if the answer was cut', () => {
    expect(scanMarkdown('```\nDONE\n\n', false)).toMatchObject({ content: '```\nDONE\n\n', lines: 3, isDone: false });
  });

  test('counts as the last of several in an open fence, and those before it are content', () => {
    expect(scanMarkdown('```\nDONE\n\nDONE\n')).toMatchObject({ content: '```\nDONE\n\n', lines: 3, isDone: true });
  });

  test('counts after a fence that was closed after a marker that was held back', () => {
    expect(scanMarkdown('```\nDONE\n  \n  ```\nDONE\nx')).toMatchObject({
      content: '```\nDONE\n  \n  ```\n',
      trailing: 'x',
    });
    expect(scanMarkdown('```\nDONE\n    ```\nDONE\nx')).toMatchObject({ isDone: false });
  });

  propertyTest('is inside the fence that the earlier content left open', () => {
    const before = encode('```\ncode\n');
    const options = { isMarkdown: true, before };
    expect(scanText('DONE\n```\nDONE\nx', options)).toMatchObject({ content: 'DONE\n```\n', trailing: 'x' });
    expect(scanText('DONE\n```\nDONE\nx', { ...options, isMarkdown: false })).toMatchObject({ content: '' });
  });
});

// --- properties -----------------------------------------------------------------------------------------------------

const texts = [
  'DONE',
  'DO',
  'D',
  'E',
  'DONE-0123abcd',
  '\n',
  '\n',
  '\nDONE\n',
  '\r\n',
  '\r',
  ' ',
  '   ',
  '\t',
  'x',
  '\xc3',
  '\0',
  '```',
  '`',
  '\n```\n',
  '\n~~~\n',
  '~',
  '````',
  'DONE \r\n',
  '\nDONE',
];
const pieceOfText = fc.constantFrom(...texts);
const anyText = fc.array(pieceOfText, { maxLength: 24 }).map((parts) => parts.join(''));
const anyOptions = fc.record({
  marker: fc.constantFrom('DONE' as const, 'DONE-0123abcd' as const),
  isMarkdown: fc.boolean(),
});
const often = runs(3000);

function inPieces(bytes: Uint8Array, cuts: number[]): Uint8Array[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
  return places.slice(1).map((end, at) => bytes.slice(places[at], end));
}

/** The same by whole lines, slowly, and by CommonMark's own reading of the text before each line. */
function oracle(text: string, { marker, isMarkdown }: ScannerOptions, isAnswerEnd: boolean): Outcome {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const isMarker = (line: string) => new RegExp(`^${marker}[ \\t\\r]*\\n?$`).test(line);
  const last = lines.findLastIndex((line) => /[^ \t\r\n]/.test(line));
  const found = lines.findIndex((line, at) => {
    if (!isMarker(line)) return false;
    if (at === last && isAnswerEnd) return true;
    return line.endsWith('\n') && !(isMarkdown && isInFence(lines.slice(0, at).join('')));
  });
  const content = (found === -1 ? lines : lines.slice(0, found)).join('');
  const trailing = found === -1 ? '' : lines.slice(found + 1).join('');
  return { content, lines: content.split('\n').length - 1, isDone: found !== -1, trailing };
}

function isInFence(text: string): boolean {
  let open: string | null = null;
  for (const line of text.split('\n').slice(0, -1)) {
    const fence = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)$/s.exec(line);
    const closing = /^ {0,3}(`{3,}|~{3,})[ \t\r]*$/.exec(line)?.[1];
    if (open === null) open = fence?.[1] ?? null;
    else if (closing?.[0] === open[0] && closing !== undefined && closing.length >= open.length) open = null;
  }
  return open !== null;
}

describe('for any text', () => {
  propertyTest('the cuts between pieces make no difference', () => {
    fc.assert(
      fc.property(
        anyText,
        anyOptions,
        fc.boolean(),
        fc.array(fc.nat(), { maxLength: 12 }),
        (text, options, isEnd, cuts) => {
          const bytes = fromLatin1(text);
          const whole = scan([bytes], options, isEnd);
          expect(scan(inPieces(bytes, cuts), options, isEnd)).toEqual(whole);
          expect(
            scan(
              [...bytes].map((byte) => Uint8Array.of(byte)),
              options,
              isEnd,
            ),
          ).toEqual(whole);
        },
      ),
      often,
    );
  });

  propertyTest('content, marker line and rest add up to the text', () => {
    fc.assert(
      fc.property(anyText, anyOptions, fc.boolean(), (text, options, isEnd) => {
        const { content, isDone, trailing } = scan([fromLatin1(text)], options, isEnd);
        expect(text.startsWith(content) && text.endsWith(trailing)).toBe(true);
        const line = text.slice(content.length, text.length - trailing.length);
        expect(line).toMatch(isDone ? new RegExp(`^${options.marker}[ \\t\\r]*\\n?$`) : /^$/);
      }),
      often,
    );
  });

  propertyTest('a slow reading by whole lines finds the same', () => {
    fc.assert(
      fc.property(anyText, anyOptions, fc.boolean(), (text, options, isEnd) => {
        expect(scan([fromLatin1(text)], options, isEnd)).toEqual(oracle(text, options, isEnd));
      }),
      often,
    );
  });

  propertyTest('fences are open exactly as in CommonMark', () => {
    const parts = fc.constantFrom('`', '``', '```', '~~~', '~', ' ', '   ', '\t', 'a', '\n', '\n', '\n```\n', '````');
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 16 }), (texts) => {
        const text = `${texts.join('')}\n`;
        const probe = 'DONE\nafter';
        const last = fromMarkdown(text + probe).children.at(-1);
        const isFenced = last?.type === 'code' && last.value.endsWith(probe);
        expect(scanMarkdown(`${text}${probe}`).isDone).toBe(!isFenced);
      }),
      often,
    );
  });
});

describe('2 MiB', () => {
  const size = 2 * 1024 * 1024;
  const sources = {
    'lines of text': 'const value = compute(input);\n',
    'nothing but newlines': '\n',
    'one line': 'x',
    'lines that begin like the marker': 'DON\n',
    'markers in a fence': 'DONE\n',
    'padding behind a marker': ' ',
  };
  const cutting = { 'one piece': size, 'pieces of 80 bytes': 80 };
  const cases = Object.entries(sources).flatMap(([name, unit]) =>
    Object.entries(cutting).map(([cuts, length]) => ({ name, unit, cuts, length })),
  );
  const toBytes = (unit: string, length = size) => {
    const start = unit === 'DONE\n' ? '```\n' : unit === ' ' ? 'DONE' : '';
    return encode(start + unit.repeat(Math.floor((length - start.length) / unit.length)));
  };

  slowTest.each(cases)('of $name in $cuts take four times as long as a quarter of them', async ({ unit, length }) => {
    const cut = (bytes: Uint8Array) =>
      Array.from({ length: Math.ceil(bytes.length / length) }, (_, at) =>
        bytes.subarray(at * length, (at + 1) * length),
      );
    await expectLinear(
      size,
      (length) => toBytes(unit, length),
      (bytes) => expect(countReceived(cut(bytes))).toBe(bytes.length),
    );
  });

  slowTest.each(Object.entries(sources))(
    'or a fifth of them, of %s in single bytes, take proportional time too',
    async (_, unit) => {
      await expectLinear(
        size / 5,
        (length) => toBytes(unit, length),
        (bytes) => expect(countReceived(singleBytes(bytes))).toBe(bytes.length),
      );
    },
  );
});

/** The same array each time, because making ten million pieces takes longer than scanning them. */
function* singleBytes(bytes: Uint8Array): Iterable<Uint8Array> {
  const piece = new Uint8Array(1);
  for (const byte of bytes) {
    piece[0] = byte;
    yield piece;
  }
}

function countReceived(pieces: Iterable<Uint8Array>): number {
  const scanner = openScanner({ marker: 'DONE', isMarkdown: true });
  let received = 0;
  for (const piece of pieces) received += scanner.next(piece).content.length;
  received += scanner.end({ isAnswerEnd: false }).content.length;
  return received;
}
