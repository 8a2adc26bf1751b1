/** Shows the plan and its report action by action: the plan, the outcome, the changed code, and how far the plan was kept. */
import { typeOf } from '../plan/actions/actions.ts';
import type { Action } from '../plan/plan.ts';
import type { EditPair } from '../plan/match/match.ts';
import type { ActionLog } from '../plan/report/report.ts';
import { describePromise } from '../plan/report/promise.ts';
import { countOf, formatDuration } from '../session/spending/describe-spending.ts';
import { addedText, fileId, renderFile } from './diff.ts';
import { html, pre, type Html } from './html.ts';
import { renderCode, renderMarkdown } from './markdown.ts';
import type { Problem } from '../plan/match/problem.ts';
import type { PageFile, PageProblem, PageTurn } from './session-page.ts';
import { isInvalid, isUnrun, toActionState } from './turn-state.ts';

/** The number of output lines shown; the rest is folded. */
const outputLines = 12;

/** Renders the actions in plan order, then the files that no action changed. */
export function renderActions(turn: PageTurn): Html | null {
  const planned = turn.plan?.parsed?.plan.actions ?? [];
  const logs = turn.report?.report.action_logs ?? [];
  const indexes = [...new Set([...planned, ...logs].map(({ index }) => index))].toSorted((one, other) => one - other);
  const others = turn.files.filter(({ action }) => action === null || !indexes.includes(action));
  if (indexes.length === 0 && others.length === 0) return null;
  return html`<section class="actions">
    ${
      indexes.length === 0
        ? null
        : html`<h3>${turn.report === null || isUnrun(turn.report.report) ? 'Planned' : 'Planned and done'}</h3>
            <ol>
              ${indexes.map((index) =>
                renderAction(turn, {
                  index,
                  action: planned.find((one) => one.index === index) ?? null,
                  log: logs.find((one) => one.index === index) ?? null,
                }),
              )}
            </ol>`
    }
    ${
      others.length === 0
        ? null
        : html`<h3>${indexes.length === 0 ? 'Changed code' : 'Not changed by an action in the plan'}</h3>
            ${others.map((file) => renderFile(file, fileId(turn, file)))}`
    }
  </section>`;
}

interface ActionOfTurn {
  index: number;
  /** Null when the plan cannot be read. */
  action: Action | null;
  log: ActionLog | null;
}

function renderAction(turn: PageTurn, { index, action, log }: ActionOfTurn): Html {
  const id = `t${turn.turn}-a${index}`;
  const preview = turn.plan?.preview ?? null;
  // The plan already shows the parser's problems.
  const told = new Set(turn.plan?.parsed?.problems.map(({ line, message }) => `${line} ${message}`));
  const problems =
    preview?.problems.filter((one) => one.action === index && !told.has(`${one.line} ${one.message}`)) ?? [];
  const { tone, word } = toActionState(log, turn.status === 'planned' && !isInvalid(turn), problems.length > 0);
  const files = turn.files.filter((file) => file.action === index);
  const planned = preview?.files.filter((file) => file.action === index) ?? [];
  const details = log?.details ?? {};
  const type = action?.type ?? log?.action_type ?? '';
  const facts = [
    ...(details.return_code === undefined || details.return_code === 0 ? [] : [`exit ${details.return_code}`]),
    ...(details.timed_out === true ? ['timed out'] : []),
    ...(log?.duration_ms === undefined ? [] : [formatDuration(log.duration_ms)]),
  ];
  // A comment on the diff goes to one of the action's lines in the plan.
  const line = preview !== null && action !== null && html` data-line="${action.line}"`;
  return html`<li class="action ${tone}" id="${id}" ${line}>
    <p class="what">
      <a class="no" href="#${id}">${index}</a> <span class="type">${type}</span>
      <bdi class="target">${toTarget(action, log)}</bdi>
      <span class="pill ${tone}">${word}</span
      >${facts.length === 0 ? null : html` <span class="muted">${facts.join(', ')}</span>`}
    </p>
    ${action?.description == null ? null : html`<p class="why">${action.description}</p>`}
    ${log === null || (turn.report !== null && isUnrun(turn.report.report)) ? null : renderReasons(log)}
    ${problems.map((problem) => renderProblem(problem))}
    ${action === null || planned.length > 0 ? null : renderPlanned(action, log, files)}
    ${log === null ? null : renderDone(log)} ${files.map((file) => renderFile(file, fileId(turn, file)))}
    ${planned.map((file) => renderFile(file, `${id}-planned`))}
  </li>`;
}

/** Shows the problem above the lines of the file that are most like its FIND. */
export function renderProblem({ line, column, message, hint, near }: Problem & Partial<PageProblem>): Html {
  const lines = near?.text.text.split('\n').map((text, at) => `${String(near.firstLine + at).padStart(4)}  ${text}\n`);
  return html`<p class="problem">Line ${line}, column ${column}: ${message}${hint === undefined ? '' : ` (${hint})`}</p>
    ${
      lines === undefined
        ? null
        : html`<p class="label">The file there</p>
            ${pre(lines.join(''))}`
    }`;
}

function toTarget(action: Action | null, log: ActionLog | null): string {
  if (action !== null) return typeOf(action).target(action);
  const [first = ''] = Object.values(log?.params ?? {});
  return typeof first === 'object' ? '' : (String(first).split('\n', 1)[0] ?? '');
}

