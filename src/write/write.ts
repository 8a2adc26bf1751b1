/** A write session's values: its purpose, and its progress. */
import { mainLineRef, type Oid, type RefName, type RepoPath, type SessionId } from '../names.ts';
import type { Limits, Operation } from '../session/settings/write-limits.ts';
import { ContentTooLarge, unknownWriteError } from './write-errors.ts';

export const lineEndings = ['lf', 'crlf', 'mixed', 'none'] as const;

/** The target at the session's beginning. */
export interface Base {
  /** In hex. */
  sha256: string;
  size: number;
  /** Permission bits. */
  mode: number;
  lineEndings: (typeof lineEndings)[number];
  finalNewline: boolean;
  bom: boolean;
}

/** A session's purpose. Only the receiving process changes, when another one resumes the session. */
export interface WriteRecord {
  /** A UUID v4. */
  id: string;
  intent: string;
  target: RepoPath;
  operation: Operation;
  /**
   * The absolute path of the target's work tree; null when no work tree has the line checked out, so that only its
   * branch receives the file.
   */
  root: string | null;
  /** True when the target's work tree is linked; a linked one cannot be replaced once it is gone. */
  isLinked: boolean;
  /** The line for the entry; null for the session named `writes`. */
  line: { ref: RefName; session: SessionId } | null;
  /** True when the request could have named a line but did not; all such sessions count as one line. */
  isUnnamed?: boolean;
  /** Null when there was no target. */
  base: Base | null;
  /** The line that ends the content. */
  endMarker: string;
  /** The model that the user asked for the file, if any. */
  writer?: { provider: string; model: string };
  /** ISO 8601. */
  begunAt: string;
  /** The ID of the process that began or last resumed the session. */
  pid: number;
  bootId: string;
  /** Identifies the process even if another one has its pid by now; absent in older records. */
  startTime?: string | null;
  nonce?: string;
  /** True when that process receives the content, so that its end orphans the session. One-shot commands do not. */
  hasController: boolean;
}

type Claims = Pick<WriteRecord, 'line' | 'root' | 'target' | 'isUnnamed'>;

/** Returns true if two sessions cannot be open together, because they belong to one line or write one file. */
export function areRivals(one: Claims, other: Claims): boolean {
  const isOneFile = one.root !== null && one.root === other.root && one.target === other.target;
  return isOneFile || lineOf(one) === lineOf(other) || (one.isUnnamed === true && other.isUnnamed === true);
}

function lineOf({ line }: Claims): RefName | null {
  return line === null || (isForWrites(line.session) && line.ref === mainLineRef(line.session)) ? null : line.ref;
}

/** Returns true if this is a session for files that belong to no other session. */
export function isForWrites(session: SessionId): boolean {
  return /^\d{8}-writes(?:-\d+)?$/.test(session);
}

/**
 * `installing`: teddy is replacing or has replaced the target; its sha256 shows which. `installed`: the target is in
 * place, but its entry may not be on the line yet. The last four are final.
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

/** The outcome of each check, or the reason why it did not run. */
export interface ValidationSummary {
  passed: string[];
  failed: string[];
  skipped: Skipped[];
}

/** A fault in the content. Lines and columns count from 1. */
export interface Finding {
  check: string;
  message: string;
  line?: number;
  column?: number;
}

/** Describes the target's future content, so that recovery can handle a crash at any step. */
export interface Install {
  /** The entire future target's hash, in hex. */
  sha256: string;
  /** The received content's hash, in hex. */
  contentSha256: string;
  /** The line's tip before the entry; teddy searches for the entry above it. Null when the entry creates the line. */
  tip: Oid | null;
  /** The line for the entry. */
  ref: RefName;
  session: SessionId;
  summary: ValidationSummary;
  /** Notes on changes to the content, or on content accepted despite a finding. */
  notes: string[];
  /** True when teddy writes the content despite its findings. */
  isForced: boolean;
}

export interface WriteResult extends Install {
  commit: Oid;
}

/** A session's progress, as recorded on disk by each save. */
export interface WriteState {
  phase: Phase;
  /** The content's size in bytes. */
  size: number;
  /** Milliseconds since 1970. */
  activityAt: number;
  validations: number;
  /** The last validation's findings. */
  findings: Finding[];
  install: Install | null;
  result: WriteResult | null;
  /** Why the session failed. */
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

/** A session in memory: its state on disk, and the times that are not on disk. */
export interface Write {
  limits: Limits;
  state: WriteState;
  unsavedLines: number;
  /** When the first unsaved bytes arrived; null when there are none. */
  unsavedSinceMs: number | null;
  /** When teddy last tried to save. */
  savedAtMs: number | null;
  /** When content last arrived, or the session began. */
  contentAtMs: number;
  prompts: number;
  /** True when teddy has already asked the writer during this silence. */
  isPrompted: boolean;
}

/** Returns true if the text is a UUID v4. Nothing else is a write session's ID, or is ever joined to a path. */
export function isWriteId(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(text);
}

/** Throws UNKNOWN_WRITE for a text that is not a UUID v4, and so never was an ID. */
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
