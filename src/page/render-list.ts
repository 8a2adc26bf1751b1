/** The list of sessions that `teddy serve` shows, and the page for visitors without access. */
import type { Hash } from '../ports/project.ts';
import { countOf, formatCost } from '../session/spending/describe-spending.ts';
import { formatCount } from '../session/text/format-count.ts';
import { groupBy } from '../session/text/group-by.ts';
import type { Spending } from '../session/spending/spending.ts';
import { html, markup, withCode, type Html } from './html.ts';
import css from './list.css?raw';
import script from './list-script.js?raw';
import { pageStyle, toSource } from './render-page.ts';

/** A session's row in the list; `SessionOverview` says what the fields promise. */
interface ListedRow {
  session: string;
  line: string;
  turns: number;
  state: string;
  /** The state in words. */
  words: string;
  /** The state, or how the last run ended. */
  end: string;
  awaitsVerdict: boolean;
  beside: { line: string; has: 'plan' | 'code' } | null;
  title: string;
  asked: string | null;
  updated: string;
  current: boolean;
  conversationBranches: readonly string[];
  agent: string | null;
  changed: readonly [files: number, added: number, removed: number] | null;
  spent: Spending | null;
  waiting: readonly { line: string; turn: string; from: string | null; show: string }[];
}

/** Returns the style and script sources for a content policy. */
export function listSources(hash: Hash): { style: string; script: string } {
  return { style: toSource(hash(css)), script: toSource(hash(script)) };
}

/**
 * Renders what waits for the user, then the other sessions by day, in the given order and in this machine's time zone.
 * Hides rows without one of the query's words or with another state; `waiting` is a state too.
 */
export function renderList(
  sessions: readonly ListedRow[],
  filter: { query: string; state: string },
  now: Date,
): string {
  const { query, state } = filter;
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const toDay = dayNamer(now);
  const rows = sessions.map((one) => toRow(one, toDay(one.updated)));
  const isShown = ({ text, states }: Row) =>
    words.every((word) => text.includes(word)) && (state === '' || states.includes(state));
  const shown = new Set(rows.filter(isShown));
  const all = countOf(rows.length, 'session');
  const known = new Set([state, ...rows.flatMap(({ states }) => states)]);
  known.delete('');
  const isWaiting = (row: Row | undefined) => row !== undefined && row.waits.length > 0;
  const days = groupBy(rows, (row) => (isWaiting(row) ? 'Waiting for you' : row.day));
  const sections = [...days].toSorted(([, [one]], [, [other]]) => Number(isWaiting(other)) - Number(isWaiting(one)));
  return renderDocument(
    'Sessions',
    html`<h1>Sessions</h1>
      <form role="search" action="/" method="get" autocomplete="off">
        <label>Search <input type="search" name="q" value="${query}" /></label>
        <label
          >State
          <select name="state">
            <option value="">all</option>
            ${[...known].toSorted().map((one) => html`<option ${one === state && html`selected`}>${one}</option>`)}
          </select></label
        >
        <button>Filter</button>
        <span role="status" data-all="${all}"
          >${shown.size < rows.length && `${formatCount(shown.size)} of `}${all}</span
        >
      </form>
      ${sections.map(
        ([day, own]) =>
          html`<section ${!own.some((row) => shown.has(row)) && html`hidden`}>
            <h2>${day}</h2>
            <ul>
              ${own.map((row) => renderRow(row, shown.has(row)))}
            </ul>
          </section>`,
      )}
      ${rows.length === 0 && html`<p>No sessions are in progress here. Begin in a terminal: <code>teddy new my-first-session</code> starts a session, and <code>teddy plan -m "what you want"</code> asks for a plan, which then waits here. <code>teddy capture install</code> records what other agents do.</p>`}
      ${markup(`<script>${script}</script>`)}`,
  );
}

type Row = ReturnType<typeof toRow>;

