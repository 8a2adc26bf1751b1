/** Reads the Action Plan: finds its actions and turns each one into a value. */
import type { ActionBase, ActionReader, ActionType, Resource } from '../actions/action.ts';
import { findParameterSpec, type ActionSpec } from '../actions/spec.ts';
import { actionTypes, findActionType } from '../actions/actions.ts';
import {
  checkNoBody,
  hintOfStray,
  readContent,
  readLabel,
  readMarkdown,
  readPairs,
  readQueries,
  skipBlocks,
} from './parse-bodies.ts';
import { addProblem, excerpt, splitBullet, type Reading, type Section } from './parse-outline.ts';
import { beginsAction } from './parse-misplaced.ts';
import { checkRequired, readParameters, type ActionPart, type Parameters } from './parse-parameters.ts';
import { openValues, type ValueReader } from './parse-values.ts';
import { readWrittenPath } from '../../session/paths/path-marks.ts';
import type { Action } from '../plan.ts';
import { positionOf, type Block, type Heading } from './scan.ts';

const maxUrlLength = 8_000;

/** The beginning of an action; `spec` is undefined when no action has that name. */
interface ActionStart {
  spec: ActionType<ActionBase> | undefined;
  heading: Heading;
  blocks: Block[];
}

/** Returns the complete actions and reports the problems of the others. Indexes count all actions. */
export function readActions(reading: Reading, section: Section): Action[] {
  const { before, starts } = splitActions(reading, section);
  checkBefore(reading, before);
  return starts.flatMap(({ spec, heading, blocks }, at) => {
    const index = at + 1;
    const end = starts[at + 1]?.heading.start ?? section.end;
    if (!spec) reportUnknown(reading, heading, index);
    else if (heading.level !== 3) reportLevel(reading, heading, spec, index);
    const action = spec && readAction(reading, { spec, index, heading, blocks, end });
    return action ? [action] : [];
  });
}

function splitActions(reading: Reading, section: Section): { before: Block[]; starts: ActionStart[] } {
  const before: Block[] = [];
  const starts: ActionStart[] = [];
  for (const [at, block] of section.blocks.entries()) {
    const current = starts.at(-1);
    if (block.kind === 'heading' && startsAction(reading, block, section.blocks[at + 1], current?.spec)) {
      starts.push({ spec: findActionType(block.text), heading: block, blocks: [] });
    } else {
      (current?.blocks ?? before).push(block);
    }
  }
  return { before, starts };
}

/**
 * In free Markdown, an H3 is text unless it names an action; in an EDIT it may be a label. An action heading at another
 * level also begins an action: the parser reports it instead of adding it to the previous action.
 */
function startsAction(
  reading: Reading,
  heading: Heading,
  next: Block | undefined,
  current: ActionSpec | undefined,
): boolean {
  if (heading.level !== 3) {
    if (reading.grammar === 1) return false;
    return current?.body === 'markdown'
      ? beginsAction(reading.text, heading, next)
      : findActionType(heading.text) !== undefined;
  }
  if (current?.body === 'markdown')
    return findActionType(heading.text) !== undefined || /^`[A-Z_]+`$/.test(heading.text);
  return current?.body !== 'pairs' || readLabel(reading, heading) === null;
}

function checkBefore(reading: Reading, before: Block[]): void {
  const stray = before.find((block) => block.kind !== 'fence' && block.kind !== 'rule');
  if (!stray)
    return skipBlocks(
      reading,
      before.filter((block) => block !== reading.cutOff?.fence),
    );
  const found = excerpt(reading.text, stray.offset, stray.end);
  addProblem(
    reading,
    positionOf(stray),
    `Found text before the first action: "${found}".`,
    hintOfStray(found) ?? 'Put it under `## Rationale`.',
  );
}

function reportUnknown(reading: Reading, heading: Heading, index: number): void {
  const found = excerpt(heading.text, 0, heading.text.length);
  const known = actionTypes.map(({ type }) => type).join(', ');
  addProblem(
    reading,
    positionOf(heading),
    `Unknown action "${found}"; expected one of ${known}.`,
    hintOfUnknown(heading.text),
    index,
  );
}

