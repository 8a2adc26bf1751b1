/** Reads a plan as the model sent it. Collects all problems; never throws, and does not change the text. */
import { findActionType } from '../actions/actions.ts';
import { newestGrammar, type Grammar } from '../../session/text/grammar.ts';
import { readActions } from './parse-actions.ts';
import { trimBlankLines } from './parse-bodies.ts';
import { readContextVault, readMemos } from './parse-lists.ts';
import { beginsAction, reportMisplaced } from './parse-misplaced.ts';
import {
  addNote,
  addProblem,
  excerpt,
  readOutline,
  readSectionName,
  scanPlan,
  splitBullet,
  type Outline,
  type Reading,
  type ScannedPlan,
  type Section,
  type SectionName,
} from './parse-outline.ts';
import { readItem } from './parse-parameters.ts';
import type { Problem } from '../match/problem.ts';
import type { ParsedPlan, Plan } from '../plan.ts';
import { fenceContent, findTextBehind, positionOf, type Block } from './scan.ts';
import { countBytes } from '../../session/text/bytes.ts';

export const maxPlanBytes = 10_485_760;

/**
 * Returns true if an answer is a plan: it has, outside fences, a heading `## Action Plan` or `## Message`, or an
 * action.
 */
export function isPlan(text: string): boolean {
  return scanPlan(text, newestGrammar).blocks.some((block, at, blocks) => {
    if (block.kind !== 'heading') return false;
    const name = block.level === 2 ? readSectionName(block) : null;
    return name === 'action plan' || name === 'message' || beginsAction(text, block, blocks[at + 1]);
  });
}

export interface ParseOptions {
  /** The absolute root, which may precede the plan's paths. */
  projectRoot?: string;
  /** The grammar that a plan's report records; the newest by default. */
  grammar?: Grammar;
}

/** Positions refer to `text`. */
export function parsePlan(text: string, { projectRoot, grammar = newestGrammar }: ParseOptions = {}): ParsedPlan {
  if (isTooLarge(text)) return refuseLarge();
  const scanned = scanPlan(text, grammar);
  const reading: Reading = {
    text,
    projectRoot,
    grammar,
    problems: [],
    notes: [],
    cutOff: findCutOff(scanned),
  };
  const outline = readOutline(scanned.blocks, scanned.end);
  noteOuterFence(reading, scanned);
  for (const note of scanned.notes) reading.notes.push(note);
  const plan = readPlan(reading, outline);
  reportCutOff(reading);
  return { plan, problems: sorted(reading.problems), notes: sorted(reading.notes) };
}

function isTooLarge(text: string): boolean {
  return text.length * 3 > maxPlanBytes && (text.length > maxPlanBytes || countBytes(text) > maxPlanBytes);
}

function refuseLarge(): ParsedPlan {
  const message = 'The plan is larger than 10 MiB (10,485,760 bytes).';
  const plan: Plan = { ...noSections, title: '', metadata: {} };
  return { plan, problems: [{ line: 1, column: 1, message, hint: 'Ask for several smaller plans.' }], notes: [] };
}

const noSections = { rationale: null, contextVault: null, memos: [], actions: [], message: null };

function readPlan(reading: Reading, outline: Outline): Plan {
  readTitle(reading, outline);
  const sections = findSections(reading, outline);
  const read = <T>(name: SectionName, reader: (reading: Reading, section: Section) => T): T | null => {
    const section = sections.get(name);
    return section ? reader(reading, section) : null;
  };
  return {
    title: outline.title?.text ?? '',
    metadata: outline.title ? readMetadata(reading, outline.preamble) : {},
    rationale: read('rationale', readRationale),
    contextVault: read('context vault', readContextVault),
    memos: read('memos', readMemos) ?? [],
    actions: read('action plan', readActions) ?? [],
    message: read('message', readMarkdownSection),
  };
}

function readTitle(reading: Reading, { before, title, sections }: Outline): void {
  const [first] = before;
  if (title && first) addNote(reading, positionOf(first), 'The text before the title is ignored.');
  if (title && title.text !== '') return;
  const heading = title ?? sections[0]?.heading;
  if (!heading) return; // A text without any heading is not a plan at all, which is reported once.
  addProblem(
    reading,
    positionOf(heading),
    `Found "${excerpt(reading.text, heading.offset, heading.end)}", expected the plan's title.`,
    '# Add the login route',
  );
}

