/** Renders the turns as a tree: a line's turns below each other, and each branch below the turn where it begins. */
import { groupBy } from '../session/text/group-by.ts';
import { countTurn, maxOf, sumTokens } from './charts.ts';
import { html, type Html } from './html.ts';
import type { PageCommit, PageTurn, SessionPage } from './session-page.ts';
import { titleOf } from './turn.ts';
import { toTurnState } from './turn-state.ts';

export function renderTimeline(page: SessionPage): Html {
  const numbers = page.turns.map(countTurn);
  const most = { tokens: maxOf(numbers.map(sumTokens)), ms: maxOf(numbers.map(({ durationMs }) => durationMs)) };
  const below = groupBy(page.turns, ({ parent, line }) => `${parent ?? ''} ${line}`);
  const children = groupBy(page.turns, ({ parent }) => parent ?? '');
  const item = (turn: PageTurn): Html =>
    html`<li>
      ${renderLink(turn, most)}${renderCommits(page, turn)}${branchesOf(turn).map(
        (line) =>
          html`<div class="branch">
            <p class="label"><bdi>${line}</bdi></p>
            ${list(turn.turn, line)}
          </div>`,
      )}
    </li>`;
  const branchesOf = ({ turn, line }: PageTurn) =>
    [...new Set((children.get(turn) ?? []).map((one) => one.line))].filter((one) => one !== line);
  const list = (parent: string, line: string): Html => {
    const turns: PageTurn[] = [];
    for (
      let next = below.get(`${parent} ${line}`)?.[0];
      next !== undefined;
      next = below.get(`${next.turn} ${line}`)?.[0]
    )
      turns.push(next);
    return html`<ol>
      ${turns.map(item)}
    </ol>`;
  };
  const first = [...new Set((children.get('') ?? []).map(({ line }) => line))];
  const early = page.others.filter(({ after }) => after === null);
  return html`<nav id="timeline" aria-label="Turns">
    ${
      early.length === 0
        ? null
        : html`<ul class="commits">
            ${early.map(renderCommit)}
          </ul>`
    }${first.map((line) => list('', line))}
  </nav>`;
}

function renderLink(turn: PageTurn, most: { tokens: number; ms: number }): Html {
  const { tone, word } = toTurnState(turn);
  const numbers = countTurn(turn);
  const width = (value: number, all: number) => (all === 0 ? 0 : Math.round((value / all) * 60));
  const bars = html`<svg viewBox="0 0 60 7" aria-hidden="true">
    <path class="tokens" d="M0 0h${width(sumTokens(numbers), most.tokens)}v3H0z"></path>
    <path class="time" d="M0 4h${width(numbers.durationMs, most.ms)}v3H0z"></path>
  </svg>`;
  return html`<a class="${tone}" href="#t${turn.turn}"
    ><span class="no">${turn.turn.replace(/-branch-/, '-b')}</span><span class="title">${titleOf(turn)}</span
    ><span class="hidden">, ${word}</span>${bars}</a
  >`;
}

/** Renders the commits after a turn that do not belong to a turn. */
function renderCommits({ others }: SessionPage, { turn, line }: PageTurn): Html | null {
  const own = others.filter((commit) => commit.after === turn && commit.line === line);
  return own.length === 0
    ? null
    : html`<ul class="commits">
        ${own.map(renderCommit)}
      </ul>`;
}

function renderCommit(other: PageCommit): Html {
  const { commit, kind } = other;
  const { word, subject } = describeCommit(other);
  return html`<li class="${kind}">
    <a href="#o-${commit.slice(0, 10)}"><span class="title">${word}: ${subject}</span></a>
  </li>`;
}

/** Splits a commit into a word for its kind and its subject. A snapshot's subject already begins with its kind. */
export function describeCommit({ kind, subject }: PageCommit): { word: string; subject: string } {
  return {
    word: kindWords[kind],
    subject: kind === 'snapshot' ? subject.replace(/^(?:turn \S+ )?snapshot: /, '') : subject,
  };
}

const kindWords: Record<PageCommit['kind'], string> = {
  own: 'own commit',
  snapshot: 'edits',
  landing: 'landed',
};
