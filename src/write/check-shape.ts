/**
 * Checks of the shape: remarks about the file before or after its content, conflict markers, code fences, and a
 * shrunken file.
 */
import type { Candidate, Verdict } from './candidate.ts';
import { findFences } from './fences.ts';
import type { FileKind } from './file-kind.ts';
import { lineAround, locator } from './positions.ts';
import type { Finding } from './write.ts';
import { countNewlines } from '../session/masks/mask.ts';

const thing =
  '(?:file|code|content|contents|document|version|implementation|script|module|component|class|function|configuration|config|readme|page|program|snippet|result|output)';
const what = `(?:the|your|an?|my)\\b[^\\n]{0,80}\\b${thing}`;

/** Lines that begin or end an answer and never occur in a machine-readable file. */
const first = [
  new RegExp(`^(?:sure|certainly|of course|absolutely|great|okay|ok|alright)[,.!:]?\\s[^\\n]{0,120}[:.!]$`, 'i'),
  new RegExp(`^here(?:'s|\u2019s| is| are)\\s${what}[^\\n]{0,120}[:.]$`, 'i'),
  new RegExp(`^(?:below|the following) is\\s${what}[^\\n]{0,120}[:.]$`, 'i'),
  /^i(?:'ve|\u2019ve| have|'ll|\u2019ll| will)\s(?:now\s)?(?:created?|updated?|written?|write|added?|add|fixed|fix|made|make|implemented?)\s[^\n]{0,160}[:.!]$/i,
];
const last = [
  /^(?:please )?let me know (?:if|when|whether|what|how)\b/i,
  /^(?:i )?hope (?:this|that|it) helps\b/i,
  /^feel free to (?:ask|modify|adjust|change|let me|reach|customi[sz]e|adapt|tweak)\b/i,
  /^would you like me to\b/i,
  /^is there anything else\b/i,
  /^this (?:updated |complete |full |new )?(?:file|code|version|implementation|script|module|component) (?:now )?(?:should|will|does|adds|includes|provides|implements|contains|uses|handles|ensures)\b[^\n]*\.$/i,
];

/** Lines that nobody writes in prose. */
const firstOfProse = [
  new RegExp(
    `^(?:(?:sure|certainly|of course|absolutely)[,.!:]? )?here(?:'s|\u2019s| is) (?:the|your) (?:\\w+ ){0,2}?(?:updated|complete|completed|full|revised|requested|corrected|new|final|entire) ${thing}\\b[^\\n]{0,80}:$`,
    'i',
  ),
  new RegExp(
    `^(?:sure|certainly|of course|absolutely)[,.!:]? here(?:'s|\u2019s| is) (?:the|your|an?)\\b[^\\n]{0,120}:$`,
    'i',
  ),
];
const lastOfProse = [
  /^(?:please )?let me know if you(?:'d|\u2019d| would) like (?:me to|any (?:changes|adjustments|modifications|further))\b/i,
  /^would you like me to (?:add|change|adjust|continue|expand|make|write|include)\b[^\n]*\?$/i,
];

export function checkChat({ kind, text, base }: Candidate): Verdict {
  const [firsts, lasts] = kind === 'code' ? [first, last] : [firstOfProse, lastOfProse];
  const locate = locator(text);
  const findings: Finding[] = [];
  const check = (at: { line: string; offset: number }, patterns: RegExp[], where: string) => {
    if (at.line.length > 400 || !patterns.some((pattern) => pattern.test(at.line)) || base?.hasLine(at.line)) return;
    const message = `The ${where} line talks about the file; it is not part of it.`;
    findings.push({ check: 'chat', message, ...locate(at.offset) });
  };
  const end = lastLine(text);
  const begin = firstLine(text);
  check(begin, firsts, 'first');
  if (end.offset !== begin.offset) check(end, lasts, 'last');
  return findings;
}

/** Returns the first line that is not blank, trimmed. */
function firstLine(text: string): { line: string; offset: number } {
  const offset = Math.max(0, text.search(/\S/));
  const end = text.indexOf('\n', offset);
  return { line: text.slice(offset, end === -1 ? text.length : end).trim(), offset };
}

function lastLine(text: string): { line: string; offset: number } {
  const end = text.trimEnd().length;
  const offset = end === 0 ? 0 : text.lastIndexOf('\n', end - 1) + 1;
  const line = text.slice(offset, end);
  return { line: line.trim(), offset: offset + line.search(/\S|$/) };
}

/** git's three conflict markers, in this order, each at the beginning of a line. */
const marker = /^(?:<{7}(?=[ \r\n]|$)|={7}(?=\r?$)|>{7}(?=[ \r\n]|$))/gm;
const maxConflicts = 100;

export function checkConflicts({ kind, text, base }: Candidate): Verdict {
  const starts = findConflicts(text);
  if (starts.length === 0) return [];
  // A document about merging may show conflicts.
  const shown = kind === 'markdown' ? findFences(text).filter(({ isClosed }) => isClosed) : [];
  const locate = locator(text);
  const findings: Finding[] = [];
  for (const start of starts) {
    if (findings.length === maxConflicts) break;
    const isShown = shown.some((fence) => fence.start < start && start < fence.end);
    if (isShown || base?.hasLine(lineAround(text, start))) continue;
    findings.push({ check: 'conflict-markers', message: 'A merge conflict is left unresolved.', ...locate(start) });
  }
  return findings;
}

/** Returns the offset of each conflict. */
function findConflicts(text: string): number[] {
  const starts: number[] = [];
  let start = -1;
  let isDivided = false;
  for (const { 0: found, index } of text.matchAll(marker)) {
    if (found.startsWith('<')) [start, isDivided] = [index, false];
    else if (start === -1) continue;
    else if (found.startsWith('=')) isDivided = true;
    else if (isDivided) {
      starts.push(start);
      start = -1;
    }
  }
  return starts;
}

/** A Markdown file closes its fences, and no other file begins with a fence. */
const maxShownLine = 60;

export function checkFences({ kind, text, base }: Candidate): Verdict {
  if (kind === 'markdown') return findUnclosed(text, base?.text() ?? '');
  return kind === 'code'
    ? findLeadingFence(text, base?.hasLine(text.trimStart().split('\n', 1)[0] ?? '') ?? false)
    : null;
}

function findUnclosed(text: string, before: string): Verdict {
  const open = findFences(text).find(({ isClosed }) => !isClosed);
  if (open === undefined) return [];
  const [line = ''] = text.slice(open.start, open.start + 1000).split('\n', 1);
  // The target may already have left the fence open.
  if (findFences(before).some((fence) => !fence.isClosed && before.startsWith(line, fence.start))) return [];
  return [
    {
      check: 'code-fences',
      message: `The code fence ${JSON.stringify(line.trim().slice(0, maxShownLine))} is not closed.`,
      line: countNewlines(text.slice(0, open.start)) + 1,
      column: 1,
    },
  ];
}

function findLeadingFence(text: string, isKnown: boolean): Verdict {
  const found = /^[ \t]*(?:`{3,}[\w+#.-]*|~{3,}[\w+#.-]*)[ \t]*\r?$/m.exec(text);
  if (found === null || isKnown || text.slice(0, found.index).trim() !== '') return [];
  const start = found.index + found[0].search(/[`~]/);
  return [
    {
      check: 'code-fences',
      message: 'The content begins with a code fence, which does not belong in such a file.',
      line: countNewlines(text.slice(0, start)) + 1,
      column: 1,
    },
  ];
}