function hintOfUnknown(text: string): string {
  const meant = findActionType(/^[^a-z]*(?:action[^a-z]+)?[a-z_]+/i.exec(text)?.[0] ?? '');
  if (meant) return `Write \`### ${meant.type}\` and nothing behind it; the rest goes into parameters below.`;
  const isScript = /\b(?:delete|remove|move|rename|copy|run|shell|bash|command)\b/i.test(text.slice(0, 200));
  return isScript ? 'Do that with a script: ### EXECUTE' : '### CREATE';
}

function reportLevel(reading: Reading, heading: Heading, spec: ActionSpec, index: number): void {
  const found = excerpt(reading.text, heading.offset, heading.end);
  const message = `Found the action "${found}" as a heading of level ${heading.level}, expected level 3.`;
  addProblem(reading, positionOf(heading), message, `### ${spec.type}`, index);
}

/** Returns null when a problem was reported. */
function readAction(reading: Reading, part: ActionPart): Action | null {
  const problems = reading.problems.length;
  const { parameters, body } = readParameters(reading, part, (block) => stopsParameters(reading, part.spec, block));
  if (reading.cutOff && part.blocks.at(-1) === reading.cutOff.fence) {
    reading.cutOff.action = part.index;
    return null;
  }
  if (reading.problems.length === problems) checkRequired(reading, part, parameters);
  const from = openAction(reading, part, parameters, body);
  const { type } = part.spec;
  const base = { type, index: part.index, ...positionOf(part.heading), description: from.text('Description') };
  const fields = part.spec.read(from);
  return fields === null || reading.problems.length > problems ? null : ({ ...base, ...fields } as Action);
}

/** Free Markdown may begin with its own list; a label may be a bullet, or follow the list without a blank line. */
function stopsParameters(reading: Reading, spec: ActionSpec, block: Block): boolean {
  if (spec.body === 'pairs') return readLabel(reading, block) !== null;
  if (spec.body !== 'markdown' || block.kind !== 'bullet') return false;
  const split = splitBullet(block);
  return !split || !findParameterSpec(spec, split.key);
}

function openAction(reading: Reading, part: ActionPart, parameters: Parameters, blocks: Block[]): ActionReader {
  const values = openValues(reading, part, parameters);
  return {
    ...values,
    grammar: reading.grammar,
    resource: () => readResource(reading, parameters, values),
    body: {
      isEmpty: () => blocks.every(({ kind }) => kind === 'rule'),
      none: () => checkNoBody(reading, part, blocks),
      content: () => readContent(reading, part, blocks),
      pairs: () => readPairs(reading, part, blocks),
      queries: () => readQueries(reading, part, blocks),
      markdown: () => readMarkdown(reading, part, blocks),
    },
    report: (message) => addProblem(reading, positionOf(part.heading), message, part.spec.bodyExample, part.index),
  };
}

/** A URL is accepted only as a Resource; under File Path it is a mistake. */
function readResource(reading: Reading, parameters: Parameters, values: ValueReader): Resource | null {
  const parameter = parameters.get('Resource');
  if (!parameter) return null;
  const url = findUrl(parameter.value) ?? findMarkedUrl(reading, parameter.value);
  if (url !== null && /^(?:resource|url)$/i.test(parameter.key)) return { kind: 'url', url };
  if (url !== null) return values.refuse(parameter, 'it is a URL, which goes under Resource');
  const path = values.path('Resource');
  return path === null ? null : { kind: 'path', path };
}

/** Finds a URL in quotes or before a remark. */
function findMarkedUrl({ grammar }: Reading, value: string): string | null {
  const written = readWrittenPath(value, grammar);
  return 'text' in written && written.note !== undefined ? findUrl(written.text) : null;
}

/** Reads `https://x`, `<https://x>`, `` `https://x` `` or `[shown](https://x)` with any scheme; null for a path. */
function findUrl(value: string): string | null {
  if (value.length > maxUrlLength) return null;
  const plain = /^\[.*\]\((.*)\)$/s.exec(value)?.[1] ?? value;
  return /^[<`*]*([a-z][a-z0-9+.-]+:\/\/[^\s<>`]+)[>`*]*$/i.exec(plain)?.[1] ?? null;
}
