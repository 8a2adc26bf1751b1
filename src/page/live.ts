/** The parts that a `teddy serve` page has in addition to a page in a file: work in progress, and forms to continue. */
import { describeAction } from '../plan/actions/actions.ts';
import type { Problem } from '../plan/match/problem.ts';
import type { Action } from '../plan/plan.ts';
import { countOf } from '../session/spending/describe-spending.ts';
import type { Hash } from '../ports/project.ts';
import { html, markup, withCode, type Html } from './html.ts';
import css from './live.css?raw';
import script from './live-script.js?raw';
import { toSource, type LiveParts } from './render-page.ts';
import type { PagePlan, PageTurn, SessionPage } from './session-page.ts';
import { isInvalid, lastWord } from './turn-state.ts';

export interface LiveOptions {
  /** True, or a sentence that explains why the user cannot send a message here. */
  maySay: true | string;
  /**
   * True when the pending plan may run from here: HEAD is on the line, and nothing is in the way. Otherwise a sentence
   * that explains why not.
   */
  mayAct: true | string;
  /** The pending plan's problems on the files in the user's work tree; null when nobody could check it there. */
  problems: readonly Problem[] | null;
}

const liveStyle = markup(`<style>${css}</style>`);
const liveScript = markup(`<script>${script}</script>`);

/** Returns the style and script sources for a content policy. */
export function liveSources(hash: Hash): { style: string; script: string } {
  return { style: toSource(hash(css)), script: toSource(hash(script)) };
}

const start = 'in a terminal, `teddy view`; this page then goes on, and keeps your words.';
/** The script's sentences. */
const words = {
  connected: 'Connected. This page updates itself.',
  lost: `No connection to teddy. Retrying. If teddy was stopped, start it again: ${start}`,
  reopen: `teddy was stopped, or no longer recognizes this browser. Open its link again: ${start}`,
  gone: `teddy is not responding. It may have been stopped. Start it again: ${start}`,
  stale: 'Part of the page could not be updated. Reload it.',
  needed: 'Write a few words first: this choice sends them.',
  alone: 'This choice sends no words, and yours would be lost. Choose another one, or remove them.',
  changed: 'What waits here has changed since you chose. Nothing was sent: look again before you send it.',
  none: 'Tick at least one action. To run none of them, choose Reject.',
  cut: '[earlier output is not shown here; see the report]\n',
};

const button = (value: string, text: string, label = text) =>
  html`<button type="button" value="${value}" aria-label="${label}">${text}</button> `;

/** A question of the running act, whose `kind` says which of the answers it takes. */
const questionForm = html`<form id="live-question" hidden>
  <p><strong></strong></p>
  <pre tabindex="0"></pre>
  <span class="text"
    ><input type="text" autocomplete="off" aria-label="Your answer" />
    ${button('text', 'Answer')}${button('none', 'No answer')}</span
  >
  <span class="confirm">${button('yes', 'Yes')}${button('no', 'No')}</span>
</form>`;

/** The box for a comment on one line. */
const noteDialog = html`<dialog id="live-note" aria-label="Comment on a line">
  <p role="status"></p>
  <textarea rows="2" aria-label="Your comment" autofocus></textarea>
  ${button('add', 'Add')}${button('cancel', 'Cancel')}${button('up', '↑', 'The line above')}${button('down', '↓', 'The line below')}
</dialog>`;