const opening = /^(?:\s*\n)?(`{3,}|~{3,})([^\n`]*)\n/;
const closing = /\n(`{3,}|~{3,})[ \t]*\r?\n?\s*$/;

/**
 * Removes a fence around the whole content, which models tend to add in a chat, and counts the lines removed before the
 * content. Returns null when there is no such fence, or when the fence may be part of the file.
 */
export function stripWrapper(text: string, kind: FileKind): { text: string; lines: number } | null {
  if (kind !== 'code' && kind !== 'markdown') return null;
  const first = opening.exec(text.slice(0, 4096));
  const tail = text.slice(-4096);
  const last = closing.exec(tail);
  if (first === null || last === null || !(last[1] ?? '').startsWith(first[1] ?? '')) return null;
  const [start, end] = [first[0].length, text.length - tail.length + last.index + 1];
  if (end < start || (kind === 'markdown' && !isMarkdownWrapper(text, first[2] ?? '', start, end))) return null;
  return { text: text.slice(start, end), lines: countNewlines(first[0]) };
}

/**
 * Returns true if the fence wraps the whole content. A file may also begin with one example and end with another; the
 * first fence is then closed before the end.
 */
function isMarkdownWrapper(text: string, info: string, start: number, end: number): boolean {
  if (!/^\s*(?:md|markdown)\s*$/i.test(info)) return false;
  const [outer] = findFences(text);
  if (outer !== undefined && outer.end >= end) return true;
  const isOpenAtEnd = findFences(text).at(-1)?.isClosed === false;
  return isOpenAtEnd && findFences(text, start, end).every(({ isClosed }) => isClosed);
}

/** Smaller files may shrink. */
const minBaseBytes = 256;

/**
 * Reports an overwrite that loses most of the file: often the answer was cut off, or the model omitted lines that it
 * should have kept.
 */
export function checkShrink({ operation, bytes, base }: Candidate): Verdict {
  if (operation !== 'overwrite' || base === null) return null;
  const [had, has] = [base.bytes.length, bytes.length];
  if (had < minBaseBytes || has * 2 >= had) return [];
  const message = `The content is ${has} bytes, the target ${had}: more than half of it would be lost.`;
  return [{ check: 'shrink', message }];
}
