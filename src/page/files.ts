/** Renders the requested line's whole change: its files against what the plans named, and each file's diff. */
import { countOf } from '../session/spending/describe-spending.ts';
import { groupBy } from '../session/text/group-by.ts';
import { promiseWords, type PageState } from './actions.ts';
import { fileId, renderCounts, renderFile } from './diff.ts';
import { html, type Html } from './html.ts';
import type { PageLineFile, PageOrigin, PageTurn, SessionPage } from './session-page.ts';

/** A row of the table: a changed file, or one that a plan named in vain. */
interface FileRow {
  path: string;
  /** Null for a file that did not change. */
  file: PageLineFile | null;
  state: FileState;
  /** How people changed a file that turns have changed, too; null when they did not. */
  beside: 'hand' | 'written' | null;
  by: PageOrigin[];
}

type FileState = PageState | 'hand' | 'written' | 'none';

const tones: Partial<Record<FileState, string>> = { kept: 'good', beyond: 'bad', missed: 'warn', failed: 'bad' };
const words: Record<FileState, string> = {
  ...promiseWords,
  kept: 'named',
  beyond: 'not named',
  hand: 'by hand',
  written: 'teddy write',
  none: 'no plan',
};

export function renderFiles(page: SessionPage): Html {
  const { files, source } = page;
  const rows = listRows(page);
  const isVague = files.some(({ by }) => by.some((origin) => origin.kind === 'turn' && origin.action === null));
  return html`<section id="files" data-view="files" aria-labelledby="files-title">
    <h2 id="files-title">Files</h2>
    ${
      rows.length === 0
        ? html`<p class="empty">No code has changed on <bdi>${source.line}</bdi>.</p>`
        : html`<p class="facts">${describeRows(rows)}</p>
            ${renderTable(page, rows)}`
    }
    ${renderCommands(page)}
    ${isVague ? html`<p class="label">The agent’s log does not say which call changed which line, so a hunk names only its turn.</p>` : null}
    ${rows.map((row) => renderLineFile(page, row))}
  </section>`;
}

/** Returns the requested line's turns whose code still counts. */
export function listStanding({ turns, shown }: SessionPage): PageTurn[] {
  const names = new Set(shown);
  return turns.filter(({ turn, undoneBy }) => names.has(turn) && undoneBy === null);
}

function listRows(page: SessionPage): FileRow[] {
  const found = listStanding(page).flatMap(({ turn, promise }) =>
    (promise?.paths ?? []).map(({ path, state, action }) => ({ path: String(path), state, turn, action })),
  );
  const promised = groupBy(found, ({ path }) => path);
  const changed = page.files.map((file): FileRow => {
    const states = (promised.get(file.path) ?? []).map(({ state }) => state);
    const state = (['kept', 'beyond', 'allowed'] as const).find((one) => states.includes(one));
    const own = file.by.filter(({ kind }) => kind === 'commit');
    const isMixed = own.length > 0 && own.length < file.by.length;
    const beside = isMixed ? unplannedState(page, own) : null;
    return {
      path: file.path,
      file,
      by: file.by,
      state: state ?? unplannedState(page, file.by),
      beside: beside === 'hand' || beside === 'written' ? beside : null,
    };
  });
  const known = new Set(changed.map(({ path }) => path));
  const vain = [...promised].flatMap(([path, named]): FileRow[] => {
    const last = named.at(-1);
    if (last === undefined || known.has(path) || named.some(({ state }) => state === 'kept')) return [];
    return [
      {
        path,
        file: null,
        state: last.state,
        beside: null,
        by: [{ kind: 'turn', turn: last.turn, action: last.action }],
      },
    ];
  });
  return [...changed, ...vain].toSorted((one, other) => (toSortKey(one.path) < toSortKey(other.path) ? -1 : 1));
}

function unplannedState({ others }: SessionPage, by: readonly PageOrigin[]): FileState {
  // Nothing may be known about a file, because an object is missing.
  if (by.length === 0 || by.some(({ kind }) => kind !== 'commit')) return 'none';
  const isWritten = (origin: PageOrigin) =>
    others.some(({ commit, kind }) => kind === 'write' && origin.kind === 'commit' && commit === origin.commit);
  return by.every(isWritten) ? 'written' : 'hand';
}

/** Sorts a directory's own files before its subdirectories. */
function toSortKey(path: string): string {
  return `${directoryOf(path)}\0${path}`;
}

function directoryOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1);
}

function describeRows(rows: readonly FileRow[]): string {
  const changed = rows.filter(({ file }) => file !== null).length;
  const count = (one: FileState) => rows.filter(({ state }) => state === one).length;
  const mixed = (one: FileRow['beside']) => rows.filter(({ beside }) => beside === one).length;
  const parts: [number, string][] = [
    [count('kept'), 'named by a plan'],
    [count('beyond'), 'not named'],
    [count('allowed'), 'expected by the project'],
    [count('hand'), 'by hand'],
    [count('written'), 'by teddy write'],
    [count('none'), 'without a plan'],
    [rows.length - changed, 'named, but unchanged'],
    [mixed('hand'), 'of these also changed by hand'],
    [mixed('written'), 'of these also changed by teddy write'],
  ];
  const told = parts.flatMap(([number, word]) => (number === 0 ? [] : [`${number} ${word}`]));
  const isKnown = rows.every(({ file, by }) => file === null || by.length > 0);
  if (isKnown && count('hand') + mixed('hand') === 0) told.push('nothing by hand');
  return `${countOf(changed, 'file')} changed: ${told.join(', ')}.`;
}

