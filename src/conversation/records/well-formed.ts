/** Handles lone surrogates: JavaScript and JSON allow half of a surrogate pair; UTF-8 does not. */

/** In a value's JSON, a lone surrogate is written as an escape, and a backslash never occurs alone. */
const escapes = /\\\\|\\ud[89a-f][0-9a-f]{2}/g;

/** Replaces each lone surrogate with U+FFFD. */
export function toWellFormed(text: string): string {
  return isWellFormed(text) ? text : text.replace(/\p{Surrogate}/gu, '\uFFFD');
}

/** Returns a value's JSON, with U+FFFD in place of each lone surrogate in its texts and keys. */
export function toWellFormedJson(value: object): string {
  const json = JSON.stringify(value);
  if (!json.includes('\\ud')) return json;
  return json.replace(escapes, (found) => (found === '\\\\' ? found : '\uFFFD'));
}

/** Like `toWellFormedJson`, but returns the value. */
export function toWellFormedValue<Value extends object>(value: Value): Value {
  return countLoneSurrogates(value) === 0 ? value : (JSON.parse(toWellFormedJson(value)) as Value);
}

/** Counts the lone surrogates in all texts and keys of a value that is serializable as JSON. */
export function countLoneSurrogates(value: unknown): number {
  if (typeof value === 'string') return isWellFormed(value) ? 0 : (value.match(/\p{Surrogate}/gu) ?? []).length;
  const json = JSON.stringify(value) as string | undefined;
  if (json === undefined || !json.includes('\\ud')) return 0;
  return (json.match(escapes) ?? []).filter((found) => found !== '\\\\').length;
}

/** In the language since 2024, and ten times as fast as a regular expression. */
interface Checkable {
  isWellFormed(): boolean;
}

function isWellFormed(text: string): boolean {
  return (text as unknown as Checkable).isWellFormed();
}
