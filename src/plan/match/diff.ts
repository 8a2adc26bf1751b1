/** Unified diffs in git's style, without colors. */
import { type StructuredPatch, diffLines, FILE_HEADERS_ONLY, formatPatch, structuredPatch } from 'diff';
import { decodeText, equalBytes } from '../../session/text/bytes.ts';

const context = 3;
/**
 * With more changed lines than this, computing a shortest diff takes too long and no user reads it, so the diff
 * consists of one removed and one added block.
 */
const maxChangedLines = 1_000;
const noFile = '/dev/null';

/**
 * `before` is null for a new file. The diff ends with a newline; it is empty when the files are equal. Bytes that are
 * not text produce `Binary files differ`.
 */
export function renderUnifiedDiff(path: string, before: Uint8Array | null, after: Uint8Array): string {
  const oldText = before === null ? '' : toText(before);
  const newText = toText(after);
  const names = { old: before === null ? noFile : `a/${path}`, new: `b/${path}` };
  if (oldText === null || newText === null) return equalBytes(before, after) ? '' : 'Binary files differ\n';
  if (before !== null && oldText === newText) return '';
  const patch = makePatch(names, oldText, newText);
  return formatPatch(patch, FILE_HEADERS_ONLY);
}

interface PatchOptions {
  /** The number of lines to show around a change. */
  context: number;
  maxChangedLines: number;
}

/** Returns the hunks of a unified diff between two texts; empty when they are equal, null when too many lines differ. */
export function renderPatch(
  old: string,
  now: string,
  { context: lines, maxChangedLines: most }: PatchOptions,
): string | null {
  if (old === now) return '';
  const options = { context: lines, maxEditLength: most };
  const patch = structuredPatch('', '', old, now, undefined, undefined, options);
  if (patch === undefined) return null;
  const text = formatPatch(patch, FILE_HEADERS_ONLY);
  return text.slice(text.indexOf('@@'));
}

/** A place with replaced lines; `start` (from 1) and `count` refer to the new lines. */
export interface ReplacedLines {
  start: number;
  count: number;
  removed: string[];
}

/** Returns null when more lines differ than allowed. */
export function listReplaced(old: string, now: string, maxChanged: number): ReplacedLines[] | null {
  const options = { context: 0, maxEditLength: maxChanged };
  const patch = structuredPatch('', '', old, now, undefined, undefined, options);
  if (patch === undefined) return null;
  return patch.hunks.map(({ newStart: start, newLines: count, lines }) => ({
    start,
    count,
    removed: lines.filter((line) => line.startsWith('-')).map((line) => line.slice(1)),
  }));
}

/**
 * Maps each unchanged line's number (in `now`, from 1) to its number in `old`, ignoring line ends. Empty when more
 * lines differ than allowed.
 */
export function listKept(old: string, now: string, maxChanged: number): Map<number, number> {
  const options = { stripTrailingCr: true, ignoreNewlineAtEof: true, maxEditLength: maxChanged };
  const kept = new Map<number, number>();
  let [at, was] = [1, 1];
  for (const { added, removed, count } of diffLines(old, now, options) ?? [])
    for (let left = count; left > 0; left -= 1) {
      if (!added && !removed) kept.set(at, was);
      if (!removed) at += 1;
      if (!added) was += 1;
    }
  return kept;
}

/** Quotes a name as git does in a diff header, if necessary. `path` already has its `a/` or `b/`. */
export function quoteDiffName(path: string): string {
  const names = { oldFileName: path, newFileName: path, oldHeader: undefined, newHeader: undefined };
  const [first = ''] = formatPatch({ ...names, hunks: [] }, FILE_HEADERS_ONLY).split('\n');
  return first.slice('--- '.length);
}

function makePatch(names: { old: string; new: string }, oldText: string, newText: string): StructuredPatch {
  const options = { context, maxEditLength: maxChangedLines };
  return (
    structuredPatch(names.old, names.new, oldText, newText, undefined, undefined, options) ?? {
      oldFileName: names.old,
      newFileName: names.new,
      oldHeader: undefined,
      newHeader: undefined,
      hunks: [replaceAll(oldText, newText)],
    }
  );
}

function replaceAll(oldText: string, newText: string): StructuredPatch['hunks'][number] {
  const [removed, added] = [toDiffLines('-', oldText), toDiffLines('+', newText)];
  return {
    oldStart: 1,
    oldLines: removed.count,
    newStart: 1,
    newLines: added.count,
    lines: [...removed.lines, ...added.lines],
  };
}

function toDiffLines(sign: '-' | '+', text: string): { count: number; lines: string[] } {
  if (text === '') return { count: 0, lines: [] };
  const lines = text.split('\n');
  const last = lines.pop();
  const ended = lines.map((line) => sign + line);
  if (last === undefined || last === '') return { count: ended.length, lines: ended };
  return { count: ended.length + 1, lines: [...ended, sign + last, '\\ No newline at end of file'] };
}

/** Returns null for bytes that git also calls binary. */
function toText(bytes: Uint8Array): string | null {
  return bytes.includes(0) ? null : decodeText(bytes);
}
