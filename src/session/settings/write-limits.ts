/** The operations of a write session on its target. */
export const operations = ['create', 'overwrite', 'append'] as const;
export type Operation = (typeof operations)[number];

/** All limits of write sessions. The setting `teddy.write.maxBytes` changes the first; all others are constants. */
export interface Limits {
  /** The most bytes of UTF-8 that a session accepts. */
  maxBytes: number;
  /** A session that is inactive for this long no longer holds the slot. */
  idleExpiryMs: number;
  /** An orphan is removed when its last save is this old. */
  orphanMs: number;
  /** After this much silence, the writer is asked whether it has finished. */
  idlePromptMs: number;
  /** The writer is asked at most this many times. */
  maxPrompts: number;
  /** A save is due when this many lines are unsaved. */
  saveLines: number;
  /** A save is also due when bytes have been unsaved for this long. */
  saveMs: number;
  /** Two saves are at least this far apart. */
  saveGapMs: number;
  /** A request is sent at most this many times, and repeated only after a connection failure. */
  networkTries: number;
  networkDelayMs: number;
  /** Content is checked at most this many times: once, and once for each correction. */
  maxValidations: number;
  /** At most this many findings are reported. */
  maxFindings: number;
  /** The result of a committed session can be queried for this long. */
  resultMs: number;
}

export const writeLimits: Readonly<Limits> = {
  maxBytes: 10 * 1024 * 1024,
  idleExpiryMs: 5 * 60 * 1000,
  orphanMs: 60 * 60 * 1000,
  idlePromptMs: 2000,
  maxPrompts: 3,
  saveLines: 50,
  saveMs: 5000,
  saveGapMs: 250,
  networkTries: 2,
  networkDelayMs: 1000,
  maxValidations: 3,
  maxFindings: 20,
  resultMs: 60 * 60 * 1000,
};
