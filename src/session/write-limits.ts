/** A write session does one of these to its target. */
export const operations = ['create', 'overwrite', 'append'] as const;
export type Operation = (typeof operations)[number];

/** Every limit of write sessions. */
export interface Limits {
  /** The most bytes of UTF-8 that a session accepts. */
  maxBytes: number;
  /** A session without activity for this long no longer holds the slot. */
  idleExpiryMs: number;
  /** An orphan is cleared away when its last save is this old. */
  orphanMs: number;
  /** The writer is asked whether it has finished after this silence. */
  idlePromptMs: number;
  /** The writer is asked at most this often. */
  maxPrompts: number;
  /** A save is due when this many lines are not on disk yet. */
  saveLines: number;
  /** A save is also due when bytes have waited this long. */
  saveMs: number;
  /** Two saves are at least this far apart. */
  saveGapMs: number;
  /** A request is sent at most this often, and again only after a connection failure. */
  networkTries: number;
  networkDelayMs: number;
  /** A content is checked at most this often: once, and once for each correction. */
  maxValidations: number;
  /** At most this many findings are reported. */
  maxFindings: number;
  /** The result of a committed session is known for this long. */
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

/** The limits that a setting changes, with their purpose in the table of settings. All others are constants. */
const purposes = {
  maxBytes: 'bytes that a write session accepts',
  idleExpiryMs: 'milliseconds without activity after which a write session is given up; its content is kept',
  orphanMs: 'milliseconds after which the content that a dead command had received is moved into git',
  idlePromptMs: 'milliseconds of silence before a writer is asked whether it has finished',
  saveLines: 'received lines that make a save due',
  saveGapMs: 'milliseconds between two saves at least',
} satisfies Partial<Record<keyof Limits, string>>;

type LimitName = keyof typeof purposes;
type LimitSetting = `write.${LimitName}`;

const names = Object.keys(purposes) as LimitName[];

/** `git config` may still have these from earlier versions; they have no effect. */
export const retiredSettings = Object.keys(defaultLimits)
  .filter((name) => !(name in purposes))
  .map((name) => `teddy.write.${name}`);

/** Rows for the table of settings. */
export const limitSettings = names.map((name) => ({
  name: `write.${name}` as const satisfies LimitSetting,
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
