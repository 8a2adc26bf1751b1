/** Parses the body below an action's parameters: a fence, FIND and REPLACE pairs, or free Markdown. */
import { findActionType } from '../actions/actions.ts';
import type { EditPair } from '../match/match.ts';
import { addNote, addProblem, excerpt, type Reading } from './parse-outline.ts';
import type { ActionPart } from './parse-parameters.ts';
import { fenceContent, positionOf, type Block, type Fence } from './scan.ts';

const longerFence =
  'If it belongs to the content, the fence around the content has to be longer: ````. Else leave it out, or make it an action of its own.';

/** Reads the single fence of CREATE and EXECUTE; returns null after reporting a problem. */
export function readContent(reading: Reading, part: ActionPart, body: Block[]): string | null {
  const fences = body.filter((block): block is Fence => block.kind === 'fence');
  const stray = body.find((block) => block.kind !== 'fence' && block.kind !== 'rule');
  if (stray && fences.length === 0 && reading.grammar !== 1) return reportUnfenced(reading, stray, part);
  if (stray) return reportStray(reading, stray, part);
  const [fence, ...others] = fences;
  if (!fence) {
    const message = `${part.spec.type} has no fence with its ${part.spec.body}.`;
    return report(reading, part, part.heading, message, part.spec.bodyExample);
  }
  const second = others.find((other) => !isBlank(reading, other));
  if (second) return report(reading, part, second, `${part.spec.type} has a second fence, expected one.`, longerFence);
  skipBlocks(reading, [...others, ...body.filter(({ kind }) => kind === 'rule')], part.index);
  return fenceContent(reading.text, fence);
}

/** Reports text after an action that has no body, and skips stray fences. */
export function checkNoBody(reading: Reading, part: ActionPart, body: Block[]): void {
  const stray = body.find((block) => block.kind !== 'fence' && block.kind !== 'rule');
  if (stray) reportStray(reading, stray, part);
  else skipBlocks(reading, body, part.index);
}

/** Reads one query from each non-blank line of all fences. */
export function readQueries(reading: Reading, part: ActionPart, body: Block[]): string[] | null {
  const stray = body.find((block) => block.kind !== 'fence' && block.kind !== 'rule');
  if (stray) return reportStray(reading, stray, part);
  const lines = body.flatMap((block) => (block.kind === 'fence' ? fenceContent(reading.text, block).split('\n') : []));
  const queries = lines.map((line) => line.trim()).filter((line) => line !== '');
  if (queries.length > 0) return queries;
  return report(reading, part, part.heading, `${part.spec.type} has no fence with a query.`, part.spec.bodyExample);
}

/** Reads everything up to the next action; a rule at the end is only a separator. */
export function readMarkdown(reading: Reading, part: ActionPart, body: Block[]): string | null {
  const last = body.at(-1);
  const end = last?.kind === 'rule' && last.gap ? last.start : part.end;
  const text = trimBlankLines(reading.text.slice(body[0]?.start ?? end, end));
  if (text !== '') return text;
  return report(reading, part, part.heading, `${part.spec.type} says nothing.`, part.spec.bodyExample);
}

export type Label = 'FIND' | 'REPLACE';

const labels = new Map<string, Label>([
  ['FIND', 'FIND'],
  ['REPLACE', 'REPLACE'],
  ['SEARCH', 'FIND'],
  ['SEARCHFOR', 'FIND'],
  ['REPLACEWITH', 'REPLACE'],
  ['REPLACEMENT', 'REPLACE'],
]);

/** Reads `#### FIND:`, `` `FIND:` ``, `FIND:`, `- **FIND:**` and `FIND 2:`, in any case, and labels from other tools. */
export function readLabel(reading: Reading, block: Block): Label | null {
  const word = readLabelWord(reading, block);
  const label = labels.get(word) ?? null;
  return reading.grammar === 1 && label !== word ? null : label;
}

