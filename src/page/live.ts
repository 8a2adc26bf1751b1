/** The parts that a `teddy serve` page has in addition to a page in a file: work in progress, and forms to continue. */
import { describeAction } from '../plan/actions/actions.ts';
import type { Action } from '../plan/plan.ts';
import type { Hash } from '../ports/project.ts';
import { html, markup, type Html } from './html.ts';
import css from './live.css?raw';
import script from './live-script.js?raw';
import { toSource, type LiveParts } from './render-page.ts';
import type { PageTurn, SessionPage } from './session-page.ts';
import { lastWord } from './turn-state.ts';

export interface LiveOptions {
  /** True, or a sentence that explains why the user cannot send a message here. */
  maySay: true | string;
  /**
   * True when the pending plan may run from here: HEAD is on the line, and nothing is in the way. Otherwise a sentence
   * that explains why not.
   */
  mayAct: true | string;
}

export const liveStyle = markup(`<style>${css}</style>`);
export const liveScript = markup(`<script>${script}</script>`);

/** Returns the style and script sources for a content policy. */
export function liveSources(hash: Hash): { style: string; script: string } {
  return { style: toSource(hash(css)), script: toSource(hash(script)) };
}

/** The script finds the turns as `<article class="turn" id="t02" data-turn="02">` in `#stream`. */
export function renderLive(page: SessionPage, live: LiveOptions): LiveParts {
  const controls = html`<a id="live-jump" href="#live">Continue</a>
    <section id="live" aria-label="Continue" data-turns="${JSON.stringify(toTurnVersions(page))}">
      <h2>Continue <bdi>${page.source.line}</bdi></h2>
      <noscript
        ><p>
          Without JavaScript, this page is read-only. Continue in a terminal with <code>teddy plan</code>.
        </p></noscript
      >
      <p id="live-state" role="status">Connecting ...</p>
      <div id="live-act" hidden>
        <p><strong id="live-title"></strong> <button type="button" id="live-stop">Stop</button></p>
        <ol id="live-actions"></ol>
        <pre id="live-text" tabindex="0" role="log" aria-label="The text received so far" hidden></pre>
        <form id="live-question" hidden></form>
      </div>
      <div id="live-elsewhere"></div>
      <ul id="live-notices"></ul>
      <p id="live-error" role="alert" hidden></p>
      ${renderControls(page, live)}
    </section>
    ${liveScript}`;
  return { head: liveStyle, controls };
}

/** Pairs each turn with a version; a page that shows this version needs no update. */
export function toTurnVersions({ turns }: SessionPage): [turn: string, version: string][] {
  return turns.map(({ turn, commits, undoneBy, partlyUndoneBy }) => [
    turn,
    `${commits.at(-1)?.commit.slice(0, 12) ?? ''}${undoneBy === null ? '' : '-undone'}${partlyUndoneBy === null ? '' : '-partly-undone'}`,
  ]);
}

/** Renders the forms in their current state. */
export function renderControls(page: SessionPage, live: LiveOptions): Html {
  const own = page.turns.filter(({ line }) => line === page.source.line);
  const last = (own.length === 0 ? page.turns : own).at(-1);
  const pending = last?.status === 'planned' ? last : null;
  const judged = pending ?? (last !== undefined && isHandedIn(last) ? last : null);
  return html`<div id="live-controls" data-plan="${judged?.plan?.sha256 ?? ''}">
    ${pending === null ? null : renderPending(pending, live)}
    ${judged === null || live.maySay !== true ? null : renderJudging(judged)}
    ${live.maySay === true ? renderSaying(pending, last) : renderReason(live.maySay)}
  </div>`;
}

/** Returns true if the turn has another agent's plan that nobody has judged and whose agent is still waiting. */
function isHandedIn(turn: PageTurn): boolean {
  return turn.plan?.isForeign === true && turn.status === 'open' && lastWord(turn) === null;
}

/** The form below rejects teddy's own plan, because it also asks what to do instead. */
function renderJudging(judged: PageTurn): Html | null {
  const { turn, plan } = judged;
  if (plan === null || lastWord(judged) === 'approved') return null;
  if (!plan.isExact)
    return renderReason(
      `The page does not show the whole plan, so you cannot judge it here. Run \`teddy show ${turn}\`.`,
    );
  const lines = plan.source.text.replace(/\n$/, '').split('\n');
  const button = (value: string, text: string) => html`<button type="submit" value="${value}">${text}</button>`;
  return html`<form id="live-judge">
    <fieldset>
      <legend>What is your verdict on the plan of turn <a href="#t${turn}">${turn}</a>?</legend>
      <details>
        <summary>Comment on its lines</summary>
        <ol id="live-lines">
          ${lines.map((line, at) => html`<li><button type="button" data-line="${at + 1}" aria-label="Comment on line ${at + 1}: ${line.trim()}">${line === '' ? ' ' : line}</button></li>`)}
        </ol>
      </details>
      <label for="live-verdict">Your comment (required for a rejection)</label>
      <textarea id="live-verdict" rows="2"></textarea>
      <p>${button('approve', 'Approve the plan')} ${plan.isForeign ? button('reject', 'Reject the plan') : null}</p>
    </fieldset>
  </form>`;
}

function renderPending({ turn, plan }: PageTurn, { mayAct }: LiveOptions): Html {
  const parsed = plan?.parsed ?? null;
  // The user can approve only a plan that the page shows in full.
  const isWhole = plan !== null && plan.isExact && parsed !== null;
  const reason = isWhole
    ? mayAct
    : 'The page does not show the whole plan, so you cannot run it here. Run `teddy execute`.';
  const [problem] = parsed?.problems ?? [];
  return html`<form id="live-run">
    <fieldset>
      <legend>The plan of turn <a href="#t${turn}">${turn}</a> is waiting for you</legend>
      ${problem === undefined ? null : html`<p class="live-warning">It is not valid: ${problem.message} Running it only records why.</p>`}
      ${(parsed?.plan.actions ?? []).map(renderAction)}
      ${reason === true ? html`<button type="submit">Run the ticked actions</button>` : renderReason(reason)}
    </fieldset>
  </form>`;
}

function renderAction(action: Action): Html {
  const { index, description } = action;
  return html`<label
    ><input type="checkbox" name="action" value="${index}" checked /> ${index}.
    <code>${describeAction(action)}</code> ${description === null ? null : html`<small>${description}</small>`}</label
  >`;
}

function renderSaying(pending: PageTurn | null, last: PageTurn | undefined): Html {
  const label = pending === null ? 'What do you want?' : 'What should be different, or why not?';
  const button = (value: string, text: string) => html`<button type="submit" value="${value}">${text}</button>`;
  return html`<form id="live-say">
    <label for="live-message">${label}</label>
    <textarea id="live-message" name="message" rows="4"></textarea>
    <p>
      ${pending === null ? button('say', 'Ask for a plan') : [button('ask', 'Ask about it'), button('instead', 'Do it differently'), button('reject', 'Reject it')]}
      ${last?.status === 'open' && last.plan?.isForeign !== true && button('again', `Ask again about turn ${last.turn}`)}
    </p>
  </form>`;
}

function renderReason(reason: string): Html {
  return html`<p class="live-warning">${reason}</p>`;
}
