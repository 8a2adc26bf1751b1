/** The bullet list under an action's heading: which parameters it gives, and their values by type. */
import { findParameterSpec, renderParameter, type ActionSpec, type ParameterSpec } from './actions.ts';
import { addNote, addProblem, excerpt, splitBullet, type Reading } from './parse-outline.ts';
import { parsePlanPath, unwrapPath, withoutCode } from './paths.ts';
import type { Position } from './plan.ts';
import { positionOf, type Block, type Bullet, type Heading } from './scan.ts';
import type { RepoPath } from '../session/names.ts';

/** One action as it stands in the plan, not yet read. */
export interface ActionPart {
  spec: ActionSpec;
  /** From 1. */
  index: number;
  heading: Heading;
  blocks: Block[];
  /** Offset after its last character. */
  end: number;
}

/** A bullet with everything that is nested in it. */
export interface Item {
  bullet: Bullet;
  nested: Bullet[];
  /** How many blocks it takes. */
  size: number;
  end: number;
}

interface Parameter {
  spec: ParameterSpec;
  key: string;
  value: string;
  nested: Bullet[];
  position: Position;
}

/** The value of each parameter that is given, by its name in the table. */
export type Parameters = ReadonlyMap<string, Parameter>;

/** The bullet at `blocks[at]` with its continuation lines and deeper bullets, up to a block that `stops` it. */
export function readItem(
  bullet: Bullet,
  blocks: Block[],
  at: number,
  stops: (block: Block) => boolean = () => false,
): Item {
  const nested: Bullet[] = [];
  let next = at + 1;
  for (; next < blocks.length; next += 1) {
    const block = blocks[next];
    if (!block || stops(block)) break;
    const deeper = block.indent >= bullet.indent + 2;
    if (block.kind === 'bullet' && deeper) nested.push(block);
    else if (block.kind !== 'paragraph' || (block.gap && !deeper)) break;
  }
  return { bullet, nested, size: next - at, end: blocks[next - 1]?.end ?? bullet.end };
}

/** Reads parameters from the start of the action, up to the first block that `stops` them. `size` counts blocks. */
export function readParameters(
  reading: Reading,
  part: ActionPart,
  stops: (block: Block) => boolean,
): { parameters: Parameters; size: number } {
  const parameters = new Map<string, Parameter>();
  let at = 0;
  for (let block = part.blocks[0]; block?.kind === 'bullet' && !stops(block); block = part.blocks[at]) {
    const item = readItem(block, part.blocks, at, stops);
    addParameter(reading, part, item, parameters);
    at += item.size;
  }
  return { parameters, size: at };
}

function addParameter(reading: Reading, part: ActionPart, item: Item, parameters: Map<string, Parameter>): void {
  const { spec, index } = part;
  const position = positionOf(item.bullet);
  const split = splitBullet(item.bullet);
  if (!split) {
    const found = excerpt(reading.text, item.bullet.textStart, item.end);
    return addProblem(
      reading,
      position,
      `Found "${found}", expected a parameter of ${spec.type}.`,
      exampleOf(spec),
      index,
    );
  }
  const known = findParameterSpec(spec, split.key);
  if (!known)
    return addNote(
      reading,
      position,
      `${spec.type} has no parameter "${excerpt(split.key, 0, split.key.length)}"; it is ignored.`,
      index,
    );
  if (parameters.has(known.name)) {
    return addProblem(reading, position, `"${known.name}" is given twice.`, 'Give each parameter once.', index);
  }
  const value = reading.text.slice(split.valueOffset, item.end);
  const valueOffset = split.valueOffset + value.length - value.trimStart().length;
  const onLine = valueOffset < item.bullet.end && value.trim() !== '';
  const valuePosition = onLine ? positionOf(item.bullet, valueOffset) : position;
  parameters.set(known.name, {
    spec: known,
    key: split.key,
    value: value.trim(),
    nested: item.nested,
    position: valuePosition,
  });
}

function exampleOf(spec: ActionSpec): string {
  const [first] = spec.parameters;
  return first ? renderParameter(first) : 'Leave the list out.';
}

/** Reports every required parameter that is absent or empty. */
export function checkRequired(reading: Reading, part: ActionPart, parameters: Parameters): void {
  for (const spec of part.spec.parameters.filter(({ required }) => required)) {
    if (parameters.get(spec.name)?.value) continue;
    addProblem(
      reading,
      positionOf(part.heading),
      `${part.spec.type} has no ${spec.name}.`,
      renderParameter(spec),
      part.index,
    );
  }
}

/** Reads values of one action; each reader gives null for an absent parameter, and for a bad one after reporting it. */
export interface ValueReader {
  text(name: string): string | null;
  /** One word, also when it stands in back-ticks or bold. */
  word(name: string): string | null;
  path(name: string): RepoPath | null;
  directory(name: string): string | null;
  boolean(name: string): boolean;
  number(name: string, max: number): number | null;
  lines(name: string): string | null;
  env(name: string): Record<string, string>;
  /** Reports that a value is not as it has to be. */
  refuse(parameter: Parameter, reason: string): null;
}