/** The script finds the turns as `<article class="turn" id="t02" data-turn="02">` in `#stream`. */
export function renderLive(page: SessionPage, live: LiveOptions): LiveParts {
  const controls = html`<a id="live-jump" class="pill wait" href="#live">Continue</a>
    <section
      id="live"
      aria-label="Continue"
      data-turns="${JSON.stringify(toTurnVersions(page))}"
      data-words="${JSON.stringify(words)}"
    >
      <h2>Continue <bdi>${page.source.line}</bdi></h2>
      <p><a href="/">All sessions</a></p>
      <noscript
        ><p>
          Without JavaScript, this page is read-only. Continue in a terminal with <code>teddy plan</code>.
        </p></noscript
      >
      <p id="live-state" role="status">Connecting ...</p>
      <div id="live-elsewhere"></div>
      <ul id="live-notices"></ul>
      <div id="live-act" hidden>
        <p><strong id="live-title"></strong> <button type="button" id="live-stop">Stop</button></p>
        <ol id="live-actions"></ol>
        <pre id="live-text" tabindex="0" role="log" aria-label="The text received so far" hidden></pre>
        ${questionForm}
      </div>
      <p id="live-error" class="problem" role="alert" hidden></p>
      ${renderControls(page, live)}
    </section>
    ${noteDialog} ${liveScript}`;
  return { head: liveStyle, controls };
}

/** Pairs each turn with a version; a page that shows this version needs no update. */
export function toTurnVersions({ turns }: SessionPage): [turn: string, version: string][] {
  return turns.map(({ turn, commits, undoneBy, partlyUndoneBy }) => [
    turn,
    `${commits.at(-1)?.commit.slice(0, 12) ?? ''}${undoneBy === null ? '' : '-undone'}${partlyUndoneBy === null ? '' : '-partly-undone'}`,
  ]);
}

/** A plan that waits for the user. `problems` are the reasons why it would not run. */
export interface Waiting {
  turn: PageTurn;
  plan: PagePlan;
  problems: readonly Problem[];
}

/** Returns the plan that waits on the requested line; null when none does. */
export function findWaiting(page: SessionPage, { problems }: LiveOptions): Waiting | null {
  const turn = lastTurn(page);
  const { plan = null } = turn ?? {};
  if (turn === undefined || plan === null || (turn.status !== 'planned' && !turn.awaitsVerdict)) return null;
  return { turn, plan, problems: plan.isForeign ? [] : (problems ?? plan.preview?.problems ?? []) };
}

function lastTurn({ turns, source }: SessionPage): PageTurn | undefined {
  return turns.findLast(({ line }) => line === source.line) ?? turns.at(-1);
}

/** Renders the bar with everything that the user can do now. */
export function renderControls(page: SessionPage, live: LiveOptions): Html {
  const last = lastTurn(page);
  const waiting = live.maySay === true ? findWaiting(page, live) : null;
  const bar = live.maySay === true ? renderBar(waiting, last, live) : renderReason(live.maySay);
  return html`<div id="live-controls" data-turn="${last?.turn ?? ''}" data-plan="${waiting?.plan.sha256 ?? ''}">
    ${bar}
  </div>`;
}

function renderBar(waiting: Waiting | null, last: PageTurn | undefined, live: LiveOptions): Html {
  const decisions = waiting === null ? [] : listDecisions(waiting, live);
  const choices = decisions.length === 0 ? listQuestions(last) : decisions;
  const actions = choices[0]?.[0] === 'run' ? (waiting?.plan.parsed?.plan.actions ?? []) : [];
  const name = waiting?.turn.turn ?? null;
  const reason = waiting && findReason(waiting, live);
  return html`<form id="live-bar">
    ${name && html`<strong>The plan of turn <a href="#t${name}">${name}</a> is waiting for you</strong>`}
    ${reason && renderReason(reason)}
    <fieldset ${choices.length === 1 && html` hidden`}>
      <legend class="hidden">What do you want to do?</legend>
      ${choices.map(renderChoice)}
    </fieldset>
    ${actions.length > 1 && renderTicks(actions)}
    <ul id="live-comments"></ul>
    <label for="live-message">${name ? wordsLabel : 'What do you want?'}</label>
    <div>
      <textarea id="live-message" rows="${name ? 2 : 4}">${waiting && describeProblems(waiting)}</textarea>
      <button type="submit" id="live-send">${choices[0]?.[1] ?? ''}</button>
    </div>
  </form>`;
}

/** Narrow screens, which rarely come with a keyboard, hide the keys. */
const wordsLabel = html`Your words. Click a line to comment on it<small
    >, or press <kbd>c</kbd> in its text; <kbd>Ctrl+Enter</kbd> sends</small
  >.`;

