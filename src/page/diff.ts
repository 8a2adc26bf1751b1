/**
 * Renders a file's changes as one `pre` in git's format, which is readable without a script; a script can show both
 * sides in parallel.
 */
import { countOf } from '../session/spending/describe-spending.ts';
import { pairWords, type Piece } from '../plan/match/word-diff.ts';
import { formatCount } from '../session/text/format-count.ts';
import { escapeText, html, markup, pre, type Html } from './html.ts';
import { renderCut } from './markdown.ts';
import type { PageFile, PageTurn } from './session-page.ts';

/** A longer diff starts folded. */
const maxOpenLines = 2_000;
/** Files that programs write; nobody reviews them line by line. */
const generated =
  /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|[\w-]+\.lock|go\.sum)$|(?:^|\/)(?:dist|build|vendor|node_modules)\/|\.(?:min\.(?:js|css)|map|snap)$/;
/** In larger changes, word differences take long to find and nobody looks for them. */
const maxComparedLines = 600;

export interface FileOptions {
  /** Follows each hunk's line numbers; null for nothing. Otherwise the earlier turns whose lines the hunk removes. */
  labelOf?: (hunk: number) => Html | null;
  /** Replaces the diff, which the page shows elsewhere. */
  instead?: Html | null;
  /** True for a file that no plan named: it is not folded for being generated. */
  isBeyond?: boolean;
}

/** `id` names the file; its hunks are `<id>-h1` and so on. */
export function renderFile(
  file: PageFile,
  id: string,
  { labelOf, instead = null, isBeyond = false }: FileOptions = {},
): Html {
  const { path, change, diff, replaces } = file;
  const lines = bodyOf(diff.text);
  const isGenerated = generated.test(path) && !isBeyond;
  const size = `${countOf(file.added + file.removed, 'line')}${diff.cut === null ? '' : ', in part'}`;
  const isOpen = lines.length <= maxOpenLines && !isGenerated;
  const label = labelOf ?? ((hunk: number) => renderReplaced(replaces[hunk]));
  const body = instead ?? (lines.length === 0 ? renderUnread(file) : renderBody(lines, id, label));
  return html`<details class="file" id="${id}" ${isOpen ? markup(' open') : null}>
    <summary>
      <span class="change ${change}">${change}</span>
      <bdi class="path">${path}</bdi>
      ${renderCounts(file)}${isOpen ? null : html` <span class="muted">${size}, ${isGenerated ? 'generated' : 'folded'}</span>`}
    </summary>
    ${body}${renderCut(diff.cut)}
  </details>`;
}

export function renderCounts({ kind, added, removed }: Pick<PageFile, 'kind' | 'added' | 'removed'>): Html {
  if (kind !== 'text') return html`<span class="muted">${kind}</span>`;
  return html`<span class="counts"
    ><span class="plus">+${formatCount(added)}</span> <span class="minus">−${formatCount(removed)}</span></span
  >`;
}

/** Adds up the lines of several files. */
export function renderSum(files: readonly Pick<PageFile, 'added' | 'removed'>[]): Html {
  const sum = (key: 'added' | 'removed') => formatCount(files.reduce((all, file) => all + file[key], 0));
  return html`<small><span class="plus">+${sum('added')}</span> <span class="minus">−${sum('removed')}</span></small>`;
}

/** Returns the added lines in a new file's diff; null when the file existed before. */
export function addedText({ change, kind, diff }: PageFile): string | null {
  if (change !== 'added' || kind !== 'text' || diff.cut !== null) return null;
  const lines = bodyOf(diff.text);
  if (lines.filter((line) => line.startsWith('@@')).length !== 1) return null;
  const isWhole = lines.at(-1)?.startsWith('\\') !== true;
  const text = lines.filter((line) => line.startsWith('+')).map((line) => line.slice(1));
  return text.join('\n') + (isWhole ? '\n' : '');
}

export function fileId({ turn, files }: PageTurn, file: PageFile): string {
  return `t${turn}-f${files.indexOf(file) + 1}`;
}

/** Shorter texts are not worth a link. */
const minElided = 600;

/**
 * Returns a link to replace a long text when its lines are consecutive on one side of one of the turn's diffs;
 * otherwise null.
 */