function renderTable(page: SessionPage, rows: readonly FileRow[]): Html {
  const indexes = new Map(page.files.map((file, at) => [file.path as string, at + 1]));
  const row = ({ path, file, state, beside, by }: FileRow) =>
    html`<tr>
      <td>
        ${file === null ? html`<bdi class="path">${nameOf(path)}</bdi>` : html`<a class="path" href="#files-${indexes.get(path) ?? 1}"><bdi>${nameOf(path)}</bdi></a>`}
      </td>
      <td>
        ${file === null ? null : html`${renderCounts(file)}${file.change === 'modified' ? null : html` <span class="muted">${file.change}</span>`}`}
      </td>
      <td>${renderOrigins(page, by)}</td>
      <td>
        <span class="pill ${tones[state] ?? 'quiet'}">${words[state]}</span>
        ${beside === null ? null : html` <span class="pill warn">and ${words[beside]}</span>`}
      </td>
    </tr>`;
  return html`<table class="tree">
    <thead>
      <tr>
        ${['File', 'Lines', 'Changed by', 'The plan'].map((name) => html`<th scope="col">${name}</th>`)}
      </tr>
    </thead>
    ${[...groupBy(rows, ({ path }) => directoryOf(path))].map(
      ([directory, own]) =>
        html`<tbody>
          ${
            directory === ''
              ? null
              : html`<tr class="directory">
                  <th scope="rowgroup" colspan="4"><bdi class="path">${directory}</bdi></th>
                </tr>`
          }
          ${own.map(row)}
        </tbody>`,
    )}
  </table>`;
}

function nameOf(path: string): string {
  return path.slice(directoryOf(path).length);
}

/** Lists the commands whose last run did not succeed, and the tests that did not pass. */
function renderCommands(page: SessionPage): Html | null {
  const runs = listStanding(page).flatMap(({ turn, promise }) =>
    (promise?.commands ?? []).map((one) => ({ ...one, turn })),
  );
  const last = [...new Map(runs.map((run) => [run.command, run])).values()].filter(({ state }) => state !== 'ran');
  return last.length === 0
    ? null
    : html`<ul class="queries">
        ${last.map(({ turn, action, command, state }) => html`<li><code>${command}</code>: ${promiseWords[state]}, ${renderOrigin(page, { kind: 'turn', turn, action })}</li>`)}
      </ul>`;
}

function renderLineFile(page: SessionPage, { file, state }: FileRow): Html | null {
  if (file === null) return null;
  const labelOf = (hunk: number) => {
    const made = file.made[hunk] ?? (file.by.length === 1 ? file.by : []);
    return made.length === 0 ? null : html` ${renderOrigins(page, made)}`;
  };
  const id = `files-${page.files.indexOf(file) + 1}`;
  return renderFile(file, id, { labelOf, instead: renderSame(page, file), isBeyond: state === 'beyond' });
}

/** In characters. A shorter diff may stand on the page twice. */
const minElided = 4_000;

/** Returns a link in place of a long diff that one of the turns has too; the script puts the diff there. */
function renderSame({ turns }: SessionPage, { before, after, path, diff, by }: PageLineFile): Html | null {
  const [origin] = by;
  if (diff.text.length < minElided || by.length !== 1 || origin?.kind !== 'turn') return null;
  const turn = turns.find((one) => one.turn === origin.turn);
  const same = turn?.files.find((one) => one.before === before && one.after === after && one.path === path);
  if (turn === undefined || same === undefined) return null;
  return html`<p><a class="same-diff" href="#${fileId(turn, same)}">The diff of turn ${turn.turn}</a></p>`;
}

/** More origins are only counted. */
const maxOrigins = 5;

function renderOrigins(page: SessionPage, origins: readonly PageOrigin[]): Html {
  const more = origins.length - maxOrigins;
  const shown = origins.slice(0, maxOrigins);
  return html`${shown.map((origin, at) => html`${at === 0 ? '' : ', '}${renderOrigin(page, origin)}`)}${more > 0 ? ` and ${more} more` : ''}`;
}

function renderOrigin({ others }: SessionPage, origin: PageOrigin): Html {
  if (origin.kind === 'undo') return html`<a href="#t${origin.turn}">undo of turn ${origin.turn}</a>`;
  if (origin.kind === 'turn') {
    const { turn, action } = origin;
    if (action === null) return html`<a href="#t${turn}">turn ${turn}</a>`;
    return html`<a href="#t${turn}-a${action}">turn ${turn}, action ${action}</a>`;
  }
  const own = others.find(({ commit }) => commit === origin.commit);
  if (own === undefined) return html`<b>by hand</b>`;
  return html`<a href="#o-${own.commit.slice(0, 10)}"
    ><b>${own.kind === 'write' ? words.written : 'by hand'}</b>, ${own.author}</a
  >`;
}
