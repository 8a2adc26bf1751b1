/** Renders the turns as a tree: a line's turns below each other, and each branch below the turn where it begins. */
import { countOf } from '../session/spending/describe-spending.ts';
import { groupBy } from '../session/text/group-by.ts';
import { renderSum } from './diff.ts';
import { html, type Html } from './html.ts';
import type { PageCommit, PageTurn, SessionPage } from './session-page.ts';
import { titleOf } from './turn.ts';
import { toTurnState } from './turn-state.ts';

export function renderTimeline(page: SessionPage): Html {
  const below = groupBy(page.turns, ({ parent, line }) => `${parent ?? ''} ${line}`);
  const children = groupBy(page.turns, ({ parent }) => parent ?? '');
  const item = (turn: PageTurn): Html =>
    html`<li>
      ${renderLink(turn)}${renderCommits(page, turn)}${branchesOf(turn).map(
        (line) =>
          html`<div class="branch">
            <p class="label">${describeBranch(page, line)}</p>
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

/** Shortens the branch's name, and adds up its own turns. */
function describeBranch({ turns, source: { session } }: SessionPage, line: string): Html {
  const own = turns.filter((turn) => turn.line === line);
  const files = own.flatMap((turn) => turn.files);
  return html`<bdi title="${line}">${line.replace(`teddy/${session}`, '').replace(/^[-/]/, '') || line}</bdi>
    <span>${countOf(own.length, 'turn')} ${renderSum(files)}</span>`;
}

function renderLink(turn: PageTurn): Html {
  const { tone, word } = toTurnState(turn);
  return html`<a class="${tone}" href="#t${turn.turn}"
    ><span class="no">${turn.turn.replace(/-branch-/, '-b')}</span><span class="title">${titleOf(turn)}</span
    ><span class="word${usual.has(word) ? ' hidden' : ''}">${word}</span></a
  >`;
}

/** Nothing needs to stand out in turns that ended so. */
const usual = new Set(['done', 'answered', 'nothing to run']);

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

/** Splits a commit into a word for its kind and its subject. An entry's subject already begins with its kind. */
export function describeCommit({ kind, subject, files, omitted }: PageCommit): { word: string; subject: string } {
  if (kind === 'snapshot' && files.length + omitted === 0)
    return { word: kindWords.snapshot, subject: 'no code, only files of the session in .teddy' };
  return { word: kindWords[kind], subject: subject.replace(/^(?:turn \S+ )?(?:snapshot|write): /, '') };
}

const kindWords: Record<PageCommit['kind'], string> = {
  own: 'own commit',
  snapshot: 'edits',
  landing: 'landed',
  write: 'teddy write',
};