/** An act, its name, and in one line what it does and what happens next. */
type Choice = [act: string, name: string, does: string];

function listQuestions(last: PageTurn | undefined): Choice[] {
  const say: Choice = ['say', 'Ask for a plan', 'Starts a turn: the model reads your words and answers with a plan.'];
  if (last?.status !== 'open' || last.plan?.isForeign === true) return [say];
  return [['again', `Ask again about turn ${last.turn}`, 'Sends the message that has no answer yet.'], say];
}

function listDecisions({ turn, plan, problems }: Waiting, { mayAct }: LiveOptions): Choice[] {
  const { parsed, isExact } = plan;
  const isInvalid = problems.length > 0;
  const isOpen = isExact && !isInvalid && lastWord(turn) !== 'approved';
  if (plan.isForeign) {
    const agent = turn.agent ?? 'the agent';
    const approve: Choice = ['approve', 'Approve', `Records your approval, and ${agent} goes on.`];
    return isOpen ? [approve, ['reject', 'Reject', `Sends your reason to ${agent}, which plans again.`]] : [];
  }
  const count = countOf(parsed?.plan.actions.length ?? 0, 'action');
  const run: Choice = ['run', `Run ${count}`, 'Runs the ticked actions in your work tree and commits the report.'];
  const instead = isInvalid ? 'Ask for a new plan' : 'No, differently';
  const choices: (Choice | false)[] = [
    isExact && parsed !== null && !isInvalid && mayAct === true && run,
    isOpen && ['approve', 'Approve', 'Records your approval of this plan; it runs later.'],
    ['instead', instead, 'Closes this plan; the model reads your words and writes another one.'],
    ['reject', 'Reject', 'Closes this plan with your reason; nothing runs.'],
    ['ask', 'Ask about it', 'Sends your question; the model answers, and the plan keeps waiting.'],
  ];
  return choices.filter((choice) => choice !== false);
}

/** Explains why the bar offers less than usual; null when it does not. */
function findReason({ turn, plan, problems: [problem] }: Waiting, { mayAct, problems }: LiveOptions): string | null {
  const { isForeign, isExact, parsed } = plan;
  if (!isExact || (parsed === null && !isForeign))
    return isForeign
      ? `The page does not show the whole plan, so you cannot judge it here. Run \`teddy show ${turn.turn}\`.`
      : 'The page does not show the whole plan, so you cannot approve or run it here. Run `teddy execute`.';
  if (problem === undefined) return isForeign || mayAct === true ? null : mayAct;
  const isOnlyHere = problems !== null && !isInvalid(turn);
  return `It would not run${isOnlyHere ? ' on the files in your work tree' : ''}: ${problem.message}`;
}

function describeProblems({ turn, problems }: Waiting): string {
  if (problems.length === 0) return '';
  const lines = problems.map(({ line, message, hint = '' }) => `- line ${line}: ${message} ${hint}`.trim());
  return [`The plan of turn ${turn.turn} would not run. Write it again without these problems:`, ...lines].join('\n');
}

function renderChoice([act, name, does]: Choice, at: number): Html {
  return html`<label
    ><input type="radio" name="act" value="${act}" ${at === 0 && html` checked`} />
    <span><kbd aria-hidden="true">${at + 1}</kbd> <b>${name}</b> <small>${does}</small></span></label
  >`;
}

function renderTicks(actions: readonly Action[]): Html {
  const tick = (action: Action) =>
    html`<label
      ><input type="checkbox" name="action" value="${action.index}" checked /> ${action.index}.
      <code>${describeAction(action)}</code>
      ${action.description === null ? null : html`<small>${action.description}</small>`}</label
    >`;
  return html`<details>
    <summary>Choose the actions to run</summary>
    ${actions.map(tick)}
  </details>`;
}

function renderReason(reason: string): Html {
  return html`<p class="reason">${withCode(reason)}</p>`;
}
