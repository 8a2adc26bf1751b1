/**
 * HTML out of values: every text is escaped and made visible, whatever it is. hono's `html` helper does the first half, and may
 * answer with a promise; the page needs both, at once, for megabytes.
 */
import { toVisible } from '../session/text/visible-text.ts';

/** Markup, as opposed to a text that is still to be escaped. */
export class Html {
  readonly markup: string;
  constructor(markup: string) {
    this.markup = markup;
  }
}

type Value = string | number | Html | null | false | readonly Value[];

/** Texts are escaped, lists joined; null and false give nothing. */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  const parts = withoutIndents(strings);
  return new Html(parts.reduce((all, part, at) => `${all}${render(values[at - 1] ?? null)}${part}`));
}

/** Text that keeps its white space. What scrolls sideways has to be reached by the keyboard. */
export function pre(text: string | Html | readonly (string | Html)[], name = ''): Html {
  const start = name === '' ? '<pre tabindex="0">' : `<pre class="${name}" tabindex="0">`;
  // The parser of HTML drops a newline right after the tag.
  const parts = [text].flat().map((part) => (typeof part === 'string' ? escapeText(part) : part.markup));
  return new Html(`${start}\n${parts.join('')}</pre>`);
}

const known = new WeakMap<TemplateStringsArray, string[]>();

/** The indents of the source are no part of the page. */
function withoutIndents(strings: TemplateStringsArray): string[] {
  const parts = known.get(strings) ?? strings.map((string) => string.replace(/\n\s+/g, '\n'));
  known.set(strings, parts);
  return parts;
}

/** For markup that is made elsewhere, of texts that were escaped there. */
export function markup(text: string): Html {
  return new Html(text);
}

/** For what stands between two tags: quotes mean nothing there, and code is full of them. */
export function escapeText(text: string): string {
  return toVisible(text).replace(/[&<>]/g, (found) => entities[found] ?? found);
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

function render(value: Value): string {
  if (value === null || value === false) return '';
  if (value instanceof Html) return value.markup;
  // It may stand in an attribute, and these are all in double quotes.
  if (typeof value === 'string') return escapeText(value).replaceAll('"', '&quot;');
  return typeof value === 'number' ? String(value) : value.map(render).join('');
}

/** The first line, at most `max` characters of it. */
export function firstLine(text: string, max: number): string {
  const line = text.trimStart().split('\n', 1)[0] ?? '';
  const characters = Array.from(line.slice(0, 2 * max));
  return characters.length <= max ? line : `${characters.slice(0, max - 1).join('')}…`;
}

/** `2026-01-24 15:04`, in UTC: the same in every clone. */
export function renderTime(iso: string): Html {
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC</time>`;
}
