/** Somebody else's text in Markdown: it is read, and makes no structure, no HTML, no mention and no reference of its own. */
import { toVisible } from '../terminal.ts';

// Forges look for these after entities are resolved: only something between the characters keeps them apart.
const apart = '&#8203;';

/** One line, as text of a paragraph, a table's cell or a heading. */
export function escapeMarkdown(text: string): string {
  const line = toVisible(text)
    .replace(/[\n\t]+/g, ' ')
    .trim();
  return splitReferences(line, (rest) =>
    rest
      .replace(/[\\`*_[\]|~$#=]/g, '\\$&')
      .replace(/^([-+]|\d{1,9}[.)])/, (mark) => `${mark.slice(0, -1)}\\${mark.slice(-1)}`),
  );
}

/** One line between the tags of HTML. */
export function escapeHtml(text: string): string {
  return splitReferences(
    toVisible(text)
      .replace(/[\n\t]+/g, ' ')
      .trim(),
    (rest) => rest,
  );
}

/** `@name`, `#1`, `GH-1`, `owner/name#1`, URLs: what a forge would link, notify or close. */
function splitReferences(text: string, escape: (text: string) => string): string {
  return escape(text.replace(/&/g, '\u{F0000}'))
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/\u{F0000}/gu, '&amp;')
    .replace(/(\\?#)(?=\d)/g, `$1${apart}`)
    .replace(/@/g, `@${apart}`)
    .replace(/(GH-)(?=\d)/gi, `$1${apart}`)
    .replace(/:\/\//g, `:${apart}//`)
    .replace(/\b(www)\./gi, `$1${apart}.`);
}

/** Several lines as a block quote. */
export function quoteMarkdown(text: string): string {
  return toVisible(text.trimEnd())
    .split('\n')
    .map((line) => {
      const indent = /^[ \t]*/.exec(line)?.[0].replace(/\t/g, '    ') ?? '';
      return `> ${'&nbsp;'.repeat(indent.length)}${escapeMarkdown(line)}`.trimEnd();
    })
    .join('  \n');
}

/** One line as code: nothing in it means anything. */
export function toCode(text: string): string {
  const line = toVisible(text).replace(/[\n\t]+/g, ' ');
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  const pad = line === '' || /^[` ]|[` ]$/.test(line) ? ' ' : '';
  return `${fence}${pad}${line}${pad}${fence}`;
}

/** The same in a table, where `|` would end the cell even in code. */
export function toCodeCell(text: string): string {
  return toCode(text).replace(/\|/g, '\\|');
}
