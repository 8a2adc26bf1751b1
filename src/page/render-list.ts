/** The list of sessions that `teddy serve` shows, and the page for visitors without access. */
import type { SessionState } from '../session/lines/session-lines.ts';
import { countOf, formatCost } from '../session/spending/describe-spending.ts';
import { formatCount } from '../session/text/format-count.ts';
import type { Spending } from '../session/spending/spending.ts';
import { html, renderTime, type Html } from './html.ts';
import { liveScript, liveStyle } from './live.ts';
import { pageStyle } from './render-page.ts';

/** A session's row in the list. */
interface ListedRow {
  session: string;
  /** A branch, such as `teddy/20260124-add-login`. */
  line: string;
  remote: string | null;
  turns: number;
  state: SessionState;
  /** The commit when the state is `committed`. */
  committed: string | null;
  /** The squash, when only a note says that the session landed. */
  byNote: string | null;
  /** Another branch of the session that contains the plan or the code to which the state refers. */
  beside: { line: string; has: 'plan' | 'code' } | null;
  title: string;
  /** ISO 8601. */
  updated: string;
  current: boolean;
  conversationBranches: readonly string[];
  /** Null when nobody counted the spending. */
  spent: Spending | null;
}

/** Renders the sessions in the given order. `query` keeps only sessions that contain each of its words. */
export function renderList(sessions: readonly ListedRow[], query: string): string {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = sessions.filter((one) => words.every((word) => toSearched(one).includes(word)));
  const all = countOf(sessions.length, 'session');
  const count = shown.length === sessions.length ? all : `${formatCount(shown.length)} of ${all}`;
  return renderDocument(
    'Sessions',
    html`<h1>Sessions</h1>
      <form role="search" action="/" method="get">
        <label for="live-query">Search</label> <input type="search" id="live-query" name="q" value="${query}" />
        <span id="live-count" role="status">${count}</span>
      </form>
      <table id="sessions">
        <thead>
          <tr>
            ${['Session', 'State', 'Turns', 'Cost', 'Last step', 'Changed'].map((name) => html`<th scope="col">${name}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${shown.map(renderRow)}
        </tbody>
      </table>
      ${sessions.length === 0 && html`<p>There are no sessions yet. Start one with <code>teddy new</code>.</p>`}
      ${liveScript}`,
  );
}

function toSearched({ session, line: branch, state, title }: ListedRow): string {
  return `${session} ${branch} ${state} ${title}`.toLowerCase();
}

function renderRow(row: ListedRow): Html {
  const { session, line: branch, title, turns, updated, current, spent, conversationBranches: branches, beside } = row;
  const link = `/sessions/${encodeURIComponent(session)}`;
  return html`<tr data-text="${toSearched(row)}">
    <td>
      <a href="${link}" ${current && html`aria-current="true"`}>${session}</a>
      ${branch !== `teddy/${session}` && html`<small>${branch}</small>`}
      ${beside !== null && html`<small>${beside.has} on ${beside.line}</small>`}
      ${branches.length > 0 && html`<small>+${countOf(branches.length, 'branch').replace(/branchs$/, 'branches')}</small>`}
    </td>
    <td class="live-${row.state}">${toState(row)}</td>
    <td>${turns}</td>
    <td>${spent !== null && renderCost(spent)}</td>
    <td>${title}</td>
    <td>${renderTime(updated)}</td>
  </tr>`;
}

function toState({ state, remote, committed, byNote }: ListedRow): string {
  if (state === 'pending') return 'pending plan';
  if (committed !== null) return `committed as ${committed.slice(0, 7)}`;
  if (byNote !== null) return 'landed, by note';
  return state === 'remote' && remote !== null ? `only on ${remote}` : state;
}

function renderCost({ answers, unreported, inputTokens, outputTokens, costUsd, estimatedUsd }: Spending): Html | null {
  if (answers === unreported) return null;
  const tokens = html`<small>${formatCount(inputTokens)} in, ${formatCount(outputTokens)} out</small>`;
  if (costUsd === null && estimatedUsd === undefined) return tokens;
  const about = estimatedUsd === undefined ? '' : 'about ';
  return html`${about}${formatCost((costUsd ?? 0) + (estimatedUsd ?? 0))} ${tokens}`;
}

/** Renders the page for a browser without access, or a request for something that does not exist. */
export function renderRefusal({ error, code, hint }: { error: string; code: string; hint?: string }): string {
  const isLocked = code === 'TOKEN_REFUSED' || code === 'CODE_REFUSED';
  const message = code === 'TOKEN_REFUSED' ? 'You can only open this page from your own terminal.' : error;
  const way = isLocked
    ? html`Run <code>teddy view</code> in the repository: it prints a link and opens it.`
    : (hint ?? '').split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part));
  return renderDocument(
    'Not opened',
    html`<h1>${isLocked ? 'Access denied' : 'This cannot be shown'}</h1>
      <p>${message}</p>
      <p>${way}</p>
      <p><small>${code}</small></p>`,
  );
}

function renderDocument(title: string, body: Html): string {
  const document = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} - teddy</title>
        ${pageStyle} ${liveStyle}
      </head>
      <body>
        <main id="list">${body}</main>
      </body>
    </html> `;
  return `${document.markup.trim()}\n`;
}
