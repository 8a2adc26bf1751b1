/** Finds a plan's title, metadata and sections before reading their content. */
import type { Grammar } from '../../session/text/grammar.ts';
import { findTags, skipThoughts, splitGluedHeadings, type Region } from './parse-loose.ts';
import { isClosingLine, positionOf, scanBlocks, type Block, type Bullet, type Fence, type Heading } from './scan.ts';
import type { Position, Problem } from '../match/problem.ts';

/** One pass over a plan: the text, and the problems found so far. */
export interface Reading {
  readonly text: string;
  readonly projectRoot: string | undefined;
  readonly grammar: Grammar;
  readonly problems: Problem[];
  readonly notes: Problem[];
  /**
   * The unclosed fence at the end of the text, and the action that it belongs to, once known. The parser does not
   * separately report anything missing after the fence.
   */
  readonly cutOff: { readonly fence: Fence; action?: number } | null;
}

const sectionNames = ['rationale', 'context vault', 'memos', 'action plan', 'message'] as const;
export type SectionName = (typeof sectionNames)[number];

export interface Section {
  heading: Heading;
  /** Null for a heading that the grammar does not define. */
  name: SectionName | null;
  blocks: Block[];
  /** The offset after the section's last character. */
  end: number;
}

export interface Outline {
  before: Block[];
  /** The first heading, if it is an H1. */
  title: Heading | null;
  /** The blocks between the title and the first section. */
  preamble: Block[];
  sections: Section[];
}

export interface ScannedPlan {
  blocks: Block[];
  /** The offset where the plan ends: before the closing line of an outer fence, if any. */
  end: number;
  /** The fence around the whole answer. */
  outer: Fence | null;
  /** The blocks before and after the outer fence. */
  around: Block[];
  /** Notes about other wrappers removed from around the plan, or about text with only one possible reading. */
  notes: Problem[];
}

/** Scans an answer inside its wrapper (a fence or tags), if any; offsets and lines refer to `text`. */
export function scanPlan(text: string, grammar: Grammar): ScannedPlan {
  const notes: Problem[] = [];
  if (grammar === 1) return { ...unwrapFence(text, scanWhole(text)), notes };
  const scanned = unwrapFence(text, scanRegion(text, notes));
  const isSection = (title: string) => readSectionName({ text: title }) !== null;
  const { blocks, glued } = splitGluedHeadings(text, scanned.blocks, isSection);
  for (const heading of glued) {
    const found = excerpt(text, heading.offset, heading.end);
    notes.push(toProblem(positionOf(heading), `"${found}" is read as a heading; a blank is missing behind its marks.`));
  }
  return { ...scanned, blocks, notes };
}

interface ScannedRegion {
  blocks: Block[];
  end: number;
}

function scanWhole(text: string): ScannedRegion {
  return { blocks: scanBlocks(text, text.startsWith('\ufeff') ? 1 : 0), end: text.length };
}

/** Skips the model's thoughts before the plan, and the tags around it. */
function scanRegion(text: string, notes: Problem[]): ScannedRegion {
  const start = text.startsWith('\ufeff') ? 1 : 0;
  const thoughts = skipThoughts(text, start);
  if (thoughts) notes.push(toProblem({ line: 1, column: 1 }, `The text in <${thoughts.name}> is ignored.`));
  const region: Region = thoughts ?? { from: start, to: text.length, line: 1 };
  const blocks = scanBlocks(text, region.from, region.to, region.line);
  const tags = findTags(text, blocks);
  if (!tags) return { blocks, end: region.to };
  notes.push(toProblem(tags.at, `The plan is what stands in <${tags.name}>; the text outside of it is ignored.`));
  return { blocks: scanBlocks(text, tags.from, tags.to, tags.line), end: tags.to };
}

function unwrapFence(text: string, { blocks, end: to }: ScannedRegion): Omit<ScannedPlan, 'notes'> {
  const wrapped = findOuterFence(text.slice(0, to), blocks);
  if (!wrapped) return { blocks, end: to, outer: null, around: [] };
  const { outer, end, around } = wrapped;
  return { blocks: scanBlocks(text, outer.contentStart, end, outer.line + 1), end, outer, around };
}