export function openValues(reading: Reading, part: ActionPart, parameters: Parameters): ValueReader {
  const refuse = (parameter: Parameter, reason: string): null => {
    const { spec, value, position } = parameter;
    const found = excerpt(value, 0, value.length);
    addProblem(reading, position, `${spec.name} "${found}": ${reason}.`, renderParameter(spec), part.index);
    return null;
  };
  const given = (name: string): Parameter | null => {
    const parameter = parameters.get(name);
    return parameter && parameter.value !== '' ? parameter : null;
  };
  const read = <T>(name: string, parse: (parameter: Parameter) => T | null): T | null => {
    const parameter = given(name);
    return parameter && parse(parameter);
  };
  const path = (parameter: Parameter): RepoPath | null => {
    const parsed = parsePlanPath(parameter.value, reading.projectRoot);
    return 'path' in parsed ? parsed.path : refuse(parameter, parsed.problem);
  };
  return {
    text: (name) => read(name, ({ value }) => joinLines(value)),
    word: (name) => read(name, (it) => parseWord(it.value) ?? refuse(it, 'expected one word')),
    path: (name) => read(name, path),
    directory: (name) =>
      read(name, (parameter) => (isRoot(parameter.value, reading.projectRoot) ? '.' : path(parameter))),
    boolean: (name) => read(name, (it) => parseBoolean(it.value) ?? refuse(it, 'expected true or false')) ?? false,
    number: (name, max) =>
      read(name, (it) => parseNumber(it.value, max) ?? refuse(it, `expected a number above 0, at most ${max}`)),
    lines: (name) => read(name, (it) => parseLines(it.value) ?? refuse(it, 'expected 10-20, -20, 50- or 5')),
    env: (name) => read(name, (it) => readEnv(it, refuse)) ?? {},
    refuse,
  };
}

/** A value over several lines is one text; nested bullets stay on lines of their own. */
function joinLines(value: string): string {
  const lines = value.split('\n').map((line) => line.trim());
  return lines.reduce((text, line) => (line === '' ? text : `${text}${/^[-*+]\s/.test(line) ? '\n' : ' '}${line}`));
}

function isRoot(value: string, projectRoot: string | undefined): boolean {
  const path = unwrapPath(value);
  return /^(?:\.?\/?|\.\/\.)$/.test(path) || path === projectRoot || path === `${projectRoot}/`;
}

function withoutMarks(value: string): string {
  return withoutCode(value.replace(/^\*\*([^*]*)\*\*$/, '$1').trim());
}

function parseWord(value: string): string | null {
  const word = withoutMarks(value);
  return /^\S+$/.test(word) ? word : null;
}

function parseBoolean(value: string): boolean | null {
  const word = withoutMarks(value).toLowerCase();
  if (word === 'true' || word === 'yes') return true;
  return word === 'false' || word === 'no' ? false : null;
}

function parseNumber(value: string, max: number): number | null {
  const match = /^(\d+(?:\.\d+)?) ?(?:s|sec|seconds|lines)?$/i.exec(withoutMarks(value));
  const number = Number(match?.[1]);
  return match && number > 0 && number <= max ? number : null;
}

function parseLines(value: string): string | null {
  const lines = withoutMarks(value);
  const match = /^(\d*)(-?)(\d*)$/.exec(lines);
  if (!match || lines === '' || lines === '-') return null;
  const [from, to] = [match[1], match[3]].map((digits) => (digits ? Number(digits) : null));
  if (from === 0 || to === 0) return null;
  return typeof from === 'number' && typeof to === 'number' && to < from ? null : lines;
}

function readEnv(parameter: Parameter, refuse: ValueReader['refuse']): Record<string, string> | null {
  const { nested, value, position } = parameter;
  const inline = [{ text: value, position }];
  const lines =
    nested.length > 0 ? nested.map((bullet) => ({ text: bullet.text, position: positionOf(bullet) })) : inline;
  const entries: [string, string][] = [];
  for (const line of lines) {
    const match = /^(\*\*|`)?([A-Za-z_][A-Za-z0-9_]*)(\*\*|`)? ?[:=](\*\*)?(.*)$/s.exec(line.text);
    if (!match?.[2])
      return refuse({ ...parameter, value: line.text, position: line.position }, 'expected `KEY: value`');
    entries.push([match[2], envValue(match[5] ?? '', match[1] === '`' && match[3] === undefined)]);
  }
  return Object.fromEntries(entries);
}

/** `inCode`: the whole pair stands in one code span, whose closing mark is left over. */
function envValue(value: string, inCode: boolean): string {
  return inCode && value.endsWith('`') ? value.slice(0, -1).trim() : withoutCode(value.trim());
}
