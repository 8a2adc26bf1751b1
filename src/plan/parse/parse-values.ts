/** Reads the values of an action's parameters, by type. */
import type { ActionReader } from '../actions/action.ts';
import { renderParameter } from '../actions/spec.ts';
import { addNote, addProblem, excerpt, type Reading } from './parse-outline.ts';
import type { ActionPart, Parameter, Parameters } from './parse-parameters.ts';
import { readWrittenPath, withoutCode } from '../../session/paths/path-marks.ts';
import { parsePlanPath } from '../../session/paths/paths.ts';
import type { RepoPath } from '../../names.ts';
import type { Grammar } from '../../session/text/grammar.ts';
import { positionOf } from './scan.ts';

/** Reads one action's parameters. */
export interface ValueReader extends Omit<ActionReader, 'grammar' | 'resource' | 'body' | 'report'> {
  /** Reports an invalid value. */
  refuse(parameter: Parameter, reason: string, hint?: string): null;
}

export function openValues(reading: Reading, part: ActionPart, parameters: Parameters): ValueReader {
  const refuse: ValueReader['refuse'] = ({ spec, value, position }, reason, hint) => {
    const message = `${spec.name} "${excerpt(value, 0, value.length)}": ${reason}.`;
    const example = renderParameter(spec);
    addProblem(reading, position, message, hint === undefined ? example : `${example}\n${hint}`, part.index);
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
    const { spec, value, position } = parameter;
    const parsed = parsePlanPath(value, reading.projectRoot, reading.grammar);
    if ('problem' in parsed) return refuse(parameter, parsed.problem, parsed.hint);
    if (parsed.note !== undefined)
      addNote(reading, position, `${spec.name} "${excerpt(value, 0, value.length)}": ${parsed.note}.`, part.index);
    return parsed.path;
  };
  return {
    text: (name) => read(name, ({ value }) => joinLines(value)),
    word: (name) => read(name, (it) => parseWord(it.value) ?? refuse(it, 'expected one word')),
    path: (name) => read(name, path),
    directory: (name) => read(name, (parameter) => (isRoot(reading, parameter.value) ? '.' : path(parameter))),
    boolean: (name) => read(name, (it) => parseBoolean(it.value) ?? refuse(it, 'expected true or false')) ?? false,
    number: (name, max) =>
      read(name, (it) => parseNumber(it.value, max) ?? refuse(it, `expected a number above 0, at most ${max}`)),
    lines: (name) => read(name, (it) => parseLines(it.value) ?? refuse(it, 'expected 10-20, -20, 50- or 5')),
    env: (name) => read(name, (it) => readEnv(it, reading.grammar, refuse)) ?? {},
    refuse,
  };
}

/** Joins a multi-line value into one text; nested bullets stay on separate lines. */
function joinLines(value: string): string {
  const lines = value.split('\n').map((line) => line.trim());
  return lines.reduce((text, line) => (line === '' ? text : `${text}${/^[-*+]\s/.test(line) ? '\n' : ' '}${line}`));
}

function isRoot({ projectRoot, grammar }: Reading, value: string): boolean {
  const written = readWrittenPath(value, grammar);
  const path = 'text' in written ? written.text : value;
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

const onePair = 'expected one pair, with more of them in a nested list, one `KEY: value` a line';

/** Reads the `env` of EXECUTE: pairs of a name and a value, in any notation. `refuse` reports an invalid pair. */
function readEnv(
  parameter: Parameter,
  grammar: Grammar,
  refuse: (pair: Parameter, reason: string) => null,
): Record<string, string> | null {
  const { nested, value, position } = parameter;
  const lines = nested.map((bullet) => ({ text: bullet.text, position: positionOf(bullet) }));
  const entries: [string, string][] = [];
  for (const line of lines.length > 0 ? lines : [{ text: value, position }]) {
    const match = /^(\*\*|`)?([A-Za-z_][A-Za-z0-9_]*)(\*\*|`)? ?[:=](\*\*)?(.*)$/s.exec(line.text);
    const pair = { ...parameter, value: line.text, position: line.position };
    if (!match?.[2]) return refuse(pair, 'expected `KEY: value`');
    const { value: written, isCode } = readValue(match[5] ?? '', match[1] === '`' && match[3] === undefined);
    // Quotes inside back-ticks are part of the value.
    const read = grammar === 1 || isCode ? written : withoutQuotes(written);
    if (grammar !== 1 && lines.length === 0 && /[,;\s]\s*[A-Za-z_]\w*=/.test(read)) return refuse(pair, onePair);
    entries.push([match[2], read]);
  }
  return Object.fromEntries(entries);
}

/** `inCode` is true when the whole pair is in one code span and the text still has the span's closing mark. */
function readValue(text: string, inCode: boolean): { value: string; isCode: boolean } {
  if (inCode && text.endsWith('`')) return { value: text.slice(0, -1).trim(), isCode: false };
  const trimmed = text.trim();
  const value = withoutCode(trimmed);
  return { value, isCode: value !== trimmed };
}

/** Removes one pair of quotes around the whole value: `"a" "b"` keeps its quotes. */
function withoutQuotes(value: string): string {
  const quote = value.charAt(0);
  if (value.length < 2 || !/["']/.test(quote) || !value.endsWith(quote)) return value;
  const inside = value.slice(1, -1);
  const isNested = inside.length > 1 && inside.startsWith(quote) && inside.endsWith(quote);
  if (isNested || !inside.includes(quote)) return inside;
  const escaped = inside.replaceAll(`\\${quote}`, '');
  return escaped.includes(quote) || escaped.endsWith('\\') ? value : inside.replaceAll(`\\${quote}`, quote);
}
