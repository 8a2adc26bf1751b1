/** The operations and limits of write sessions. */
export const operations = ['create', 'overwrite', 'append'] as const;
export type Operation = (typeof operations)[number];

/** All limits of write sessions. The setting `teddy.write.maxBytes` changes the first; all others are constants. */
export interface Limits {
  /** The maximum number of UTF-8 bytes that a session accepts. */
  maxBytes: number;
  /** A session inactive for this long no longer occupies the slot. */
  idleExpiryMs: number;
  /** teddy removes an orphan whose last save is this old. */
  orphanMs: number;
  /** After this much silence, teddy asks the writer whether it has finished. */
  idlePromptMs: number;
  /** teddy asks the writer at most this many times. */
  maxPrompts: number;
  /** A save is due when this many lines are unsaved. */
  saveLines: number;
  /** A save is also due when bytes have been unsaved for this long. */
  saveMs: number;
  /** Two saves are at least this far apart. */
  saveGapMs: number;
  /** teddy sends a request at most this many times, and repeats it only after a connection failure. */
  networkTries: number;
  networkDelayMs: number;
  /** teddy checks content at most this many times: once, and once for each correction. */
  maxValidations: number;
  /** teddy reports at most this many findings. */
  maxFindings: number;
  /** How long a committed session's result can be queried. */
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
