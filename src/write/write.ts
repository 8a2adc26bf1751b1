/** The values of a write session: its purpose, and its progress. */
import { mainLineRef, type Oid, type RefName, type RepoPath, type SessionId } from '../names.ts';
import type { Limits, Operation } from '../session/settings/write-limits.ts';
import { ContentTooLarge, unknownWriteError } from './write-errors.ts';

export const lineEndings = ['lf', 'crlf', 'mixed', 'none'] as const;

/** The target as it stood when the session began. */
export interface Base {
  /** Hex. */
  sha256: string;
  size: number;
  /** Permission bits. */
  mode: number;
  lineEndings: (typeof lineEndings)[number];
  finalNewline: boolean;
  bom: boolean;
}

/** The purpose of a session. Only the receiving process changes, when another one takes the session up. */
export interface WriteRecord {
  /** A UUID v4. */
  id: string;
  intent: string;
  target: RepoPath;
  operation: Operation;
  /** The work tree that the target is in, absolute; null where none has the line checked out, which alone gets the file. */
  root: string | null;
  /** It is a linked work tree: nothing else stands for it when it is gone. */
  isLinked: boolean;
  /** The line for the entry; null for the session named `writes`. */
  line: { ref: RefName; session: SessionId } | null;
  /** The request could have named a line, and did not: all of these count as one line together. */
  isUnnamed?: boolean;
  /** Null when there was no target. */
  base: Base | null;
  /** The line that ends the content. */
  endMarker: string;
  /** The model that was asked for the file, where a person asked one. */
  writer?: { provider: string; model: string };
  /** ISO 8601. */
  begunAt: string;
  /** This process began the session, or took it up last. */
  pid: number;
  bootId: string;
  /** With these it is known again where another process has its number by now; older records have none. */
  startTime?: string | null;
  nonce?: string;
  /** That process receives the content, and its end orphans the session. One-shot commands do not. */
  hasController: boolean;
}

type Claims = Pick<WriteRecord, 'line' | 'root' | 'target' | 'isUnnamed'>;

/** Whether two sessions cannot be open at once: they are of one line, or write one file. */
export function areRivals(one: Claims, other: Claims): boolean {
  const isOneFile = one.root !== null && one.root === other.root && one.target === other.target;
  return isOneFile || lineOf(one) === lineOf(other) || (one.isUnnamed === true && other.isUnnamed === true);
}

function lineOf({ line }: Claims): RefName | null {
  return line === null || (isForWrites(line.session) && line.ref === mainLineRef(line.session)) ? null : line.ref;
}

/** Whether the files that belong to no session go to this one. */
export function isForWrites(session: SessionId): boolean {
  return /^\d{8}-writes(?:-\d+)?$/.test(session);
}

/**
 * `installing`: the target is being replaced, or was; its sha256 tells. `installed`: the target is in place, and its entry may
 * not be on the line yet. The last four are final.
 */
export const phases = [
  'awaiting_content',
  'receiving',
  'finalizing',
  'needs_corrections',
  'installing',
  'installed',
  'committed',
  'cancelled',
  'expired',
  'failed',
] as const;
export type Phase = (typeof phases)[number];

export const statuses = ['active', 'completed', 'failed'] as const;
export type Status = (typeof statuses)[number];

interface Skipped {
  check: string;
  reason: string;
}

/** Tells how each check ended, or why it did not run. */
export interface ValidationSummary {
  passed: string[];
  failed: string[];
  skipped: Skipped[];
}

/** A fault of the content. Lines and columns count from 1. */
export interface Finding {
  check: string;
  message: string;
  line?: number;
  column?: number;
}

/** Describes the coming content of the target, so that recovery understands a crash at any step. */
export interface Install {
  /** The hash of the whole target as it will be, in hex. */
  sha256: string;
  /** The hash of the content as it came, in hex. */
  contentSha256: string;
  /** The tip of the line before; the entry is looked for above it. Null when the entry makes the line. */
  tip: Oid | null;
  /** The line for the entry. */
  ref: RefName;
  session: SessionId;
  summary: ValidationSummary;
  /** Notes say what was changed in the content, or accepted all the same. */
  notes: string[];
  /** The content is written in spite of its findings. */
  isForced: boolean;
}

export interface WriteResult extends Install {
  commit: Oid;
}

/** The progress of a session, as it is on disk after each save. */
export interface WriteState {
  phase: Phase;
  /** Counts the bytes of content. */
  size: number;
  /** Milliseconds since 1970. */
  activityAt: number;
  validations: number;
  /** The last validation found these. */
  findings: Finding[];
  install: Install | null;
  result: WriteResult | null;
  /** Says why it failed. */
  reason: string | null;
}

export function initialState(nowMs: number): WriteState {
  return {
    phase: 'awaiting_content',
    size: 0,
    activityAt: nowMs,
    validations: 0,
    findings: [],
    install: null,
    result: null,
    reason: null,
  };
}

export function toStatus(phase: Phase): Status {
  if (phase === 'committed') return 'completed';
  return phase === 'failed' || phase === 'expired' || phase === 'cancelled' ? 'failed' : 'active';
}

export function isOver(phase: Phase): boolean {
  return toStatus(phase) !== 'active';
}

/** A session in memory: its state on disk, and the times that are not stored. */
export interface Write {
  limits: Limits;
  state: WriteState;
  unsavedLines: number;
  /** The first unsaved bytes came then; null when there are none. */
  unsavedSinceMs: number | null;
  /** The last save was tried then. */
  savedAtMs: number | null;
  /** Content came last then, or the session was begun. */
  contentAtMs: number;
  prompts: number;
  /** The writer was asked in this silence. */
  isPrompted: boolean;
}

/** Only a UUID v4 is the id of a write session. Nothing else is ever joined to a path. */
export function isWriteId(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(text);
}

/** Throws UNKNOWN_WRITE for what is no UUID v4, and so was never an id of ours. */
export function parseWriteId(text: string): string {
  if (isWriteId(text)) return text;
  throw unknownWriteError();
}

/** Throws CONTENT_TOO_LARGE. */
export function toWriteBytes(text: string, limits: Limits): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > limits.maxBytes) throw new ContentTooLarge(limits);
  return bytes;
}
