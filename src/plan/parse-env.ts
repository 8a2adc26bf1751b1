/** `env` of EXECUTE: pairs of a name and a value, in any dress. */
import type { Grammar } from './grammar.ts';
import type { Parameter } from './parse-parameters.ts';
import { withoutCode } from './path-marks.ts';
import { positionOf } from './scan.ts';

const onePair = 'expected one pair, with more of them in a nested list, one `KEY: value` a line';

/** `refuse` reports what is wrong with a pair. */
export function readEnv(
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
    // Quotes in back-ticks belong to the value.
    const read = grammar === 1 || isCode ? written : withoutQuotes(written);
    if (grammar !== 1 && lines.length === 0 && /[,;\s]\s*[A-Za-z_]\w*=/.test(read)) return refuse(pair, onePair);
    entries.push([match[2], read]);
  }
  return Object.fromEntries(entries);
}

/** `inCode`: the whole pair stands in one code span, whose closing mark is left over. */
function readValue(text: string, inCode: boolean): { value: string; isCode: boolean } {
  if (inCode && text.endsWith('`')) return { value: text.slice(0, -1).trim(), isCode: false };
  const trimmed = text.trim();
  const value = withoutCode(trimmed);
  return { value, isCode: value !== trimmed };
}

/** Takes quotes off that wrap a value as a whole, once: `"a" "b"` keeps its own. */
function withoutQuotes(value: string): string {
  const quote = value.charAt(0);
  if (value.length < 2 || !/["']/.test(quote) || !value.endsWith(quote)) return value;
  const inside = value.slice(1, -1);
  const isNested = inside.length > 1 && inside.startsWith(quote) && inside.endsWith(quote);
  if (isNested || !inside.includes(quote)) return inside;
  const escaped = inside.replaceAll(`\\${quote}`, '');
  return escaped.includes(quote) || escaped.endsWith('\\') ? value : inside.replaceAll(`\\${quote}`, quote);
}
