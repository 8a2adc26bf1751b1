/** Reads values from a source that may contain anything. */
import { isObject, parseJson } from '../../session/text/parse-object.ts';

export { isObject, parseJson };

const maxDepth = 200;

/** Returns an object's fields; returns no fields for anything else. */
export function fieldsOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

export function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function hasText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

/** Converts a time to ISO 8601 in UTC. Accepts ISO text (UTC if without a zone), seconds or milliseconds since 1970. */
export function toTimestamp(value: unknown): string | undefined {
  if (typeof value === 'number') return fromMs(value < 1e11 ? value * 1000 : value);
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(value)) return undefined;
  return fromMs(Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/i.test(value) ? value : `${value}Z`));
}

function fromMs(ms: number): string | undefined {
  const time = new Date(ms);
  const isInRange = Number.isFinite(time.getTime()) && time.getTime() > 0 && time.getUTCFullYear() <= 9999;
  return isInRange ? time.toISOString() : undefined;
}

/** Parses arguments that a model wrote as JSON text; returns the text unchanged unless it is an object. */
export function toInput(written: unknown): unknown {
  if (written === undefined || written === null || written === '') return {};
  if (typeof written !== 'string') return toStorable(written);
  const value = parseJson(written);
  return isObject(value) ? toStorable(value) : written;
}

/** Makes a value serializable as JSON: replaces parts that are nested too deeply for some encoder with a remark. */
export function toStorable(value: unknown): unknown {
  return isDeeper(value, maxDepth) ? '[nested too deeply to be kept]' : value;
}

function isDeeper(value: unknown, left: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return left === 0 || Object.values(value).some((inner) => isDeeper(inner, left - 1));
}

/** Returns the texts' words as a set. */
export function setOf(...texts: string[]): ReadonlySet<string> {
  return new Set(texts.flatMap((text) => text.split(' ')));
}