/** Reads the bullets directly after the title. Ignores all other text before the first section, except for a second title. */
function readMetadata(reading: Reading, preamble: Block[]): Record<string, string> {
  const entries: [string, string][] = [];
  let ignored: Block | undefined;
  for (let at = 0; at < preamble.length; at += 1) {
    const block = preamble[at];
    const split = block?.kind === 'bullet' ? splitBullet(block) : null;
    if (block?.kind === 'bullet' && split) {
      const item = readItem(block, preamble, at);
      entries.push([split.key, reading.text.slice(split.valueOffset, item.end).trim()]);
      at += item.size - 1;
    } else if (block?.kind !== 'rule' && block !== reading.cutOff?.fence) {
      ignored ??= block;
    }
  }
  if (ignored) reportPreamble(reading, ignored);
  return Object.fromEntries(entries);
}

function reportPreamble(reading: Reading, block: Block): void {
  // Reported as misplaced.
  if (reading.grammar !== 1 && block.kind === 'heading' && findActionType(block.text)) return;
  if (block.kind !== 'heading') return addNote(reading, positionOf(block), 'The text after the title is ignored.');
  const found = excerpt(reading.text, block.offset, block.end);
  addProblem(reading, positionOf(block), `Found "${found}", expected a section.`, '## Action Plan');
}

function findSections(reading: Reading, outline: Outline): Map<SectionName, Section> {
  const found = new Map<SectionName, Section>();
  for (const section of outline.sections) {
    const at = positionOf(section.heading);
    const title = excerpt(section.heading.text, 0, section.heading.text.length);
    if (section.name === null) {
      if (reading.grammar === 1 || !findActionType(section.heading.text))
        addNote(reading, at, `The section "${title}" is not known; it is ignored.`);
    } else if (!found.has(section.name)) found.set(section.name, section);
    else addProblem(reading, at, `Found a second section "${title}".`, 'Put both under one heading.');
  }
  const isMisplaced = reportMisplaced(reading, outline);
  if (!found.has('action plan') && !found.has('message') && !isMisplaced && !reading.cutOff) {
    const message = 'The plan has neither an Action Plan nor a Message.';
    addProblem(reading, { line: 1, column: 1 }, message, '## Action Plan');
  }
  return found;
}

/** Reads one fence, or free Markdown. */
function readRationale(reading: Reading, section: Section): string {
  const [block, ...others] = section.blocks;
  if (block?.kind === 'fence' && others.length === 0) return trimBlankLines(fenceContent(reading.text, block));
  return readMarkdownSection(reading, section);
}

function readMarkdownSection(reading: Reading, section: Section): string {
  return trimBlankLines(reading.text.slice(section.heading.end, section.end));
}

function noteOuterFence(reading: Reading, { outer, around }: ScannedPlan): void {
  const [first] = around;
  if (outer) addNote(reading, positionOf(outer), 'The answer is wrapped in a fence, which is taken off.');
  if (first) addNote(reading, positionOf(first), 'The text outside of the fence around the plan is ignored.');
}

/** Returns where the text is cut off: inside a fence, or before the closing line of its outer fence. */
function findCutOff({ blocks, outer }: ScannedPlan): Reading['cutOff'] {
  const last = blocks.at(-1);
  if (last?.kind === 'fence' && !last.closed) return { fence: last };
  return outer && !outer.closed ? { fence: outer } : null;
}

function reportCutOff(reading: Reading): void {
  if (!reading.cutOff) return;
  const { fence, action } = reading.cutOff;
  const behind = findTextBehind(reading.text, fence);
  if (behind !== null) {
    const told = `The fence "${fence.marker}" that opens here is not closed on line ${behind.line}, where text stands behind it.`;
    const toClose = `End that line after ${fence.marker}, and put ${JSON.stringify(excerpt(behind.text, 0, behind.text.length))} on the next one.`;
    addProblem(reading, positionOf(fence), told, toClose, action);
    return;
  }
  const message = `The answer was cut off: the fence "${fence.marker}" that opens here is never closed.`;
  const hint = `Close it with a line of ${fence.marker} only, and make it longer than any fence inside it.`;
  addProblem(reading, positionOf(fence), message, hint, action);
}

function sorted(problems: Problem[]): Problem[] {
  return problems.toSorted((a, b) => a.line - b.line || a.column - b.column);
}
