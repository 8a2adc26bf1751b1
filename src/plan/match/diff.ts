/** Unified diffs in git's style, without colours. */
import { type StructuredPatch, diffLines, FILE_HEADERS_ONLY, formatPatch, structuredPatch } from 'diff';
import { decodeText, equalBytes } from '../../session/text/bytes.ts';

const context = 3;
/** Beyond this many changed lines a shortest diff takes too long, and nobody reads it: one block out, one block in. */
const maxChangedLines = 1_000;
const noFile = '/dev/null';

/**
 * `before` null: the file is new. Ends with a newline; empty when nothing differs. Bytes that are not text give
 * `Binary files differ`.
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
  /** How many lines around a change are shown. */
  context: number;
  maxChangedLines: number;
}

/** The hunks of a unified diff between two texts; empty when they are the same. Null: more lines differ than is allowed. */
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

/** A place where lines stood that others have replaced; `start` and `count` are of the new lines, from 1. */
export interface ReplacedLines {
  start: number;
  count: number;
  removed: string[];
}

/** Null: more lines differ than is allowed. */
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

/** The lines that stay, whatever ends them, by their numbers now, from 1: those in `old`. None: more lines differ than is allowed. */
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

/** A name as git quotes it in the header of a diff: only where it has to be. `path` has its `a/` or `b/` already. */
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

/** Null for what git calls binary, too. */
function toText(bytes: Uint8Array): string | null {
  return bytes.includes(0) ? null : decodeText(bytes);
}
