/** What a write session is: what it was begun for, and how far it has come. */
import type { Oid, RefName, RepoPath, SessionId } from '../names.ts';
import type { Limits, Operation } from '../session/write-limits.ts';

/** The target as it stood when the session began. */
export interface Base {
  /** Hex. */
  sha256: string;
  size: number;
  /** Permission bits. */
  mode: number;
  lineEndings: 'lf' | 'crlf' | 'mixed' | 'none';
  finalNewline: boolean;
  bom: boolean;
}

/** What a session was begun for. Only who receives it changes, when somebody takes it up. */
export interface WriteRecord {
  /** A UUID v4. */
  id: string;
  intent: string;
  target: RepoPath;
  operation: Operation;
  /** The work tree that the target is in, absolute. */
  root: string;
  /** It is a linked work tree: nothing else stands for it when it is gone. */
  isLinked: boolean;
  /** Where the entry goes; null: to the session named `writes`. */
  line: { ref: RefName; session: SessionId } | null;
  /** Null: there was no target. */
  base: Base | null;
  /** The line that ends the content. */
  endMarker: string;
  /** What a person has asked a model for, which began it; only from `write ask`. */
  ask?: { id: string; message: string };
  /** ISO 8601. */
  begunAt: string;
  /** The process that began it, or took it up last. */
  pid: number;
  bootId: string;
  /** That process receives the content: with its end the session is orphaned. One-shot commands are none. */
  hasController: boolean;
}

/**
 * `installing`: the target is being replaced, or was; its sha256 tells. `installed`: the target is in place, and its entry is
 * not known to be on the line. The last four are ends.
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

export type Status = 'active' | 'completed' | 'failed';

interface Skipped {
  check: string;
  reason: string;
}

/** Which checks ran and how they ended; what did not run says why. */
export interface ValidationSummary {
  passed: string[];
  failed: string[];
  skipped: Skipped[];
}

/** Where something is wrong in the content; lines and columns count from 1. */
export interface Finding {
  check: string;
  message: string;
  line?: number;
  column?: number;
}

/** What is about to stand in the target, so that a crash at any step is understood. */
export interface Install {
  /** Of the whole target as it will be; hex. */
  sha256: string;
  /** Of the content that was finalized, as it came; hex. */
  contentSha256: string;
  /** The tip of the line before: the entry is looked for above it. Null: the line is made with it. */
  tip: Oid | null;
  /** Where the entry goes. */
  ref: RefName;
  session: SessionId;
  summary: ValidationSummary;
  /** What was changed of the content, or accepted all the same, in words. */
  notes: string[];
  /** Written although something was found. */
  isForced: boolean;
}

export interface WriteResult extends Install {
  commit: Oid;
}

/** How far a session has come, as it stands on disk after each save. */
export interface WriteState {
  phase: Phase;
  /** Bytes of content. */
  size: number;
  /** Milliseconds since 1970. */
  activityAt: number;
  validations: number;
  /** What the last validation found. */
  findings: Finding[];
  install: Install | null;
  result: WriteResult | null;
  /** Why it failed. */
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

/** A session as its process has it: what is on disk, and when things happened that are not. */
export interface Write {
  limits: Limits;
  state: WriteState;
  unsavedLines: number;
  /** Since when bytes have waited for a save; null: none do. */
  unsavedSinceMs: number | null;
  /** The last save, or the try of one. */
  savedAtMs: number | null;
  /** When content came last, or it was begun. */
  contentAtMs: number;
  prompts: number;
  /** In this silence. */
  isPrompted: boolean;
}

/** Only a UUID v4 is the id of a write session. Nothing else is ever joined to a path. */
export function isWriteId(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(text);
}
