/** Renders one turn: message, plan, approval, results and context, in the order that readers want. */
import { typeOf } from '../plan/actions/actions.ts';
import type { Action } from '../plan/plan.ts';
import { findPlanTitle } from '../plan/plan-comments.ts';
import { countOf, describeSpending, formatDuration } from '../session/spending/describe-spending.ts';
import { parseObject } from '../session/text/parse-object.ts';
import { fold, renderActions, renderProblem, renderPromise } from './actions.ts';
import { renderElsewhere } from './diff.ts';
import { firstLine, html, pre, renderTime, type Html } from './html.ts';
import { renderCode, renderCut, renderMarkdown } from './markdown.ts';
import { renderRequest } from './request.ts';
import type { PagePart, PagePlan, PageReport, PageTurn, PageVerdict, SessionPage } from './session-page.ts';
import { isRejected, lastWord, toTurnState } from './turn-state.ts';

/** Each turn is an `article` with the ID `t` plus its name; the live page replaces it with a newer one. */
export function renderTurn(turn: PageTurn, page: SessionPage): Html {
  const { turn: name } = turn;
  const before = page.turns.find((one) => one.turn === turn.parent) ?? null;
  const { tone, word } = toTurnState(turn);
  return html`<article class="turn ${tone}" id="t${name}" data-turn="${name}" aria-labelledby="t${name}-title">
    <header>
      <h2 id="t${name}-title"><a class="no" href="#t${name}">${name}</a> <span>${titleOf(turn)}</span></h2>
      <p class="facts"><span class="pill ${tone}">${word}</span> ${renderFacts(turn, page)}</p>
    </header>
    ${turn.faults.map((fault) => html`<p class="reason">${fault}</p>`)}
    ${turn.undoneBy === null ? null : html`<p class="note">This turn's code changes were undone by <code>${turn.undoneBy.slice(0, 10)}</code>.</p>`}
    ${turn.partlyUndoneBy === null ? null : html`<p class="note">Some of this turn's code changes are undone, as of <code>${turn.partlyUndoneBy.slice(0, 10)}</code>.</p>`}
    ${turn.parts.map((part) => renderPart(part, turn, before))} ${turn.plan === null ? renderActions(turn) : null}
    ${renderRequest(turn, before)} ${renderCommits(turn)}
  </article>`;
}

/** Returns the beginning of the turn's message, which names it; without a message, the title of its plan. */
export function titleOf({ plan, parts, turn }: PageTurn): string {
  const message = parts.find(({ kind }) => kind === 'message');
  const said = message?.kind === 'message' ? firstLine(message.text.text, 120) : '';
  if (said !== '') return said;
  const title = plan === null ? '' : (plan.parsed?.plan.title ?? findPlanTitle(plan.source.text).title);
  return title === '' ? `Turn ${turn}` : firstLine(title, 120);
}

function renderFacts(
  { author, agent, provider, model, startedAt, endedAt, spent, line }: PageTurn,
  page: SessionPage,
): Html {
  const cost = describeSpending(spent);
  const cached = spent.cachedTokens === undefined ? '' : ` (${countOf(spent.cachedTokens, 'token')} cached)`;
  const took = Date.parse(endedAt) - Date.parse(startedAt);
  const facts: (string | Html)[] = [
    renderTime(startedAt),
    ...(took > 0 ? [formatDuration(took)] : []),
    ...(author === null ? [] : [author]),
    ...(model === null ? [] : [`${model}${provider === null || provider === model ? '' : ` (${provider})`}`]),
    ...(agent === null ? [] : [`agent ${agent}`]),
    ...(cost === null ? [] : [`${cost}${cached}`]),
    ...(line === page.source.line ? [] : [html`on <bdi>${line}</bdi>`]),
  ];
  return html`${facts.map((fact) => html`<span>${fact}</span> `)}`;
}

function renderPart(part: PagePart, turn: PageTurn, before: PageTurn | null): Html | null {
  switch (part.kind) {
    case 'message':
      return html`<section class="message">
        <h3>${turn.author ?? 'Message'}${part.isSpoken ? ' (spoken)' : ''}</h3>
        ${renderMarkdown(part.text)}
      </section>`;
    case 'reply':
      return html`<section class="reply">
        <h3>${turn.model ?? 'Answer'}${part.isSpoken ? ' (spoken)' : ''}${part.isPartial ? ' (interrupted)' : ''}</h3>
        ${renderMarkdown(part.text)}
      </section>`;
    case 'call':
      return renderCall(part);
    case 'note':
      return html`<p class="note">${part.text.text}</p>
        ${renderSubAgent(part.parts ?? [], turn)}`;
    case 'thinking':
      return fold('Thinking', firstLine(part.text.text, 100), false, [renderMarkdown(part.text)]);
    case 'plan':
      return turn.plan === null
        ? null
        : html`${renderPlan(turn, turn.plan, before)}${turn.verdicts.map((verdict) => renderVerdict(verdict, turn.plan))}${turn.report === null || isJudged(turn, turn.report) ? null : renderApproval(turn.report, turn.plan)}${renderActions(turn)}${renderPromise(turn)}${turn.report === null ? null : renderRest(turn.report, turn.plan)}`;
    case 'report':
      return null;
  }
}

/** Returns true if the verdicts already contain everything that the report contains about approvals. */
function isJudged(turn: PageTurn, { report }: PageReport): boolean {
  return isRejected(report) && lastWord(turn) === 'rejected';
}

/** The agent sets the task, and another model may answer. */
function renderSubAgent(parts: readonly PagePart[], turn: PageTurn): Html | null {
  const body = parts.flatMap((part) => renderPart(part, { ...turn, author: 'Task', model: null }, null) ?? []);
  return body.length === 0 ? null : fold('What it said and did', countOf(parts.length, 'part'), false, body);
}

function renderCall({ tool, input, result }: PagePart & { kind: 'call' }): Html {
  const tone = result === null ? 'quiet' : result.reason !== null ? 'warn' : result.isError ? 'bad' : 'good';
  const word = result === null ? 'no result' : (result.reason ?? (result.isError ? 'error' : 'done'));
  return html`<details class="call ${tone}">
    <summary>
      <span class="type">${tool}</span> <bdi class="target">${firstLine(describeInput(input.text), 100)}</bdi>
      <span class="pill ${tone}">${word}</span>
    </summary>
    ${renderCode(input, 'json')}${
      result === null ? null : html`${pre(result.output.text)}${renderCut(result.output.cut)}`
    }
  </details>`;
}

/** Returns the command or the path, if that is the whole point of a call, on one line. */
function describeInput(input: string): string {
  const { command, cmd, file_path: file, path } = parseObject(input) ?? {};
  const [point] = [command, cmd, file, path].flatMap((one) => (Array.isArray(one) ? one.join(' ') : (one ?? [])));
  return (typeof point === 'string' ? point : input).replace(/\s+/g, ' ');
}

/** Renders two views of the same text; readers can switch between them without a script. */
function renderPlan(turn: PageTurn, plan: PagePlan, before: PageTurn | null): Html {
  const name = `t${turn.turn}-plan`;
  const radio = (view: string, title: string, isFirst: boolean) =>
    html`<input type="radio" name="${name}" id="${name}-${view}" ${isFirst ? html` checked` : null} /><label
        for="${name}-${view}"
        >${title}</label
      >`;
  const revised = revisedPlan(before, turn);
  return html`<section class="plan" id="${name}">
    <h3>Plan</h3>
    <div class="tabs">
      ${radio('read', 'Rendered', true)}${radio('source', 'Source', false)}
      <div class="view read">${renderRead(plan, titleOf(turn))}</div>
      <div class="view source">${renderSource(turn, plan)}</div>
    </div>
    ${revised === null ? null : html`<p class="label"><a href="#c-${before?.turn ?? ''}-${turn.turn}">How it differs from the plan of turn ${before?.turn ?? ''}</a></p>`}
  </section>`;
}

/** Returns the plan that this turn revises: the user rejected it or did not run it, or this turn answers the same message. */
export function revisedPlan(before: PageTurn | null, turn: PageTurn): PagePlan | null {
  if (before === null) return null;
  const isUnrun = before.outcome === 'SKIPPED' || before.outcome === 'VALIDATION_FAILED';
  const isRefused = isUnrun || (before.report !== null && isRejected(before.report.report));
  return isRefused || lastWord(before) === 'rejected' || isSameAsked(before, turn) ? before.plan : null;
}

/** An agent that submits another plan does so in a turn without a message. */
function isSameAsked(before: PageTurn, turn: PageTurn): boolean {
  const [asked, again] = [before, turn].map(({ parts }) =>
    parts.flatMap((part) => (part.kind === 'message' ? [part.text.text] : [])).join('\n\n'),
  );
  return again === asked || (again === '' && turn.plan?.isForeign === true);
}

/** Renders the comment on the whole plan, and the comments on its lines. */
export function renderVerdict({ verdict, author, time, text, comments }: PageVerdict, plan: PagePlan | null): Html {
  const lines = plan?.source.text.split('\n') ?? [];
  const words = { approved: 'approved the plan', rejected: 'rejected the plan' };
  return html`<section class="approval">
    <h3>Verdict</h3>
    <p>
      ${verdict === 'none' ? 'Nobody gave a verdict in time, so the agent asked the user directly.' : html`<strong>${author}</strong> ${words[verdict]}.`}
      <span class="muted">${renderTime(time)}</span>
    </p>
    ${text === null ? null : html`<blockquote class="comment">${renderMarkdown(text)}</blockquote>`}
    ${
      comments.length === 0
        ? null
        : html`<ul class="remarks">
            ${comments.map((comment) => html`<li><span class="muted">Line ${comment.line} of the plan</span> <code>${firstLine(lines[comment.line - 1] ?? '', 100)}</code> ${renderMarkdown(comment.text)}</li>`)}
          </ul>`
    }
  </section>`;
}

/** The actions follow below with their outcomes; omits the title when it equals `known`, the turn's title. */
function renderRead({ parsed, source }: PagePlan, known: string): Html {
  if (parsed === null || parsed.problems.length > 0)
    return html`${(parsed?.problems ?? []).map(renderProblem)}${renderMarkdown(source)}`;
  const { title, metadata, rationale, contextVault, memos, message } = parsed.plan;
  const facts = Object.entries(metadata);
  return html`${title === known ? null : html`<p class="plan-title">${title}</p>`}
  ${
    facts.length === 0
      ? null
      : html`<dl class="facts">
          ${facts.map(
            ([key, value]) =>
              html`<div>
                <dt>${key}</dt>
                <dd>${value}</dd>
              </div>`,
          )}
        </dl>`
  }
  ${rationale === null ? null : renderMarkdown({ text: rationale, cut: null })}
  ${message === null ? null : renderMarkdown({ text: message, cut: null })}
  ${
    memos.length === 0
      ? null
      : html`<ul class="memos">
          ${memos.map(({ kind, fact }) => html`<li>${kind === 'add' ? 'Remember' : 'Forget'}: ${fact}</li>`)}
        </ul>`
  }
  ${
    contextVault === null
      ? null
      : fold('Files for the next turn', countOf(contextVault.length, 'file'), false, [
          html`<ul class="files">
            ${contextVault.map((path) => html`<li><bdi>${path}</bdi></li>`)}
          </ul>`,
        ])
  }`;
}

/** Renders the exact bytes, except for long texts that the action's diff, below, already shows. */
function renderSource(turn: PageTurn, { source, parsed, sha256 }: PagePlan): Html {
  const pieces: (string | Elsewhere)[] = [];
  let rest = source.text;
  for (const action of parsed?.plan.actions ?? []) {
    const files = turn.files.filter((file) => file.action === action.index);
    for (const { text, side } of textsOf(action)) {
      const link = renderElsewhere(turn, files, side, text);
      const at = link === null ? -1 : rest.indexOf(text);
      if (link === null || at === -1) continue;
      pieces.push(rest.slice(0, at), { link, length: text.length });
      rest = rest.slice(at + text.length);
    }
  }
  return html`${pre(placeRemarks([...pieces, rest], listRemarks(turn, source.text)))}${renderCut(source.cut)}
    <p class="muted">sha256 <code>${sha256}</code></p>`;
}

/** A long text in the plan that the page shows elsewhere. */
interface Elsewhere {
  link: Html;
  length: number;
}

interface Remark {
  /** The text's position in the plan: the end of the line that it refers to. */
  at: number;
  body: Html;
}

function listRemarks({ verdicts }: PageTurn, plan: string): Remark[] {
  const remarks = verdicts.flatMap(({ author, comments }) =>
    comments.map(({ line, text }) => ({
      at: endOfLine(plan, line),
      body: html`<span class="remark"><b>${author}</b>: ${text.text}</span>`,
    })),
  );
  return remarks.toSorted((one, other) => one.at - other.at);
}

function endOfLine(text: string, line: number): number {
  let at = 0;
  for (let number = 0; number < line; number += 1) {
    const end = text.indexOf('\n', at);
    if (end === -1) return text.length;
    at = end + 1;
  }
  return at;
}

/** Puts each remark below its line, or below the link when the page shows the text elsewhere. */
function placeRemarks(pieces: readonly (string | Elsewhere)[], remarks: Remark[]): (string | Html)[] {
  const placed: (string | Html)[] = [];
  const left = [...remarks];
  let offset = 0;
  for (const piece of pieces) {
    const end = offset + piece.length;
    let from = 0;
    if (typeof piece !== 'string') placed.push(piece.link);
    for (let next = left[0]; next !== undefined && next.at <= end; next = left[0]) {
      if (typeof piece === 'string') placed.push(piece.slice(from, next.at - offset));
      placed.push(next.body);
      from = next.at - offset;
      left.shift();
    }
    if (typeof piece === 'string') placed.push(piece.slice(from));
    offset = end;
  }
  return placed;
}

/** Returns an action's file texts, in plan order. */
function textsOf(action: Action): { text: string; side: 'old' | 'new' }[] {
  const shown = typeOf(action).show?.(action);
  if (shown?.kind === 'content') return [{ text: shown.text, side: 'new' }];
  if (shown?.kind !== 'pairs') return [];
  return shown.pairs.flatMap(({ find, replace }) => [
    ...(find === null ? [] : [{ text: find, side: 'old' as const }]),
    { text: replace, side: 'new' as const },
  ]);
}

/** Why an action did not run although nobody rejected it. */
const endings = new Set([
  'an earlier action failed',
  'the run was stopped before it',
  'the run was interrupted before it',
]);

/** Renders who approved which actions, and what the user changed. */
function renderApproval({ report, author, time, cut }: PageReport, plan: PagePlan): Html {
  const { action_logs: logs, run_summary: summary } = report;
  const by = (who: string) => logs.filter((log) => log.approved_by === who && log.status !== 'SKIPPED').length;
  const skipped = (reason: boolean) =>
    logs.filter(({ status, details }) => status === 'SKIPPED' && endings.has(details?.reason ?? '') === reason).length;
  const modified = logs.filter((log) => log.modified_by_user === true).length;
  const words = [
    ...(by('user') > 0 ? [`${countOf(by('user'), 'action')} approved by hand`] : []),
    ...(by('flag') > 0 ? [`${countOf(by('flag'), 'action')} approved in advance, with -y`] : []),
    ...(skipped(false) > 0 ? [`${countOf(skipped(false), 'action')} skipped`] : []),
    ...(skipped(true) > 0 ? [`${countOf(skipped(true), 'action')} not reached`] : []),
    ...(modified > 0 ? [`${countOf(modified, 'action')} changed by the user`] : []),
  ];
  const isNo = isRejected(report);
  const said = isNo ? 'rejected the plan' : words.join(', ') || 'nothing to approve';
  const isInvalid = summary.status === 'VALIDATION_FAILED';
  // The plan already shows the problems in its text.
  const told = new Set(plan.parsed?.problems.map(({ line, message }) => `${line} ${message}`));
  const problems = report.validation_errors.filter(({ line, message }) => !told.has(`${line} ${message}`));
  return html`<section class="approval">
    <h3>Approval</h3>
    <p>
      ${isInvalid ? 'The plan is not valid, so none of its actions ran.' : html`<strong>${author}</strong>: ${said}.`}
      <span class="muted">${renderTime(time)}</span>
    </p>
    ${summary.error === null || isInvalid ? null : isNo || summary.status === 'SKIPPED' ? html`<blockquote class="comment"><p>${summary.error}</p></blockquote>` : html`<p class="reason">${summary.error}</p>`}
    ${problems.map(renderProblem)} ${renderCut(cut)}
  </section>`;
}

/** Renders the parts of the report that are not about actions. */
function renderRest({ report: { memos, rollback } }: PageReport, plan: PagePlan): Html | null {
  const gone = plan.parsed?.plan.memos.flatMap(({ kind, fact }) => (kind === 'remove' ? [fact.trim()] : [])) ?? [];
  const by = memos.asked === true ? ' (the user said no)' : '';
  const lines = [
    ...memos.added.map((fact) => `Remembered: ${fact}`),
    ...memos.removed.map((fact) => `Forgotten: ${fact}`),
    ...memos.rejected.map((fact) => `${gone.includes(fact.trim()) ? 'Not forgotten' : 'Not remembered'}${by}: ${fact}`),
    ...(memos.proposed ?? []).map((fact) => `Waiting for the user: ${fact}`),
    ...(rollback?.restored ?? []).map((path) => `Put back: ${path}`),
    ...(rollback?.left ?? []).map(({ path, reason }) => `Not restored: ${path} (${reason})`),
    ...(rollback?.moved_aside ?? []).map((path) => `Moved aside: ${path}`),
  ];
  return lines.length === 0
    ? null
    : html`<ul class="memos">
        ${lines.map((line) => html`<li>${line}</li>`)}
      </ul>`;
}

function renderCommits({ commits }: PageTurn): Html {
  const rows = commits.map(
    ({ commit, kind, time, title }) =>
      html`<li>
        <code>${commit.slice(0, 10)}</code> <b>${kind}</b> ${title} <span class="muted">${renderTime(time)}</span>
      </li>`,
  );
  return fold('Commits', String(commits.length), false, [
    html`<ol class="commits">
      ${rows}
    </ol>`,
  ]);
}
