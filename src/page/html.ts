/**
 * Builds HTML from values: escapes every text and makes invisible characters visible. hono's `html` helper only
 * escapes, and may return a promise; the page needs both in one synchronous step, for megabytes.
 */
import { toVisible } from '../session/text/visible-text.ts';

/** Markup, as opposed to text that still needs escaping. */
export class Html {
  readonly markup: string;
  constructor(markup: string) {
    this.markup = markup;
  }
}

type Value = string | number | Html | null | false | readonly Value[];

/** Escapes texts and joins lists; null and false add nothing. */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  const parts = withoutIndents(strings);
  return new Html(parts.reduce((all, part, at) => `${all}${render(values[at - 1] ?? null)}${part}`));
}

/** Renders text that keeps its white space. The element takes the focus, so that the keyboard can scroll it sideways. */
export function pre(text: string | Html | readonly (string | Html)[], name = ''): Html {
  const start = name === '' ? '<pre tabindex="0">' : `<pre class="${name}" tabindex="0">`;
  // An HTML parser drops a newline right after the tag.
  const parts = [text].flat().map((part) => (typeof part === 'string' ? escapeText(part) : part.markup));
  return new Html(`${start}\n${parts.join('')}</pre>`);
}

const known = new WeakMap<TemplateStringsArray, string[]>();

/** Removes the source's indentation, which is not part of the page. */
function withoutIndents(strings: TemplateStringsArray): string[] {
  const parts = known.get(strings) ?? strings.map((string) => string.replace(/\n\s+/g, '\n'));
  known.set(strings, parts);
  return parts;
}

/** Accepts markup from elsewhere whose texts are already escaped. */
export function markup(text: string): Html {
  return new Html(text);
}

/** Escapes text between tags. Does not escape quotes, which mean nothing between tags, and of which code is full. */
export function escapeText(text: string): string {
  return toVisible(text).replace(/[&<>]/g, (found) => entities[found] ?? found);
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

function render(value: Value): string {
  if (value === null || value === false) return '';
  if (value instanceof Html) return value.markup;
  // Most short texts need no escaping, and finding that out is quicker.
  if (typeof value === 'string' && /^[\t\n !#-%'-;=?-~]{0,400}$/.test(value)) return value;
  // The value may be in an attribute, and every attribute is in double quotes.
  if (typeof value === 'string') return escapeText(value).replaceAll('"', '&quot;');
  return typeof value === 'number' ? String(value) : value.map(render).join('');
}

/** Renders the parts of a sentence that are in back-ticks, such as commands, as code. */
export function withCode(text: string): Html {
  return html`${text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}

/** Returns the first line, cut to `max` characters. */
export function firstLine(text: string, max: number): string {
  const line = text.trimStart().split('\n', 1)[0] ?? '';
  const characters = Array.from(line.slice(0, 2 * max));
  return characters.length <= max ? line : `${characters.slice(0, max - 1).join('')}…`;
}

/** Renders a time as `2026-01-24 15:04` in UTC, so that every clone shows the same text. */
export function renderTime(iso: string): Html {
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC</time>`;
}
