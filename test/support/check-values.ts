/** Value checks for all formats. The renderers have their own: a mistake must not be in both. */

/** The faults in several checks' results. */
export function toList(...faults: (string | false | null)[]): string[] {
  return faults.filter((fault) => typeof fault === 'string');
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A sentence about a text that no provider accepts, or null. */
export function findTextFault(text: unknown, what: string): string | null {
  if (typeof text !== 'string') return `${what} is not a text.`;
  if (/^[\s\p{Cc}]*$/u.test(text)) return `${what} is empty.`;
  return isWellFormed(text) ? null : `${what} holds half a surrogate pair.`;
}

/** All texts and keys in a value. */
export function isWellFormedValue(value: unknown): boolean {
  const json = JSON.stringify(value) ?? '';
  return !json.includes('\\ud') || !/(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(json);
}

export function findNameFault(name: unknown, what: string): string | null {
  if (typeof name === 'string' && /^[a-zA-Z0-9_-]{1,64}$/.test(name)) return null;
  return `${what} is not of 1 to 64 letters, digits, _ and -.`;
}

function isWellFormed(text: string): boolean {
  // Most texts contain no half at all, and a text with only Latin letters cannot.
  if (!/[\ud800-\udfff]/.test(text)) return true;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit < 0xd800 || unit > 0xdfff) continue;
    const next = text.charCodeAt(at + 1);
    if (unit > 0xdbff || !(next >= 0xdc00 && next <= 0xdfff)) return false;
    at += 1;
  }
  return true;
}