function readLabelWord(reading: Reading, block: Block): string {
  if (block.kind === 'fence' || block.kind === 'rule' || block.end - block.offset > 40) return '';
  const letters = reading.text.slice(block.offset, block.end).replace(/[\s#`*_:+-]+/g, '');
  return (reading.grammar === 1 ? letters : letters.replace(/\(?\d{1,3}\)?$/, '')).toUpperCase();
}

function noteLabel(reading: Reading, part: ActionPart, block: Block, label: Label): void {
  if (readLabelWord(reading, block) === label) return;
  const found = excerpt(reading.text, block.offset, block.end);
  addNote(reading, positionOf(block), `"${found}" is taken for ${label}.`, part.index);
}

interface LabelledFence {
  label: Label;
  at: Block;
  fence: Fence;
}

/** Reads the pairs of an EDIT; returns null after reporting the first mistake. */
export function readPairs(reading: Reading, part: ActionPart, body: Block[]): EditPair[] | null {
  const fences = readLabelledFences(reading, part, body);
  if (!fences) return null;
  if (fences.length === 0) {
    return report(reading, part, part.heading, 'EDIT has no FIND and REPLACE.', part.spec.bodyExample);
  }
  const [only] = fences;
  if (only && fences.length === 1 && only.label === 'REPLACE') {
    return [{ ...positionOf(only.at), find: null, replace: fenceContent(reading.text, only.fence) }];
  }
  return pairUp(reading, part, fences);
}

function readLabelledFences(reading: Reading, part: ActionPart, body: Block[]): LabelledFence[] | null {
  const found: LabelledFence[] = [];
  for (let at = 0; at < body.length; at += 1) {
    const block = body[at];
    if (!block) continue;
    const label = readLabel(reading, block);
    const fence = body[at + 1];
    if (label && fence?.kind === 'fence') {
      noteLabel(reading, part, block, label);
      found.push({ label, at: block, fence });
      at += 1;
    } else if (label) {
      return report(reading, part, block, `${label} has no fence after it.`, part.spec.bodyExample);
    } else if (block.kind === 'rule' || (block.kind === 'fence' && isBlank(reading, block))) {
      skipBlocks(reading, [block], part.index);
    } else if (block.kind === 'fence') {
      return report(
        reading,
        part,
        block,
        'Found a fence without a label, expected FIND or REPLACE before it.',
        found.length === 0 ? part.spec.bodyExample : longerFence,
      );
    } else {
      return reportStray(reading, block, part);
    }
  }
  return found;
}

function pairUp(reading: Reading, part: ActionPart, fences: LabelledFence[]): EditPair[] | null {
  const pairs: EditPair[] = [];
  for (let at = 0; at < fences.length; at += 2) {
    const [find, replace] = [fences[at], fences[at + 1]];
    if (find && find.label !== 'FIND') {
      return report(reading, part, find.at, 'REPLACE has no FIND before it.', part.spec.bodyExample);
    }
    if (find && replace?.label !== 'REPLACE') {
      return report(reading, part, find.at, 'FIND has no REPLACE after it.', part.spec.bodyExample);
    }
    if (!find || !replace) continue;
    const text = fenceContent(reading.text, find.fence);
    if (text === '')
      return report(reading, part, find.at, 'FIND is empty.', 'Leave FIND out to replace the whole file.');
    pairs.push({ ...positionOf(find.at), find: text, replace: fenceContent(reading.text, replace.fence) });
  }
  return pairs;
}

/** Notes that the parser skips separators and stray fences. */
export function skipBlocks(reading: Reading, blocks: Block[], action?: number): void {
  for (const block of blocks) {
    const what = block.kind === 'fence' ? 'A fence that belongs to nothing' : 'A separator';
    addNote(reading, positionOf(block), `${what} is skipped.`, action);
  }
}

/** Removes the blank lines at both ends; keeps the indentation of the first line. */
export function trimBlankLines(text: string): string {
  const start = text.length - text.trimStart().length;
  return text.slice(text.lastIndexOf('\n', start - 1) + 1, text.trimEnd().length);
}

function isBlank(reading: Reading, fence: Fence): boolean {
  return fenceContent(reading.text, fence).trim() === '';
}

const leaveOut =
  'Leave it out, or put it under `## Rationale` or `## Message`: an Action Plan holds nothing but actions.';

/** Suggests a heading for text that is an action's name, such as `**CREATE**`. */
export function hintOfStray(found: string): string | null {
  const spec = findActionType(found);
  return spec ? `An action begins with a heading: ### ${spec.type}` : null;
}

/** Returns true if the action is already complete. */
function isBehindBody({ spec, blocks }: ActionPart, stray: Block): boolean {
  return spec.body === 'none' || blocks.some((block) => block.kind === 'fence' && block.start < stray.start);
}

function reportUnfenced(reading: Reading, block: Block, part: ActionPart): null {
  const found = excerpt(reading.text, block.offset, block.end);
  const { type, body, bodyExample } = part.spec;
  const hint = hintOfStray(found) ?? bodyExample;
  return report(reading, part, block, `Found "${found}", expected a fence with the ${body} of ${type}.`, hint);
}

function reportStray(reading: Reading, block: Block, part: ActionPart): null {
  const found = excerpt(reading.text, block.offset, block.end);
  const hint = hintOfStray(found) ?? (isBehindBody(part, block) ? leaveOut : part.spec.bodyExample);
  return report(reading, part, block, `Found text that belongs to no part of ${part.spec.type}: "${found}".`, hint);
}

function report(reading: Reading, part: ActionPart, at: Block, message: string, hint: string): null {
  addProblem(reading, positionOf(at), message, hint, part.index);
  return null;
}
