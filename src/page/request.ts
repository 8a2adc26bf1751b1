/** What the model was shown: the files with their tokens, what the turn before had otherwise, and the request itself, byte for byte. */
import { formatCount } from '../session/format-count.ts';
import { countOf } from '../session/describe-spending.ts';
import { fold } from './actions.ts';
import { html, pre, type Html } from './html.ts';
import { renderCut } from './markdown.ts';
import type { PageRequest, PageSection, PageTurn } from './session-page.ts';

/** `before`: the turn that it goes on from. */
export function renderRequest({ turn, request }: PageTurn, before: PageTurn | null): Html | null {
  if (request === null) return null;
  const { sections, tokens, masked } = request;
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
    ${request.parameters === null ? html`<p class="reason">The log of the request cannot be read.</p>` : renderTable(sections, tokens)}
    ${fold('The exact request', `${countOf(request.bytes, 'byte')}, as ${request.command} prints it`, false, [renderSections(turn, sections)])}
  </details>`;
}

function renderTable(sections: readonly PageSection[], tokens: number): Html {
  const rows = joinHistory(sections).map(({ title, state, reason, tokens: own }) => {
    const width = tokens === 0 ? 0 : Math.round((own / tokens) * 100);
    return html`<tr>
      <th scope="row"><bdi>${title}</bdi></th>
      <td>${state === 'shown' ? formatCount(own) : (reason ?? state)}</td>
      <td>
        <svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
          <rect width="${width}" height="6"></rect>
        </svg>
      </td>
    </tr>`;
  });
  return html`<div class="scroll" tabindex="0">
    <table class="sections">
      <thead>
        <tr>
          <th scope="col">Section</th>
          <th scope="col">Tokens</th>
          <th scope="col"><span class="hidden">Share</span></th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;
}

interface Row extends Pick<PageSection, 'state' | 'reason' | 'tokens'> {
  title: string;
}

/** The turns of a history are one row. */
function joinHistory(sections: readonly PageSection[]): Row[] {
  const turns = sections.filter(({ name }) => name === 'history');
  const tokens = turns.reduce((sum, section) => sum + section.tokens, 0);
  const named = turns.filter(({ of }) => of !== null).length;
  return sections.flatMap((section) => {
    if (section.name === 'front-matter') return [];
    if (section.name !== 'history') return [{ ...section, title: titleOf(section) }];
    return section === turns[0]
      ? [{ ...section, reason: null, tokens, title: `History of ${countOf(named, 'turn')}` }]
      : [];
  });
}

export function titleOf({ name, of }: PageSection): string {
  if (name === 'file') return of ?? '';
  if (name === 'history') return of === null ? 'History' : `History: turn ${of}`;
  return {
    'front-matter': 'Front matter',
    system: 'Prompt of the agent',
    memos: 'Memos',
    tree: 'Tree of the project',
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
  const changed = [...own].filter(([title, section]) => {
    const other = old.get(title);
    return (
      other !== undefined &&
      (other.state !== section.state || (section.body.kind === 'text' && !isSame(other, section)))
    );
  });
  const row = (mark: string, word: string) => (title: string) =>
    html`<li class="${word}">${mark} <bdi>${title}</bdi> <span class="muted">${word}</span></li>`;
  const rows = [
    ...added.map(row('+', 'added')),
    ...gone.map(row('−', 'removed')),
    ...changed.map(([title]) => title).map(row('~', 'changed')),
  ];
  const summary =
    rows.length === 0
      ? 'nothing else than before'
      : `+${added.length} −${gone.length} ~${changed.length} since the turn before`;
  return { summary, rows };
}

function isSame({ bytes, body }: PageSection, other: PageSection): boolean {
  return (
    bytes === other.bytes &&
    body.kind === 'text' &&
    other.body.kind === 'text' &&
    body.text.text === other.body.text.text
  );
}

/** The history and the message are new in every turn; that is no news. */
function byTitle({ sections }: PageRequest): Map<string, PageSection> {
  const told: readonly PageSection['name'][] = ['system', 'memos', 'tree', 'file'];
  return new Map(sections.filter(({ name }) => told.includes(name)).map((section) => [titleOf(section), section]));
}

function renderSections(turn: string, sections: readonly PageSection[]): Html {
  return html`<ol class="request">
    ${sections.map((section, at) => {
      const id = `t${turn}-r${at + 1}`;
      return html`<li id="${id}">
        <p class="label"><bdi>${titleOf(section)}</bdi> <span class="muted">${countOf(section.bytes, 'byte')}</span></p>
        ${renderBody(section)}
      </li>`;
    })}
  </ol>`;
}

function renderBody({ body }: PageSection): Html {
  if (body.kind === 'turn')
    return html`<p class="same">
      The message, plan and report of <a href="#t${body.turn}">turn ${body.turn}</a>, in full.
    </p>`;
  if (body.kind === 'same')
    return html`<p class="same">
      The same bytes as in <a href="#t${body.turn}-r${body.section + 1}">the request of turn ${body.turn}</a>.
    </p>`;
  return html`${pre(body.text.text)}${renderCut(body.text.cut)}`;
}
