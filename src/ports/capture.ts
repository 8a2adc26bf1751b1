/** The workflows' view of the spool: what the hooks of other agents have noted. Types only. */

/** One call of an agent's hook. It says that something has happened; what, its log says. */
export interface Bell {
  /** The name in the command of the hook: `claude-code`. */
  agent: string;
  /** Seconds since 1970. */
  at: number;
  /** The agent's process, where the hook could find it; 0 when it could not. */
  ppid: number;
  /** The object that the agent sent; empty when it sent none. */
  payload: Readonly<Record<string, unknown>>;
}

interface TakenBells {
  /** In the order of their times. */
  bells: Bell[];
  /** Counts the lines that cannot be read; `done` sets them aside. */
  unreadable: number;
  /** Removes what was taken. After a crash before that, the next taking gives the same bells again. */
  done(): Promise<void>;
}

export interface SpoolState {
  /** False: this repository is not captured, and hooks do nothing in it. */
  exists: boolean;
  paused: boolean;
  /** When it was made, in seconds since 1970; 0: not known. */
  since: number;
  /** The process of the drainer that runs; null: none does. */
  drainer: number | null;
  /** Bells that nobody has dealt with, by agent; `oldest` in seconds since 1970. */
  waiting: { agent: string; bytes: number; oldest: number }[];
  /** When each agent called last, in seconds since 1970, as far as that is kept. */
  lastBells: ReadonlyMap<string, number>;
  /** Counts what was set aside because it could not be read. */
  unreadable: number;
}

export interface Spool {
  /** Absolute. It is there exactly while the repository is captured. */
  readonly dir: string;
  look(): Promise<SpoolState>;
  /** When capturing was paused, in milliseconds since 1970; `to` null: it is paused now. */
  pauses(): Promise<{ from: number; to: number | null }[]>;
  /** One process at a time drains the spool. After letting go of the claim it has to look at the spool once more. */
  claim(): Promise<{ release(): Promise<void> } | { heldBy: number }>;
  /** Only for who has the claim. Nothing is taken where there is no spool. */
  take(): Promise<TakenBells>;
  /** Makes the directory, or brings back the one that `close` has put away. */
  open(): Promise<void>;
  /** Takes the directory away. What nobody has dealt with is kept, at the path that this returns; null: nothing was. */
  close(): Promise<string | null>;
  pause(isPaused: boolean): Promise<void>;
}
