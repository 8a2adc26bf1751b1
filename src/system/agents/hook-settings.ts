/**
 * Hooks in an agent's settings, in the format of Claude Code that others have adopted: `{"hooks": {"Stop": [{"hooks":
 * [{"type": "command", "command": "..."}]}]}}`. Where each program has a section of its own, there are no groups:
 * `{"teddy": {"Stop": [{"type": "command", "command": "..."}]}}`.
 *
 * The comments, order, indentation and line ends of everything else are preserved.
 */
import { isDeepStrictEqual } from 'node:util';
import {
  createScanner,
  findNodeAtLocation,
  parse,
  parseTree,
  type JSONPath,
  type Node,
  type ParseError,
} from 'jsonc-parser';
import { fieldsOf } from '../../conversation/records/import-values.ts';
import { isObject } from '../../session/text/parse-object.ts';

interface Hook {
  event: string;
  /** A regular expression for the tools that trigger the hook; without it, all tools do. */
  matcher?: string;
  /** teddy recognizes the hook by its command. */
  entry: Readonly<Record<string, unknown>>;
}

export interface HookSpec {
  hooks: readonly Hook[];
  isOurs(command: string): boolean;
  /** The member for teddy's own hooks, without groups. Absent when `hooks` lists everybody's hooks in groups. */
  section?: string | undefined;
}

export interface OwnHook {
  event: string;
  command: string;
  /** The indexes of the hook's group, if there are groups, and of the hook. */
  at: readonly number[];
  isExact: boolean;
}

const tolerant = { allowTrailingComma: true, disallowComments: false };

/** Explains why hooks cannot be added, as the end of a sentence that begins with the file's name; null when they can. */
export function describeFault(text: string, { section = 'hooks' }: Pick<HookSpec, 'section'> = {}): string | null {
  const value = readObject(text);
  if (typeof value === 'string') return value;
  const hooks = value[section] ?? {};
  if (!isObject(hooks)) return `has "${section}" that ${section === 'hooks' ? 'are' : 'is'} not an object`;
  const odd = Object.keys(hooks).find((event) => !Array.isArray(hooks[event]));
  // Some agents store switches among the events.
  return odd !== undefined && isObject(hooks[odd]) ? `has a "${odd}" in its "${section}" that is not a list` : null;
}

/** Returns the object in a file, or why there is none, as the end of a sentence. An empty file counts as an empty object. */
export function readObject(text: string): Readonly<Record<string, unknown>> | string {
  if (text.trim() === '') return {};
  const errors: ParseError[] = [];
  const value: unknown = parse(withoutMark(text), errors, tolerant);
  if (errors.length > 0) return 'is not JSON';
  return isObject(value) ? value : 'is JSON, but not an object';
}

/** Finds the hooks in the file's order. */
export function findOwnHooks(text: string, { hooks: wanted, isOurs, section }: HookSpec): OwnHook[] {
  const value: unknown = parse(withoutMark(text), [], tolerant);
  const hooks = fieldsOf(fieldsOf(value)[section ?? 'hooks']);
  return Object.entries(hooks).flatMap(([event, list]) => {
    const found = listOf(list).flatMap((one, at) =>
      section === undefined
        ? listOf(fieldsOf(one)['hooks']).map((hook, hookAt) => ({ hook, group: fieldsOf(one), at: [at, hookAt] }))
        : [{ hook: one, group: {}, at: [at] }],
    );
    return found.flatMap(({ hook, group, at }) => {
      const command = fieldsOf(hook)['command'];
      if (typeof command !== 'string' || !isOurs(command)) return [];
      const isExact = wanted.some(
        (one) => one.event === event && isDeepStrictEqual({ ...group, hooks: hook }, toGroup(one, one.entry)),
      );
      return [{ event, command, at, isExact }];
    });
  });
}

export function stateOfHooks(text: string, spec: HookSpec): 'installed' | 'changed' | 'missing' {
  const own = findOwnHooks(text, spec);
  if (own.length === 0) return 'missing';
  const isWhole = own.length === spec.hooks.length && own.every(({ isExact }) => isExact);
  return isWhole && spec.hooks.every(({ event }) => own.some((hook) => hook.event === event)) ? 'installed' : 'changed';
}

/** Adds a group for teddy's hook at the end of each event. */
export function addHooks(text: string, spec: HookSpec): string {
  if (stateOfHooks(text, spec) === 'installed') return text;
  const { section } = spec;
  return spec.hooks.reduce(
    (edited, hook) =>
      section === undefined
        ? addMember(edited, ['hooks', hook.event], toGroup(hook, [hook.entry]), { toList: true })
        : addMember(edited, [section, hook.event], hook.entry, { toList: true }),
    removeHooks(text, spec),
  );
}

function toGroup({ matcher }: Hook, hooks: unknown): Record<string, unknown> {
  return { ...(matcher === undefined ? {} : { matcher }), hooks };
}

