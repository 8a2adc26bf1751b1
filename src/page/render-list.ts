/** The list of sessions that `teddy serve` shows, and the page for visitors without access. */
import type { Hash } from '../ports/project.ts';
import { describeState, nameEnd, type StateFacts } from '../session/lines/session-lines.ts';
import { countOf, formatCost } from '../session/spending/describe-spending.ts';
import { formatCount } from '../session/text/format-count.ts';
import { groupBy } from '../session/text/group-by.ts';
import type { Spending } from '../session/spending/spending.ts';
import { html, markup, type Html } from './html.ts';
import css from './list.css?raw';
import script from './list-script.js?raw';
import { pageStyle, toSource } from './render-page.ts';

/** A session's row in the list. */
interface ListedRow extends StateFacts {
  session: string;
  /** A branch, such as `teddy/20260124-add-login`. */
  line: string;
  turns: number;
  /** Another branch of the session that contains the plan or the code to which the state refers. */
  beside: { line: string; has: 'plan' | 'code' } | null;
  /** The last step's title. */
  title: string;
  /** The beginning of the first message; null before it. */
  asked: string | null;
  /** ISO 8601. */
  updated: string;
  current: boolean;
  conversationBranches: readonly string[];
  /** The other agent that owns the session; null for teddy's own sessions. */
  agent: string | null;
  /** Null when unknown. */
  changed: readonly [files: number, added: number, removed: number] | null;
  /** Null when nobody counted the spending. */
  spent: Spending | null;
  /** Other people's plans that wait for this user's approval. */
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
  const rows = sessions.map((one) => {
    const waits = listWaits(one);
    const states = [nameEnd(one), ...(waits.length > 0 ? ['waiting'] : [])];
    const { session, line, asked, title, agent } = one;
    const text = [session, line, describeState(one), ...states, asked, title, agent ?? 'teddy'].join(' ').toLowerCase();
    const isShown = words.every((word) => text.includes(word)) && (state === '' || states.includes(state));
    return { one, waits, day: toDay(one.updated), states: states.join(' '), text, isShown };
  });
  const all = countOf(rows.length, 'session');
  const shown = rows.filter(({ isShown }) => isShown).length;
  const known = new Set([state, ...rows.flatMap(({ states }) => states.split(' '))]);
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
        <span role="status" data-all="${all}">${shown < rows.length && `${formatCount(shown)} of `}${all}</span>
      </form>
      ${sections.map(
        ([day, own]) =>
          html`<section ${!own.some(({ isShown }) => isShown) && html`hidden`}>
            <h2>${day}</h2>
            <ul>
              ${own.map(renderRow)}
            </ul>
          </section>`,
      )}
      ${rows.length === 0 && html`<p>No sessions are in progress here. Begin in a terminal: <code>teddy new my-first-session</code> starts a session, and <code>teddy plan -m "what you want"</code> asks for a plan, which then waits here. <code>teddy capture install</code> records what other agents do.</p>`}
      ${markup(`<script>${script}</script>`)}`,
  );
}

interface Row {
  one: ListedRow;
  day: string;
  /** The reasons why it waits for the user; usually none. */
  waits: Html[];
  /** The words that the filter searches, and the states that it knows. */
  text: string;
  states: string;
  isShown: boolean;
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

function renderRow({ one, day, states, waits, text, isShown }: Row): Html {
  const { session, line, title, asked, agent, beside, turns, changed, spent, updated, current } = one;
  const name = line === `teddy/${session}` ? session : line;
  const branches = one.conversationBranches.length;
  const about = [
    name === session ? session : `${session} on ${line}`,
    agent ?? 'teddy',
    ...(beside?.has === 'code' ? [`code on ${beside.line}`] : []),
    ...(branches > 0 ? [`+${countOf(branches, 'branch', 'branches')}`] : []),
  ];
  const at = new Date(updated);
  const time = [at.getHours(), at.getMinutes()].map((part) => String(part).padStart(2, '0')).join(':');
  return html`<li data-text="${text}" data-state="${states}" ${!isShown && html`hidden`}>
    <div>
      <a href="/sessions/${encodeURIComponent(name)}" ${current && html`aria-current="true"`}
        >${asked || title || session}</a
      >
      <small>${about.join(' · ')}</small>${waits}
    </div>
    <span class="pill ${toTone(one)}">${describeState(one)}</span>
    <span>${changed !== null && renderChanged(changed)}</span>
    <span>${countOf(turns, 'turn')}</span>
    <span>${spent !== null && renderCost(spent)}</span>
    <time datetime="${updated}">${waits.length > 0 && `${day}, `}${time}</time>
  </li>`;
}

const tones: Partial<Record<string, string>> = {
  landed: 'good',
  committed: 'good',
  failed: 'bad',
  aborted: 'warn',
  skipped: 'warn',
};

function toTone(one: ListedRow): string {
  return one.state === 'pending' || one.awaitsVerdict ? 'wait' : (tones[nameEnd(one)] ?? 'quiet');
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
        ${pageStyle} ${markup(`<style>${css}</style>`)}
      </head>
      <body>
        <main id="list">${body}</main>
      </body>
    </html> `;
  return `${document.markup.trim()}\n`;
}