export function readSectionName(heading: Pick<Heading, 'text'>): SectionName | null {
  const words = heading.text.toLowerCase().match(/[a-z]+/g) ?? [];
  return sectionNames.find((name) => name === words.join(' ')) ?? null;
}

/** A section ends where the next known section begins; in free Markdown, any other heading is text. */
export function readOutline(blocks: Block[], end: number): Outline {
  const first = blocks.findIndex((block) => block.kind === 'heading');
  const heading = blocks[first];
  const title = heading?.kind === 'heading' && heading.level === 1 ? heading : null;
  const outline: Outline = {
    before: first === -1 ? blocks : blocks.slice(0, first),
    title,
    preamble: [],
    sections: [],
  };
  const rest = first === -1 ? [] : blocks.slice(title ? first + 1 : first);
  for (const block of rest) placeBlock(outline, block, end);
  return outline;
}

function placeBlock(outline: Outline, block: Block, end: number): void {
  const section = outline.sections.at(-1);
  const name = block.kind === 'heading' && block.level === 2 ? readSectionName(block) : null;
  const isText = section?.name === 'rationale' || section?.name === 'message';
  if (block.kind === 'heading' && block.level === 2 && (name !== null || !isText)) {
    if (section) section.end = block.start;
    outline.sections.push({ heading: block, name, blocks: [], end });
  } else {
    (section?.blocks ?? outline.preamble).push(block);
  }
}

/**
 * Finds a fence at the beginning of the answer whose content starts like a plan. Models often make this fence no longer
 * than the fences inside it, so that strictly an inner one closes it; in that case the answer's last line must be its
 * closing line.
 */
function findOuterFence(text: string, blocks: Block[]): { outer: Fence; end: number; around: Block[] } | null {
  const at = blocks.findIndex((block) => block.kind === 'fence' || block.kind === 'heading');
  const outer = blocks[at];
  if (outer?.kind !== 'fence' || !/^(?:md|markdown|text|plaintext)?$/i.test(outer.info)) return null;
  if (!startsAsPlan(text.slice(outer.contentStart, outer.contentEnd))) return null;
  const before = blocks.slice(0, at);
  const rest = blocks.slice(at + 1);
  if (rest.some((block) => block.kind === 'heading' && block.level === 1)) return null;
  if (rest.every((block) => block.kind === 'paragraph'))
    return { outer, end: outer.contentEnd, around: [...before, ...rest] };
  const trimmed = text.trimEnd();
  const lastLine = trimmed.lastIndexOf('\n') + 1;
  return isClosingLine(trimmed.slice(lastLine), outer) ? { outer, end: lastLine, around: before } : null;
}

function startsAsPlan(content: string): boolean {
  return /^\s*#[ \t]/.test(content) && /^ {0,3}##[ \t]/m.test(content);
}

/** Splits a bullet `**Key:** value`, `**Key**: value` or `Key: value`; returns null when it has no key. */
export function splitBullet(bullet: Bullet): { key: string; valueOffset: number } | null {
  const marked = /^(\*\*|__|[*_`])(.+?)(?::\1|\1 ?:)/.exec(bullet.text);
  const match = marked ?? /^()([^:]+):/.exec(bullet.text);
  const key = match?.[2]?.trim();
  return match && key ? { key, valueOffset: bullet.textStart + match[0].length } : null;
}

export function addProblem(reading: Reading, at: Position, message: string, hint?: string, action?: number): void {
  reading.problems.push(toProblem(at, message, hint, action));
}

export function addNote(reading: Reading, at: Position, message: string, action?: number): void {
  reading.notes.push(toProblem(at, message, undefined, action));
}

function toProblem({ line, column }: Position, message: string, hint?: string, action?: number): Problem {
  return {
    line,
    column,
    message,
    ...(hint === undefined ? {} : { hint }),
    ...(action === undefined ? {} : { action }),
  };
}

/** Returns a block's beginning on one line, for a message. */
export function excerpt(text: string, start: number, end: number): string {
  const line =
    text
      .slice(start, Math.min(end, start + 200))
      .trim()
      .split(/[\r\n]/, 1)[0] ?? '';
  return line.length > 60 ? `${line.slice(0, 60)}...` : line;
}
