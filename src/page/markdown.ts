/** Renders Markdown and code as HTML: none of the author's own markup, no images, and links only to https. */
import highlight from 'highlight.js/lib/common';
import MarkdownIt, { type MarkdownIt as Renderer } from 'markdown-it';
import { toVisible } from '../session/text/visible-text.ts';
import { html, markup, pre, type Html } from './html.ts';
import type { PageText } from './session-page.ts';

/** For longer code, colors would make a page several times as large, and nobody reads that much code in a plan. */
const maxHighlighted = 12_000;

const renderer = openRenderer();

/** Headings begin at `level` and never skip a level. */
export function renderMarkdown({ text, cut }: PageText, level: 4 | 5 = 4): Html {
  const tokens = renderer.parse(toVisible(text), {});
  const starts = tokens.filter(({ type }) => type === 'heading_open');
  let before = level - 1;
  for (const open of starts) {
    const close = tokens.indexOf(open) + 2;
    const wanted = Math.max(level, Number(open.tag.slice(1)) + level - 1);
    before = Math.min(6, wanted, before + 1);
    for (const token of [open, tokens[close]]) if (token !== undefined) token.tag = `h${before}`;
  }
  return html`<div class="md">${markup(renderer.renderer.render(tokens, renderer.options, {}))}</div>
    ${renderCut(cut)}`;
}

/** `language` is a fence's info string, or a file name extension. */
export function renderCode({ text, cut }: PageText, language: string): Html {
  const code = highlightCode(toVisible(text), language);
  return html`${pre(html`<code>${code === '' ? text : markup(code)}</code>`)}${renderCut(cut)}`;
}

/** Renders a note about the cut, so that no cut goes unnoticed. */
export function renderCut(cut: PageText['cut']): Html | null {
  if (cut === null) return null;
  const characters = cut.characters.toLocaleString('en-US');
  return html`<p class="cut">
    ${characters} more characters are not on this page: <code>${cut.command}</code> prints all of them.
  </p>`;
}

function openRenderer(): Renderer {
  const md = new MarkdownIt({ html: false, linkify: false, highlight: highlightCode });
  md.disable('image');
  md.validateLink = (address) => /^https:\/\//i.test(address);
  const { link_open: plain, fence } = md.renderer.rules;
  md.renderer.rules['link_open'] = (tokens, at, options, env, self) => {
    tokens[at]?.attrSet('rel', 'noopener noreferrer nofollow');
    return plain?.(tokens, at, options, env, self) ?? self.renderToken(tokens, at, options);
  };
  // A block that scrolls sideways must take the focus, for keyboard users.
  md.renderer.rules['fence'] = (tokens, at, options, env, self) =>
    (fence?.(tokens, at, options, env, self) ?? '').replace('<pre>', '<pre tabindex="0">');
  return md;
}

/** Returns the empty string to leave the code without colors. */
function highlightCode(code: string, language: string): string {
  const name = language.trim().split(/\s/)[0]?.toLowerCase() ?? '';
  if (name === '' || code.length > maxHighlighted || highlight.getLanguage(name) === undefined) return '';
  return highlight.highlight(code, { language: name, ignoreIllegals: true }).value;
}
