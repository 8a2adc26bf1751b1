/** JSON with a seal that reveals any change: `check` is the sha256 (hex) of the rest. */
import { createHash } from 'node:crypto';
import { parseObject } from '../session/text/parse-object.ts';

export function seal<Value extends object>(value: Value): Value & { check: string } {
  return { ...value, check: toCheck(value) };
}

/** Parses sealed JSON. Returns null when it is not an object or somebody has changed it. Accepts an object without a seal. */
export function unseal(text: string): Record<string, unknown> | null {
  const value = parseObject(text);
  if (value === null || !('check' in value)) return value;
  const { check, ...rest } = value;
  return check === toCheck(rest) ? rest : null;
}

function toCheck(value: object): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}

/** Encodes and seals a value that may contain maps and bytes. */
export function encodeSealed(value: object): string {
  return JSON.stringify(seal(toPlain(value) as object));
}

/** Decodes a text from `encodeSealed`; returns null for anything else. */
export function decodeSealed(text: string): Record<string, unknown> | null {
  const value = text.includes('"check":') ? unseal(text) : null;
  return fromPlain(value) as Record<string, unknown> | null;
}

function toPlain(value: unknown): unknown {
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString('base64') };
  return value instanceof Map ? { $map: [...value].map(toPlain) } : mapValues(value, toPlain);
}

function fromPlain(value: unknown): unknown {
  const { $bytes, $map } = (value ?? {}) as { $bytes?: string; $map?: unknown[] };
  if ($bytes !== undefined) return Buffer.from($bytes, 'base64');
  return $map === undefined ? mapValues(value, fromPlain) : new Map($map.map(fromPlain) as [unknown, unknown][]);
}

function mapValues(value: unknown, map: (value: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(map);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, map(one)]));
}