export function renderElsewhere(turn: PageTurn, files: PageFile[], side: 'old' | 'new', text: string): Html | null {
  if (text.length < minElided || !text.endsWith('\n')) return null;
  const file = files.find((one) => hasLines(one, side, text));
  if (file === undefined) return null;
  const lines = countOf(text.split('\n').length - 1, 'line');
  const words = `${lines}, exactly as on the ${side} side of the diff in turn ${turn.turn}`;
  return html`<a class="elided" href="#${fileId(turn, file)}">[${words}]</a>${markup('\n')}`;
}

function hasLines({ diff, kind }: PageFile, side: 'old' | 'new', text: string): boolean {
  if (kind !== 'text') return false;
  const wanted = side === 'old' ? /^[- ]/ : /^[+ ]/;
  const lines = bodyOf(diff.text).flatMap((line) =>
    line.startsWith('@@') ? ['\0'] : wanted.test(line) ? [line.slice(1)] : [],
  );
  return `\n${lines.join('\n')}\n`.includes(`\n${text}`);
}

/** Renders a diff between two texts, without a header. */
export function renderPatch(patch: string, id: string): Html {
  return renderBody(bodyOf(patch), id, () => null);
}

function bodyOf(diff: string): string[] {
  const lines = diff.split('\n');
  const start = lines.findIndex((line) => line.startsWith('@@'));
  return start === -1 ? [] : lines.slice(start, lines.at(-1) === '' ? -1 : undefined);
}

/** Renders a file without line-by-line changes: the last line describes how the versions differ. */
function renderUnread({ diff, kind, change }: PageFile): Html {
  const said =
    kind === 'text'
      ? change === 'added'
        ? 'The file is empty.'
        : 'Only its mode or name has changed.'
      : diff.text.trim().split('\n').at(-1);
  return html`<p class="muted">${said ?? ''}</p>`;
}

/** The inner element, and with it the background color, is as wide as the longest line. */
function renderBody(lines: readonly string[], id: string, labelOf: (hunk: number) => Html | null): Html {
  return pre(html`<code>${markup(renderLines(lines, id, labelOf))}</code>`, 'diff');
}

/**
 * Consecutive lines with the same sign share an element, so that a page with many diffs is hardly larger than the diffs
 * are.
 */
function renderLines(lines: readonly string[], id: string, labelOf: (hunk: number) => Html | null): string {
  const words = lines.length > maxComparedLines ? new Map<number, Piece[]>() : pairWords(lines);
  const out: string[] = [];
  let sign = ' ';
  let hunk = 0;
  const close = () => (sign === '+' ? '</ins>' : sign === '-' ? '</del>' : '');
  for (const [at, line] of lines.entries()) {
    const next = line[0] ?? ' ';
    if (next === '@') {
      const label = labelOf(hunk)?.markup ?? '';
      out.push(
        `${close()}<span class="hunk" id="${id}-h${++hunk}"><a href="#${id}-h${hunk}">${escapeText(line)}</a>${label}\n</span>`,
      );
      sign = '@';
      continue;
    }
    if (next !== sign) {
      out.push(close(), next === '+' ? '<ins>' : next === '-' ? '<del>' : '');
      sign = next;
    }
    const pieces = isMostlyKept(words.get(at)) ? words.get(at) : undefined;
    out.push(pieces === undefined ? escapeText(line) : next + pieces.map(renderPiece).join(''), '\n');
  }
  return out.join('') + close();
}

function renderReplaced(turns: readonly string[] = []): Html | null {
  if (turns.length === 0) return null;
  const links = turns.map((turn, at) => html`${at === 0 ? '' : ', '}<a href="#t${turn}">${turn}</a>`);
  return html` removes lines of ${turns.length === 1 ? 'turn' : 'turns'} ${links}`;
}

/** When most of a line is new, marks on nearly every word mean nothing. */
function isMostlyKept(pieces: readonly Piece[] = []): boolean {
  const changed = pieces.reduce((sum, { text, isChanged }) => sum + (isChanged ? text.length : 0), 0);
  return changed * 2 <= pieces.reduce((sum, { text }) => sum + text.length, 0);
}

function renderPiece({ text, isChanged }: Piece): string {
  return isChanged ? `<b>${escapeText(text)}</b>` : escapeText(text);
}
