/** Reads a staging directory: the bytes that its state confirms, and the bytes after them. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { confirmedPart, type Confirmation } from '../../disk/confirmed-bytes.ts';
import { unseal } from '../../disk/sealed-json.ts';
import { fallBackTo } from '../../disk/system-error.ts';
import type { Staged } from '../../ports/journal.ts';

export const contentName = 'content.txt';
/** The new content as a whole, until it replaces the old content. */
export const replacementName = 'content.new';
export const stateName = 'state.json';

export interface StagingState extends Confirmation {
  /**
   * The file with the bytes, or the file that contained them until a replacement took its place; null when they were
   * dropped.
   */
  file: typeof contentName | typeof replacementName | null;
}

/** Includes everything that is needed to reopen the directory. */
export interface StagingReading extends Staged {
  /** Null when the state does not exist or is damaged. */
  state: StagingState | null;
  /** All fields of the state. */
  facts: Record<string, unknown> | null;
  /** The file with the verified bytes. */
  file: typeof contentName | typeof replacementName;
  /** The bytes after the verified ones. */
  beyond: Uint8Array;
  /** A replacement that no state has confirmed. */
  replacement: Uint8Array | null;
}

/** How often the state may change during a read. */
const maxAttempts = 5;

/** Works while another process is writing. */
export async function readStaging(path: string): Promise<StagingReading> {
  for (let attempt = 1; ; attempt += 1) {
    const before = await readState(path);
    const reading = await readOnce(path, before);
    const isCalm = !reading.isDamaged && reading.tail.length === 0;
    if (isCalm || attempt === maxAttempts || before === (await readState(path))) return reading;
  }
}

/**
 * Reads only the state's facts, without checking the bytes that the state confirms; null when the state does not exist
 * or is damaged.
 */
export async function readFacts(path: string): Promise<Record<string, unknown> | null> {
  const facts = unseal((await readState(path)) ?? '');
  return parseState(facts) === null ? null : facts;
}

/** Returns null when the state does not exist. */
async function readState(path: string): Promise<string | null> {
  return (await readIfThere(join(path, stateName)))?.toString('utf8') ?? null;
}

async function readOnce(path: string, stateText: string | null): Promise<StagingReading> {
  const facts = stateText === null ? null : unseal(stateText);
  const state = parseState(facts);
  // Reads the replacement first: if it replaces the content meanwhile, this has already read it.
  const replacement = await readIfThere(join(path, replacementName));
  const content = (await readIfThere(join(path, contentName))) ?? Buffer.alloc(0);
  const whole = { state, facts, file: contentName, isDamaged: false } as const;
  if (state?.file === null) return { ...whole, verified: nothing, tail: nothing, beyond: nothing, replacement: null };
  const replaced = replacement && state?.file === replacementName ? confirmedPart(replacement, state) : null;
  if (replaced !== null) {
    const beyond = replacement?.subarray(replaced.length) ?? nothing;
    return { ...whole, file: replacementName, verified: replaced, tail: beyond, beyond, replacement: null };
  }
  const found = stateText === null ? nothing : state && confirmedPart(content, state);
  const verified = found ?? nothing;
  const beyond = content.subarray(verified.length);
  const tail = replacement === null ? beyond : Buffer.concat([beyond, replacement]);
  return { ...whole, verified, tail, beyond, replacement, isDamaged: found === null };
}

const nothing: Uint8Array = new Uint8Array();

/** A state from before replacements existed has no `file`. */
function parseState(facts: Record<string, unknown> | null): StagingState | null {
  const { size, sha256, file = contentName } = facts ?? {};
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0 || typeof sha256 !== 'string') return null;
  return file === contentName || file === replacementName || file === null ? { size, sha256, file } : null;
}

export function readIfThere(path: string): Promise<Buffer | null> {
  return readFile(path).catch(fallBackTo(null, 'ENOENT'));
}
