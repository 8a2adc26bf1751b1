/** Renders a turn's context: each section with its tokens and its bytes, and its differences from the previous turn. */
import { formatCount } from '../session/text/format-count.ts';
import { countOf } from '../session/spending/describe-spending.ts';
import { renderElsewhere, renderPatch } from './diff.ts';
import { html, pre, type Html } from './html.ts';
import { renderCut } from './markdown.ts';
import type { PageRequest, PageSection, PageTurn } from './session-page.ts';

/** `before` is the turn that this one continues. */
export function renderRequest({ turn, request }: PageTurn, before: PageTurn | null): Html | null {
  if (request === null) return null;
  const { sections, tokens, masked, command } = request;
  const files = sections.filter(({ name }) => name === 'file');
  const left = files.filter(({ state }) => state !== 'shown').length;
  const changes = before?.request == null ? null : compareRequests(before.request, request);
  const facts = [
    countOf(files.length - left, 'file'),
    ...(left === 0 ? [] : [`${formatCount(left)} left out`]),
    `about ${countOf(tokens, 'token')}`,
    ...(masked === 0 ? [] : [`${countOf(masked, 'secret')} masked`]),
    ...(changes === null ? [] : [changes.summary]),
  ];
  return html`<details class="context" id="t${turn}-context">
    <summary>
      <h3>Context</h3>
      <span class="muted">${facts.join(', ')}</span>
    </summary>
    ${
      changes === null || changes.rows.length === 0
        ? null
        : html`<p class="label">Since turn ${before?.turn ?? ''}</p>
            <ul class="since">
              ${changes.rows}
            </ul>`
    }
    ${request.parameters === null ? html`<p class="reason">The request's log cannot be read.</p>` : null}
    <p class="label">The exact request, ${countOf(request.bytes, 'byte')}, as <code>${command}</code> prints it:</p>
    <ol class="request">
      ${joinRuns(sections).map((run) => renderRun(turn, run, tokens, before))}
    </ol>
  </details>`;
}

interface PlacedSection extends PageSection {
  /** The section's position in the request. */
  at: number;
}

/** A row joins at least this many consecutive files that have not changed since an earlier request. */
const minRun = 4;

/** Without these rows, a long history and many unchanged files would make each request as long as all earlier ones together. */
function joinRuns(sections: readonly PageSection[]): PlacedSection[][] {
  const runs: PlacedSection[][] = [];
  for (const [at, section] of sections.entries()) {
    const last = runs.at(-1)?.at(-1);
    if (last !== undefined && isRun(last, section)) runs.at(-1)?.push({ ...section, at });
    else runs.push([{ ...section, at }]);
  }
  return runs.flatMap((run) => (run[0]?.name === 'file' && run.length < minRun ? run.map((one) => [one]) : [run]));
}

function isRun(last: PageSection, next: PageSection): boolean {
  const isKnown = ({ body }: PageSection) => body.kind === 'same' || body.kind === 'turn';
  const isAlike = last.name === next.name && last.state === next.state && last.reason === next.reason;
  return isAlike && ['history', 'file'].includes(next.name) && isKnown(last) && isKnown(next);
}

function renderRun(turn: string, run: readonly PlacedSection[], all: number, before: PageTurn | null): Html {
  const [first] = run;
  if (first === undefined) return html``;
  const id = `t${turn}-r${first.at + 1}`;
  const tokens = run.reduce((sum, one) => sum + one.tokens, 0);
  const title = run.length === 1 ? titleOf(first) : first.name === 'file' ? `${run.length} files` : 'History';
  const head = html`<span class="row"
    ><bdi>${title}</bdi> ${renderTokens(first, tokens)}${renderBar(tokens, all)}</span
  >`;
  if (run.length > 1) return html`<li id="${id}">${head}${renderKnown(run)}</li>`;
  const { body, marker } = first;
  if (body.kind === 'turn')
    return html`<li id="${id}">
      ${head}
      <p class="same">The message, plan and report of <a href="#t${body.turn}">turn ${body.turn}</a>, in full.</p>
    </li>`;
  if (body.kind === 'diff')
    return html`<li id="${id}">
      <details>
        <summary>${head}</summary>
        <p class="same">
          As in <a href="#t${body.turn}-r${body.section + 1}">the request of turn ${body.turn}</a>, except for these
          lines:
        </p>
        ${renderPatch(body.patch.text, id)}
      </details>
    </li>`;
  if (body.kind === 'same')
    return html`<li id="${id}">
      ${head}
      <p class="same">
        The same bytes as in <a href="#t${body.turn}-r${body.section + 1}">the request of turn ${body.turn}</a>.
      </p>
    </li>`;
  return html`<li id="${id}">
    <details>
      <summary>${head}</summary>
      ${pre([marker ?? '', ...withoutKnown(first, body.text.text, before)])}${renderCut(body.text.cut)}
    </details>
  </li>`;
}

/** Omits a file that is as the previous turn left it, because that turn's diff shows it. */
function withoutKnown({ name, of }: PageSection, text: string, before: PageTurn | null): (string | Html)[] {
  const [, open = '', body = '', close = ''] = /^(`{3,}[^\n]*\n)(.*\n)(`{3,}\n)$/s.exec(text) ?? [];
  if (name !== 'file' || before === null) return [text];
  const files = before.files.filter(({ path }) => path === of);
  const link = renderElsewhere(before, files, 'new', body);
  return link === null ? [text] : [open, link, close];
}

function renderKnown(run: readonly PlacedSection[]): Html {
  const [first, last] = [run[0], run.at(-1)];
  if (first?.name === 'history')
    return html`<p class="same">
      ${countOf(run.length, 'turn')}, from <a href="#t${first.of}">${first.of}</a> to
      <a href="#t${last?.of ?? ''}">${last?.of ?? ''}</a>: the message, plan and report of each, in full.
    </p>`;
  return html`<p class="same">
    The same bytes as in earlier requests:
    ${run.map(({ of, body, tokens }, at) => html`${at === 0 ? '' : ', '}${body.kind === 'same' ? html`<a href="#t${body.turn}-r${body.section + 1}">${of}</a>` : of} ${formatCount(tokens)}`)}
  </p>`;
}

function renderTokens({ name, state, reason }: PageSection, tokens: number): Html {
  if (state !== 'shown') return html`<span class="muted">not shown: ${reason ?? state}</span>`;
  return name === 'front-matter' ? html`` : html`<span class="muted">${countOf(tokens, 'token')}</span>`;
}

function renderBar(tokens: number, all: number): Html | null {
  const width = all === 0 ? 0 : Math.round((tokens / all) * 100);
  if (width === 0) return null;
  return html`<svg class="bar" viewBox="0 0 100 6" aria-hidden="true"><path d="M0 0h${width}v6H0z"></path></svg>`;
}

function titleOf({ name, of }: PageSection): string {
  if (name === 'file') return of ?? '';
  if (name === 'history') return of === null ? 'History' : `History: turn ${of}`;
  return {
    'front-matter': 'Front matter',
    system: 'Agent prompt',
    memos: 'Memos',
    tree: 'Project tree',
    message: 'Message',
  }[name];
}

interface Changes {
  summary: string;
  rows: Html[];
}

function compareRequests(before: PageRequest, now: PageRequest): Changes {
  const [old, own] = [byTitle(before), byTitle(now)];
  const added = [...own.keys()].filter((title) => !old.has(title));
  const gone = [...old.keys()].filter((title) => !own.has(title));
  const changed = [...own].flatMap(([title, section]) => {
    const other = old.get(title);
    return other === undefined || isSame(other, section) ? [] : [title];
  });
  const row = (mark: string, word: string) => (title: string) =>
    html`<li>${mark} <bdi>${title}</bdi> <span class="muted">${word}</span></li>`;
  const rows = [...added.map(row('+', 'added')), ...gone.map(row('−', 'removed')), ...changed.map(row('~', 'changed'))];
  const counts = Object.entries({ added, removed: gone, changed }).flatMap(([word, titles]) =>
    titles.length === 0 ? [] : [`${titles.length} ${word}`],
  );
  const summary =
    rows.length === 0 ? 'unchanged since the previous turn' : `${counts.join(', ')} since the previous turn`;
  return { summary, rows };
}

/** Bytes that refer to an earlier request equal the previous turn's bytes when both refer to the same place. */
function isSame(old: PageSection, now: PageSection): boolean {
  if (old.state !== now.state || old.bytes !== now.bytes) return false;
  if (now.body.kind === 'text') return old.body.kind === 'text' && old.body.text.text === now.body.text.text;
  return now.body.kind !== 'diff';
}

/** Omits the history and the message, which are new in every turn. */
function byTitle({ sections }: PageRequest): Map<string, PageSection> {
  const told: readonly PageSection['name'][] = ['system', 'memos', 'tree', 'file'];
  return new Map(sections.filter(({ name }) => told.includes(name)).map((section) => [titleOf(section), section]));
}