/** Adds why the session waits for the user, and what the filter compares. */
function toRow(one: ListedRow, day: string) {
  const { session, line, words, end, asked, title, agent } = one;
  const waits = listWaits(one);
  const states = waits.length > 0 ? [end, 'waiting'] : [end];
  const text = [session, line, words, ...states, asked, title, agent ?? 'teddy'].join(' ').toLowerCase();
  return { one, day, waits, states, text };
}

function listWaits({ state, line, beside, agent, awaitsVerdict, waiting }: ListedRow): Html[] {
  const planned = beside?.has === 'plan' ? beside.line : line;
  const isOwn = state === 'pending' && !waiting.some((one) => one.line === planned);
  const on = planned !== line && html` on <bdi>${planned}</bdi>`;
  return [
    ...waiting.map(
      ({ turn, from, show }) =>
        html`<p>
          The plan of turn ${turn} needs your approval${from !== null && `; ${from} asked for it`}: <code>${show}</code>
        </p>`,
    ),
    ...(isOwn ? [html`<p>The plan${on} waits until it is run, changed or refused.</p>`] : []),
    ...(awaitsVerdict ? [html`<p>${agent ?? 'An agent'} waits for your verdict on its plan.</p>`] : []),
  ];
}

const weekday = new Intl.DateTimeFormat('en-GB', { weekday: 'long' });
const date = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long' });

function dayNamer(now: Date): (iso: string) => string {
  const yesterday = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1);
  const names = new Map([
    ['Invalid Date', 'Unknown day'],
    [yesterday.toDateString(), 'Yesterday'],
    [now.toDateString(), 'Today'],
  ]);
  return (iso) => {
    const at = new Date(iso);
    const name = names.get(at.toDateString()) ?? `${weekday.format(at)}, ${date.format(at)}`;
    names.set(at.toDateString(), name);
    return name;
  };
}

function renderRow({ one, day, states, waits, text }: Row, isShown: boolean): Html {
  const { session, line, title, asked, agent, beside, turns, changed, spent, updated, current } = one;
  const name = line === `teddy/${session}` ? session : line;
  const branches = one.conversationBranches.length;
  const where = name === session ? session : `${session} on ${line}`;
  const at = new Date(updated);
  const time = [at.getHours(), at.getMinutes()].map((part) => String(part).padStart(2, '0')).join(':');
  return html`<li data-text="${text}" data-state="${states.join(' ')}" ${!isShown && html`hidden`}>
    <div>
      <a href="/sessions/${encodeURIComponent(name)}" ${current && html`aria-current="true"`}
        >${asked || title || session}</a
      >
      <small
        >${where} ·
        ${agent ?? 'teddy'}${beside?.has === 'code' && html` · code on ${beside.line}`}${branches > 0 && html` · +${countOf(branches, 'branch', 'branches')}`}</small
      >${waits}
    </div>
    <span class="pill ${toTone(one)}">${one.words}</span>
    <span>${changed !== null && renderChanged(changed)}</span>
    <span>${countOf(turns, 'turn')}</span>
    <span>${spent !== null && renderCost(spent)}</span>
    <time datetime="${updated}">${waits.length > 0 && `${day}, `}${time}</time>
  </li>`;
}

function toTone({ state, end, awaitsVerdict }: ListedRow): string {
  if (state === 'pending' || awaitsVerdict) return 'wait';
  if (end === 'landed' || end === 'committed') return 'good';
  return end === 'failed' ? 'bad' : end === 'aborted' || end === 'skipped' ? 'warn' : 'quiet';
}

function renderChanged([files, added, removed]: NonNullable<ListedRow['changed']>): Html {
  if (added + removed === 0) return html`${countOf(files, 'file')}`;
  return html`${countOf(files, 'file')} <b class="plus">+${formatCount(added)}</b>
    <b class="minus">−${formatCount(removed)}</b>`;
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
    : withCode(hint ?? '');
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
        ${pageStyle} ${markup(`<style>${css}</style>`)}
      </head>
      <body>
        <main id="list">${body}</main>
      </body>
    </html> `;
  return `${document.markup.trim()}\n`;
}