/** Adds a value at this path, and the objects on the way to it. With `toList`, the path leads to a list that it is added to. */
export function addMember(
  text: string,
  path: readonly string[],
  value: unknown,
  { toList = false }: { toList?: boolean } = {},
): string {
  const mark = text.startsWith(byteOrderMark) ? byteOrderMark : '';
  const json = withoutMark(text).trim() === '' ? '{}\n' : withoutMark(text);
  const root = parseTree(json, [], tolerant);
  if (root === undefined) throw new Error('It was looked at before.');
  const found = (length: number) => (length === 0 ? root : findNodeAtLocation(root, path.slice(0, length)));
  const list = toList ? found(path.length) : undefined;
  if (list !== undefined) return mark + insert(json, list, { depth: path.length + 1, value });
  let at = path.length - 1;
  while (found(at) === undefined) at -= 1;
  const [key = '', ...rest] = path.slice(at);
  const whole = rest.reduceRight<unknown>((inner, name) => ({ [name]: inner }), toList ? [value] : value);
  return mark + insert(json, found(at) ?? root, { depth: at + 1, key, value: whole });
}

interface NewChild {
  /** The depth of the node's indentation. */
  depth: number;
  /** The key, for a child of an object. */
  key?: string;
  value: unknown;
}

/** Inserts at the end of an object or a list. The library would also reformat the surrounding text. */
function insert(json: string, { offset, length, children = [] }: Node, { depth, key, value }: NewChild): string {
  const unit = json.trim().includes('\n') || children.length === 0 ? (/^([ \t]+)\S/m.exec(json)?.[1] ?? '  ') : '';
  const end = json.includes('\r\n') ? '\r\n' : '\n';
  const line = unit === '' ? '' : `${end}${unit.repeat(depth)}`;
  const rendered = JSON.stringify(value, null, unit).replaceAll('\n', line);
  const child = `${line}${key === undefined ? '' : `${JSON.stringify(key)}:${unit === '' ? '' : ' '}`}${rendered}`;
  const last = children.at(-1);
  if (last !== undefined) {
    const at = last.offset + last.length;
    return `${json.slice(0, at)},${child}${json.slice(at)}`;
  }
  const rest = json.slice(offset + 1, offset + length - 1);
  const closing = rest.includes('\n') ? rest : `${rest}${end}${unit.repeat(depth - 1)}`;
  return `${json.slice(0, offset + 1)}${child}${closing}${json.slice(offset + length - 1)}`;
}

/** Removes teddy's hooks, and any group that is empty afterward. */
export function removeHooks(text: string, spec: HookSpec): string {
  const { section } = spec;
  const root = section ?? 'hooks';
  let edited = text;
  // Starts at the end, so that earlier indexes stay valid.
  for (const { event, at } of findOwnHooks(text, spec).toReversed()) {
    const [first = 0, inGroup = 0] = at;
    const group = [root, event, first];
    edited = removeAt(edited, section === undefined ? [...group, 'hooks', inGroup] : group);
    if (section === undefined && isEmptyAt(edited, [...group, 'hooks'])) edited = removeAt(edited, group);
    for (const path of [[root, event], [root]]) if (isEmptyAt(edited, path)) edited = removeAt(edited, path);
  }
  return edited;
}

/** Removes a node with its comma, but keeps the surrounding comments, which the library would remove. */
export function removeAt(text: string, path: JSONPath): string {
  const json = withoutMark(text);
  const root = parseTree(json, [], tolerant);
  const found = root === undefined ? undefined : findNodeAtLocation(root, path);
  if (found === undefined) return text;
  const child = found.parent?.type === 'property' ? found.parent : found;
  const siblings = child.parent?.children ?? [];
  const at = siblings.indexOf(child);
  const [from, to] = [child.offset, child.offset + child.length];
  const previous = siblings[at - 1];
  const next = siblings[at + 1];
  const mark = text.slice(0, text.length - json.length);
  if (previous !== undefined) {
    const comma = findComma(json, previous.offset + previous.length, from);
    return mark + json.slice(0, comma) + json.slice(comma + 1, from).trimEnd() + json.slice(to);
  }
  const end = (child.parent?.offset ?? 0) + (child.parent?.length ?? 0);
  const comma = findComma(json, to, next?.offset ?? end);
  const rest = comma < 0 ? json.slice(to) : json.slice(to, comma) + json.slice(comma + 1);
  return mark + (next === undefined ? json.slice(0, from).trimEnd() + rest : json.slice(0, from) + rest.trimStart());
}

/** Returns -1 when the range contains no comma. */
function findComma(json: string, from: number, to: number): number {
  const scanner = createScanner(json, true);
  scanner.setPosition(from);
  return scanner.scan() === commaToken && scanner.getTokenOffset() < to ? scanner.getTokenOffset() : -1;
}

/** `SyntaxKind` is a `const enum`, so it does not exist at run time. */
const commaToken: number = 5;

/** A group or list does not count as empty when it contains somebody's comment. */
export function isEmptyAt(text: string, path: JSONPath): boolean {
  const json = withoutMark(text);
  const root = parseTree(json, [], tolerant);
  const found = root === undefined ? undefined : findNodeAtLocation(root, path);
  if (found === undefined) return false;
  return /^(?:\[\s*\]|\{\s*\})$/.test(json.slice(found.offset, found.offset + found.length));
}

const byteOrderMark = '\uFEFF';

function withoutMark(text: string): string {
  return text.startsWith(byteOrderMark) ? text.slice(1) : text;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Reads one value; undefined when the text is not JSON or lacks the key. */
export function readSetting(text: string, key: string): unknown {
  const root = parseTree(withoutMark(text), [], tolerant);
  const value: unknown = root === undefined ? null : parse(withoutMark(text), [], tolerant);
  return fieldsOf(value)[key];
}
