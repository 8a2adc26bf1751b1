/** Renders the page of a session as HTML. Pure: the same values give the same bytes. */
import MarkdownIt from 'markdown-it';
import highlight from 'highlight.js/lib/common';
import css from './page.css?raw';
import script from './page-script.js?raw';
import type { PageTurn, SessionPage } from './session-page.ts';

/** What a page in a browser that is connected to `teddy serve` has more than the one in a file. */
export interface LiveOptions {
  /** The pending plan may be run from here: HEAD is on the line, and nothing is in the way. Else why it may not, a sentence. */
  mayAct: true | string;
}

export function renderSessionPage(page: SessionPage, live: LiveOptions | null = null): string {
  return `<!doctype html><title>${page.title}</title>${css}${script}${live === null ? '' : 'live'}${page.turns.map((turn) => renderTurn(turn, page)).join('')}`;
}

/** One turn, as it stands in the stream of the page: a live page puts it in the place of the one that it has. */
export function renderTurn(turn: PageTurn, _page: SessionPage): string {
  return `<article id="t${turn.turn}">${new MarkdownIt().render(highlight.highlight('1', { language: 'js' }).value)}</article>`;
}
