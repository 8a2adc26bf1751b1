/** Escapes somebody else's text for Markdown, so that it adds no structure, HTML, mention or reference. */
import { toVisible } from '../../session/text/visible-text.ts';

// Forges resolve entities before they look for references, so only a character inside a reference breaks it up.
const apart = '&#8203;';

/** Renders one line as text in a paragraph, a table cell or a heading. */
export function escapeMarkdown(text: string): string {
  return splitReferences(toLine(text).trim(), (rest) =>
    rest
      .replace(/[\\`*_[\]|~$#=]|^\//g, '\\$&')
      .replace(/^([-+]|\d{1,9}[.)])/, (mark) => `${mark.slice(0, -1)}\\${mark.slice(-1)}`),
  );
}

/** Renders one line between HTML tags. */
export function escapeHtml(text: string): string {
  return splitReferences(toLine(text).trim(), (rest) => rest);
}

function toLine(text: string): string {
  return toVisible(text).replace(/[\n\t]+/g, ' ');
}

/**
 * Breaks up `@name`, `#1`, `!1`, `GH-1`, `owner/name#1`, `CVE-1`, `:emoji:`, commit hashes and URLs, and what else
 * GitLab finds in text, even behind a backslash: `~label`, `%milestone`, `$1`, `&1`, `group/project>`, `[issue:1]`, an
 * issue of Jira, `[+ added +]` and `[[_TOC_]]`. So a forge does not link, notify, close or show anything.
 */
function splitReferences(text: string, escape: (text: string) => string): string {
  return escape(text.replace(/&/g, '\u{F0000}'))
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/\u{F0000}/gu, '&amp;')
    .replace(/([#!]|&amp;)(?=\d)/g, `$1${apart}`)
    .replace(/[~%$](?=\S|$)|@|[{[](?=[+-])/g, `$&${apart}`)
    .replace(/TO(?=C(?:\\?_)?\\?\])/gi, `$&${apart}`)
    .replace(/(?<=[\w.-]\\?\/[\w.\\-]+)&gt;/g, `${apart}&gt;`)
    .replace(/([a-z]\w*-(?=\d)|GHSA-(?=\w)|:(?=[\w+\\-]))/gi, `$1${apart}`)
    .replace(/:\/\//g, `:${apart}//`)
    .replace(/\b(www)\./gi, `$1${apart}.`)
    .replace(/(?<!\w)[0-9a-f]{7,64}(?!\w)/gi, (hash) => hash.replace(/.{6}(?=.)/g, `$&${apart}`));
}

/** Renders several lines as a block quote. */
export function quoteMarkdown(text: string): string {
  return toVisible(text.trimEnd())
    .split('\n')
    .map((line) => {
      const indent = /^[ \t]*/.exec(line)?.[0].replace(/\t/g, '    ') ?? '';
      return `> ${'&nbsp;'.repeat(indent.length)}${escapeMarkdown(line)}`.trimEnd();
    })
    .join('  \n');
}

/** Renders one line as code, in which no character is special. */
export function toCode(text: string): string {
  const line = toLine(text);
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  const pad = line === '' || /^[` ]|[` ]$/.test(line) ? ' ' : '';
  return `${fence}${pad}${line}${pad}${fence}`;
}

/** Renders one line as code in a table, where `|` would end the cell even in code. */
export function toCodeCell(text: string): string {
  return toCode(text).replace(/\|/g, '\\|');
}
