/**
 * Reads blocks that lack a Markdown mark but have only one possible meaning: `#Title`, `1. **File Path:** a`, tags
 * around the plan.
 */
import { findParameterSpec, type ActionSpec } from '../actions/spec.ts';
import { findActionType } from '../actions/actions.ts';
import type { Position } from '../match/problem.ts';
import { positionOf, type Block, type Bullet, type Heading } from './scan.ts';

type Paragraph = Extract<Block, { kind: 'paragraph' }>;

/** A separately scanned part of the text; `line` is the number of its first line. */
export interface Region {
  from: number;
  to: number;
  line: number;
}

/** Skips `<think>...</think>` at the beginning of an answer, and returns the text after it. */
export function skipThoughts(text: string, from: number): (Region & { name: string }) | null {
  const name = /^\s*<(think|thinking|reasoning|scratchpad)>/i.exec(text.slice(from, from + 200))?.[1];
  const close = name === undefined ? -1 : text.indexOf(`</${name}>`, from);
  if (name === undefined || close === -1) return null;
  const end = close + name.length + 3;
  return { name, from: end, to: text.length, line: text.slice(0, end).split('\n').length };
}

interface Tags extends Region {
  name: string;
  at: Position;
}

/** Finds `<plan>` on its own line before the first heading or fence, and `</plan>` followed only by prose. */
export function findTags(text: string, blocks: readonly Block[]): Tags | null {
  const first = blocks.findIndex(({ kind }) => kind === 'heading' || kind === 'fence');
  const opening = blocks
    .slice(0, Math.max(0, first))
    .flatMap((block) => (block.kind === 'paragraph' ? toLines(text, block) : []))
    .findLast((line) => readTag(text, line) !== null);
  const name = opening && readTag(text, opening);
  if (!opening || !name) return null;
  for (const block of blocks.slice(first).toReversed()) {
    if (block.kind === 'heading' || block.kind === 'fence') return null;
    const closing =
      block.kind === 'paragraph'
        ? toLines(text, block).find(({ start, end }) => text.slice(start, end).trim() === `</${name}>`)
        : undefined;
    if (closing) return { name, at: positionOf(opening), from: opening.end, to: closing.start, line: opening.line + 1 };
  }
  return null;
}

function readTag(text: string, { start, end }: Paragraph): string | null {
  return /^<([a-z][\w-]*)>$/i.exec(text.slice(start, end).trim())?.[1] ?? null;
}

/** Turns lines such as `#Title`, `##Action Plan` and `###CREATE` into headings; `glued` lists the new headings. */
export function splitGluedHeadings(
  text: string,
  blocks: Block[],
  isSection: (title: string) => boolean,
): { blocks: Block[]; glued: Heading[] } {
  const first = blocks.find((block): block is Heading => block.kind === 'heading');
  const glued: Heading[] = [];
  let mayBeTitle = first?.level !== 1;
  const split = blocks.flatMap((block) => {
    if (block === first) mayBeTitle = false;
    if (block.kind !== 'paragraph' || !/(?:^|\n) {0,3}#/.test(text.slice(block.start, block.end))) return [block];
    const lines = toLines(text, block).map((line) => {
      const heading = readGlued(text, line, mayBeTitle, isSection);
      if (heading === null) return line;
      mayBeTitle = false;
      glued.push(heading);
      return heading;
    });
    return lines.some(({ kind }) => kind === 'heading') ? joinLines(lines) : [block];
  });
  return { blocks: split, glued };
}

function readGlued(
  text: string,
  line: Paragraph,
  mayBeTitle: boolean,
  isSection: (title: string) => boolean,
): Heading | null {
  const match = line.indent > 3 ? null : /^(#{1,6})([^#\s!].*)$/.exec(text.slice(line.offset, line.end).trimEnd());
  const level = match?.[1]?.length ?? 0;
  const title = match?.[2]?.replace(/\s#+$/, '').trim() ?? '';
  const isKnown =
    (level === 1 && mayBeTitle) || (level === 2 && isSection(title)) || findActionType(title) !== undefined;
  return match && isKnown ? { ...line, kind: 'heading', level, text: title } : null;
}

/** Rejoins lines into one paragraph when there is no heading between them. */
function joinLines(lines: (Paragraph | Heading)[]): Block[] {
  const joined: Block[] = [];
  for (const line of lines) {
    const last = joined.at(-1);
    if (line.kind === 'paragraph' && last?.kind === 'paragraph') last.end = line.end;
    else joined.push(line);
  }
  return joined;
}

/**
 * Turns numbered or plain parameter lines at the beginning of an action into bullets; `first` is the first of these
 * lines. Does not touch anything after a fence or a heading, or free Markdown after its first paragraph.
 */
export function toParameterBullets(
  text: string,
  spec: ActionSpec,
  blocks: readonly Block[],
): { blocks: Block[]; first: Bullet | null } {
  const body = blocks.findIndex(({ kind }) => kind === 'fence' || kind === 'heading' || kind === 'rule');
  const end = spec.body === 'markdown' ? Math.min(1, blocks.length) : body === -1 ? blocks.length : body;
  let first: Bullet | null = null;
  const read = blocks.slice(0, end).flatMap((block): Block[] => {
    if (block.kind !== 'paragraph') return [block];
    const lines = toLines(text, block).map((line) => readParameterLine(text, spec, line) ?? line);
    const bullet = lines[0];
    if (bullet?.kind !== 'bullet') return [block];
    first ??= bullet;
    return lines;
  });
  return { blocks: [...read, ...blocks.slice(end)], first };
}

/** Reads `1. **File Path:** a`, `**File Path:** a` or `File Path: a`, if the action has the key. */
function readParameterLine(text: string, spec: ActionSpec, line: Paragraph): Bullet | null {
  const written = text.slice(line.offset, line.end);
  const number = /^\d{1,9}[.)][ \t]+/.exec(written)?.[0] ?? '';
  const parameter = written.slice(number.length).trimEnd();
  const key = /^(?:\*\*|__|[*_`])?([^:*`]{1,40}?)(?:\*\*|__|[*_`])? ?:/.exec(parameter)?.[1];
  if (line.indent > 3 || key === undefined || findParameterSpec(spec, key) === undefined) return null;
  return { ...line, kind: 'bullet', text: parameter, textStart: line.offset + number.length };
}

/** Splits a paragraph into one paragraph per line. */
function toLines(text: string, paragraph: Paragraph): Paragraph[] {
  const lines: Paragraph[] = [];
  for (let start = paragraph.start; start < paragraph.end;) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 || newline >= paragraph.end ? paragraph.end : newline + 1;
    const blank = /^[ \t]*/.exec(text.slice(start, end))?.[0] ?? '';
    lines.push({
      kind: 'paragraph',
      start,
      end,
      line: paragraph.line + lines.length,
      offset: start + blank.length,
      indent: blank.includes('\t') ? 4 : blank.length,
      gap: lines.length === 0 && paragraph.gap,
    });
    start = end;
  }
  return lines;
}
