/** Reads the bullet list under an action's heading: its parameters, and their values by type. */
import type { ActionBase, ActionType } from '../actions/action.ts';
import {
  findParameterSpec,
  findRefusedParameter,
  renderParameter,
  type ActionSpec,
  type ParameterSpec,
} from '../actions/spec.ts';
import { toParameterBullets } from './parse-loose.ts';
import { addNote, addProblem, excerpt, splitBullet, type Reading } from './parse-outline.ts';
import type { Position } from '../match/problem.ts';
import { positionOf, type Block, type Bullet, type Heading } from './scan.ts';

/** An action in the plan that has not been parsed yet. */
export interface ActionPart {
  spec: ActionType<ActionBase>;
  /** Counted from 1. */
  index: number;
  heading: Heading;
  blocks: Block[];
  /** The offset after the action's last character. */
  end: number;
}

/** A bullet with everything nested in it. */
export interface Item {
  bullet: Bullet;
  nested: Bullet[];
  /** The number of blocks in the item. */
  size: number;
  end: number;
}

export interface Parameter {
  spec: ParameterSpec;
  key: string;
  value: string;
  nested: Bullet[];
  position: Position;
}

/** The parameters of an action, keyed by their names in the table. */
export type Parameters = ReadonlyMap<string, Parameter>;

/** Reads the bullet at `blocks[at]` with its continuation lines and nested bullets, up to a block that `stops` it. */
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

/** Reads parameters from the start of the action, up to the first block that `stops` them. */
export function readParameters(
  reading: Reading,
  part: ActionPart,
  stops: (block: Block) => boolean,
): { parameters: Parameters; body: Block[] } {
  const parameters = new Map<string, Parameter>();
  const { blocks, first } =
    reading.grammar === 1
      ? { blocks: part.blocks, first: null }
      : toParameterBullets(reading.text, part.spec, part.blocks);
  if (first)
    addNote(reading, positionOf(first), 'The parameters are no list of bullets; they are read as one.', part.index);
  let at = 0;
  for (let block = blocks[0]; block?.kind === 'bullet' && !stops(block); block = blocks[at]) {
    const item = readItem(block, blocks, at, stops);
    addParameter(reading, part, item, parameters);
    at += item.size;
  }
  return { parameters, body: blocks.slice(at) };
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
  if (!known) return addUnknown(reading, part, item, split);
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

/** Ignores an unknown parameter, unless ignoring it would change the action's meaning. */
function addUnknown(
  reading: Reading,
  { spec, index }: ActionPart,
  { bullet, end }: Item,
  { key, valueOffset }: { key: string; valueOffset: number },
): void {
  const refused = reading.grammar === 1 ? undefined : findRefusedParameter(spec, key);
  const value = reading.text.slice(valueOffset, end).replace(/[\s*`]/g, '');
  if (refused && !/^(?:|false|no)$/i.test(value))
    return addProblem(reading, positionOf(bullet), refused.problem, refused.hint, index);
  const found = excerpt(key, 0, key.length);
  addNote(reading, positionOf(bullet), `${spec.type} has no parameter "${found}"; it is ignored.`, index);
}

function exampleOf(spec: ActionSpec): string {
  const [first] = spec.parameters;
  return first ? renderParameter(first) : 'Leave the list out.';
}

/** Reports every required parameter that is missing or empty. */
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
