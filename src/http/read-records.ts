/** What was sent as records of a transcript, checked as a whole: a client hears of everything that is wrong with it. */
import type { z } from '@hono/zod-openapi';
import type { GivenRecord } from '../conversation/given-record.ts';
import { TeddyError } from '../errors.ts';
import type { Limits } from '../write/limits.ts';
import { InvalidRequest } from './refusal.ts';
import { sentRecord, sentRecords, type SentRecord } from './session-schemas.ts';

const maxDepth = 100;

/** Throws BAD_RECORD, CONTENT_TOO_LARGE. */
export function readRecords(body: unknown, limits: Limits): GivenRecord[] {
  refuseLarge(body, limits);
  const result = Array.isArray(body) ? sentRecords.safeParse(body) : sentRecord.safeParse(body);
  if (!result.success) throw new InvalidRequest('BAD_RECORD', result.error.issues.map(toProblem));
  const sent: SentRecord[] = [result.data].flat();
  return sent as unknown as GivenRecord[];
}

function toProblem({ path, message, code }: z.core.$ZodIssue): string {
  const name = path.join('.');
  // It would list the types, and not say what was meant by it.
  if (code === 'invalid_union') return `${name}: is no type of a record that can be sent`;
  return name === '' ? message : `${name}: ${message}`;
}

/** Counts what is said, not how JSON escapes it. */
function refuseLarge(body: unknown, { maxBytes }: Limits): void {
  let left = maxBytes;
  const waiting: { value: unknown; depth: number }[] = [{ value: body, depth: 0 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, depth } = next;
    if (depth > maxDepth) throw new InvalidRequest('BAD_RECORD', [`nested more than ${maxDepth} deep`]);
    left -= countBytes(value);
    if (left < 0) throw toTooLarge(maxBytes);
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, part] of Object.entries(value)) {
      if (!Array.isArray(value)) left -= Buffer.byteLength(key);
      waiting.push({ value: part, depth: depth + 1 });
    }
  }
}

function countBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  return typeof value === 'object' && value !== null ? 0 : String(value).length;
}

function toTooLarge(maxBytes: number): TeddyError {
  const message = `What was sent is over ${maxBytes} bytes.`;
  return new TeddyError('CONTENT_TOO_LARGE', message, 'Send large content as a write session.');
}