function renderReasons({ details = {} }: ActionLog): Html {
  const { reason, comment, note, restored = [] } = details;
  return html`${reason === undefined ? null : html`<p class="reason">${reason}</p>`}${comment === undefined ? null : html`<blockquote class="comment"><p>${comment}</p></blockquote>`}${note === undefined ? null : html`<p class="reason">${note}</p>`}${restored.length === 0 ? null : html`<p class="reason">Restored after the command: ${restored.join(', ')}</p>`}`;
}

/** Omits text that the diff already shows. */
function renderPlanned(action: Action, log: ActionLog | null, files: readonly PageFile[]): Html | null {
  const isAsPlanned = log?.status === 'SUCCESS' && log.modified_by_user !== true && files.length > 0;
  const shown = typeOf(action).show?.(action);
  switch (shown?.kind) {
    case 'content': {
      if (files.some((file) => addedText(file) === shown.text)) return null;
      const lines = shown.text.split('\n').length;
      return fold(isAsPlanned ? 'Planned content' : 'Content', countOf(lines, 'line'), lines <= 40 && !isAsPlanned, [
        renderCode({ text: shown.text, cut: null }, shown.path.split('.').at(-1) ?? ''),
      ]);
    }
    case 'pairs':
      return isAsPlanned ? null : html`<div class="pairs">${shown.pairs.map(renderPair)}</div>`;
    case 'script':
      // A single line already appears above as the action's target.
      return html`${toTarget(action, log) === shown.text.trim() ? null : renderCode({ text: shown.text, cut: null }, 'sh')}${shown.note === null ? null : html`<p class="why">${shown.note}</p>`}`;
    case 'markdown':
      return renderMarkdown({ text: shown.text, cut: null });
    case 'queries':
      return html`<ul class="queries">
        ${shown.queries.map((query) => html`<li>${query}</li>`)}
      </ul>`;
    case undefined:
      return null;
  }
}

function renderPair({ find, replace }: EditPair): Html {
  const removed = find === null ? null : html`<del>${sign(find, '-')}</del>`;
  return pre(html`<code>${removed}<ins>${sign(replace, '+')}</ins></code>`, 'diff');
}

function sign(text: string, mark: string): string {
  return text === '' ? '' : `${text.replace(/\n$/, '').replace(/^/gm, mark)}\n`;
}

function renderDone({ status, details = {} }: ActionLog): Html | null {
  const { stdout = '', stderr = '', searches = [], answer, output_file: file, truncated } = details;
  const outputs = [
    ...searches.map(({ query, result }) => renderOutput(`Found for “${query}”`, result)),
    renderOutput('stdout', stdout),
    renderOutput('stderr', stderr, status === 'FAILURE' ? 'output bad' : 'output'),
    answer === undefined ? null : html`<blockquote class="comment"><p>${answer}</p></blockquote>`,
    truncated === true
      ? html`<p class="cut">
          The report has only the last lines of the
          output${file === undefined ? '' : `; the whole output is in the turn's ${file}`}.
        </p>`
      : null,
  ];
  return html`${outputs}`;
}

/** Renders the first lines, and a fold that shows how many more follow. */
function renderOutput(title: string, text: string, name = 'output'): Html | null {
  if (text.trim() === '') return null;
  const lines = text.replace(/\n$/, '').split('\n');
  const more = lines.length - outputLines;
  // A fold would take more space than one or two lines.
  if (more <= 3)
    return html`<figure class="${name}">
      <figcaption>${title}</figcaption>
      ${pre(lines.join('\n'))}
    </figure>`;
  return html`<figure class="${name}">
    <figcaption>${title}</figcaption>
    ${pre(lines.slice(0, outputLines).join('\n'))}
    <details class="more">
      <summary>${countOf(more, 'more line')}</summary>
      ${pre(lines.slice(outputLines).join('\n'))}
    </details>
  </figure>`;
}

export function fold(title: string, note: string, isOpen: boolean, body: Html[]): Html {
  const open = isOpen ? html` open` : null;
  return html`<details class="fold" ${open}>
    <summary>${title} <span class="muted">${note}</span></summary>
    ${body}
  </details>`;
}

type PagePromise = NonNullable<PageTurn['promise']>;

/** How a file or command of the plan fared. */
export type PageState = PagePromise['paths'][number]['state'] | PagePromise['commands'][number]['state'];

export const promiseWords: Record<PageState, string> = {
  kept: 'changed as named',
  beyond: 'changed, but named by no action',
  allowed: 'changed by itself, as the project expects',
  missed: 'named, but unchanged',
  skipped: 'skipped',
  failed: 'failed',
  aborted: 'aborted',
  ran: 'succeeded',
  unchecked: 'a test that did not pass',
};

/** Says in one line how far the turn kept to its plan; the table of files has the details. */
export function renderPromise({ turn, promise }: PageTurn): Html | null {
  if (promise === null) return null;
  const tone = { kept: 'good', short: 'warn', beyond: 'bad' }[promise.verdict];
  return html`<p class="promise" id="t${turn}-promise">
    <span class="pill ${tone}">Promise</span> ${describePromise(promise)}. <a href="#files">See all files</a>
  </p>`;
}
