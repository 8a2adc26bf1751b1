/** The effects that a write session can have on its target. */
export const operations = ['create', 'overwrite', 'append'] as const;
export type Operation = (typeof operations)[number];

/** Every limit of write sessions. `git config teddy.write.<name>` overrides one. */
export interface Limits {
  /** Bytes of UTF-8 that a session accepts. */
  maxBytes: number;
  /** Without activity for so long a session holds the slot no more. */
  idleExpiryMs: number;
  /** So long after its last save an orphan is cleared away. */
  orphanMs: number;
  /** Silence, before the writer is asked whether it has finished. */
  idlePromptMs: number;
  /** How often it is asked in all. */
  maxPrompts: number;
  /** Lines that are not on disk yet make a save due, ... */
  saveLines: number;
  /** ... and so do bytes that have waited so long, ... */
  saveMs: number;
  /** ... but there is at least this between two saves. */
  saveGapMs: number;
  /** Tries of a request in all, for connection failures only. */
  networkTries: number;
  networkDelayMs: number;
  /** The first one and its corrections. */
  maxValidations: number;
  /** How many findings are told. */
  maxFindings: number;
  /** For so long the result of a session that was committed is known. */
  resultMs: number;
}

export const defaultLimits: Limits = {
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

/** The table of settings shows these. */
const purposes: Record<keyof Limits, string> = {
  maxBytes: 'bytes that a write session accepts',
  idleExpiryMs: 'without activity for so long a write session is given up; what came is kept',
  orphanMs: 'after so long what a dead command had received is cleared away, into git',
  idlePromptMs: 'silence, before a writer is asked whether it has finished',
  maxPrompts: 'how often it is asked',
  saveLines: 'lines after which what was received is saved',
  saveMs: 'milliseconds after which what was received is saved',
  saveGapMs: 'milliseconds between two saves at least',
  networkTries: 'tries of a request to `teddy serve`',
  networkDelayMs: 'milliseconds between them',
  maxValidations: 'the first check of a content, and its corrections',
  maxFindings: 'how many findings are told at once',
  resultMs: 'for so long the result of a write session is known',
};

type LimitSetting = `write.${keyof Limits}`;

const names = Object.keys(defaultLimits) as (keyof Limits)[];

/** Rows for the table of settings. */
export const limitSettings = names.map((name) => ({
  name: `write.${name}` as const satisfies LimitSetting,
  variable: null,
  tracked: false as const,
  takes: 'count' as const,
  purpose: purposes[name],
  fallback: String(defaultLimits[name]),
}));

/** `read` gives the value of a setting, or undefined; what it throws goes through. */
export async function readLimits(read: (name: LimitSetting) => Promise<string | undefined>): Promise<Limits> {
  const limits = { ...defaultLimits };
  for (const name of names) limits[name] = Number((await read(`write.${name}`)) ?? defaultLimits[name]);
  return limits;
}
