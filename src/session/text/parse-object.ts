/** Parses JSON; returns undefined for invalid text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses a JSON object; returns null for anything else. */
export function parseObject(text: string): Record<string, unknown> | null {
  const value = parseJson(text);
  return isObject(value) ? value : null;
}

/** Reads a field of untrusted data; undefined when it is missing. */
export function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
