/** The words with which a server explains a refusal. Every dialect has its own place for them. */
import { isObject, parseJson } from '../session/parse-object.ts';
import { field } from './wire.ts';

const places = 'title error errors message msg detail details error_description error_message reason description'.split(
  ' ',
);
const maxDepth = 10;
const maxErrors = 3;

/** Of the body of an error. Where nothing in it is known, the body itself; never empty. */
export function errorWords(body: string): string {
  return wordsIn(parseJson(body), 0) || body.trim() || 'no message';
}

function wordsIn(value: unknown, depth: number): string {
  if (depth > maxDepth) return '';
  if (typeof value === 'string') return wordsOfText(value.trim(), depth);
  if (Array.isArray(value)) return join(value.slice(0, maxErrors), '; ', depth);
  if (!isObject(value)) return '';
  const words = join([...places.map((place) => value[place]), field(value['metadata'], 'raw')], ': ', depth);
  // Validators say apart which field they mean.
  const place = Array.isArray(value['loc']) ? value['loc'].join('.') : '';
  return place === '' || words === '' ? words : `${place}: ${words}`;
}

/** A gateway quotes the body that it was given. */
function wordsOfText(text: string, depth: number): string {
  return (/^[[{]/.test(text) && wordsIn(parseJson(text), depth + 1)) || text;
}

function join(values: unknown[], separator: string, depth: number): string {
  const found = values.map((value) => wordsIn(value, depth + 1)).filter((words) => words !== '');
  return [...new Set(found)].join(separator);
}
