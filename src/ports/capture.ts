/** The workflows' view of the spool, where the hooks of other agents leave their notes. Types only. */

/** One call of an agent's hook. It says that something has happened; the agent's log says what. */
export interface Bell {
  /** The name in the hook's command, such as `claude-code`. */
  agent: string;
  /** Seconds since 1970. */
  at: number;
  /** The agent's process; 0 when the hook could not find it. */
  ppid: number;
  /** The object that the agent sent; empty when it sent nothing. */
  payload: Readonly<Record<string, unknown>>;
}

interface TakenBells {
  /** Ordered by time. */
  bells: Bell[];
  /** The number of unreadable lines; `done` sets them aside. */
  unreadable: number;
  /** Removes what was taken. After a crash before this call, the next `take` returns the same bells again. */
  done(): Promise<void>;
}

export interface SpoolState {
  /** False when this repository is not captured; hooks do nothing in it then. */
  exists: boolean;
  paused: boolean;
  /** When the spool was made, in seconds since 1970; 0 when unknown. */
  since: number;
  /** The process that is draining the spool; null when none is. */
  drainer: number | null;
  /** Bells that are not drained yet, by agent; `oldest` in seconds since 1970. */
  waiting: { agent: string; bytes: number; oldest: number }[];
  /** When each agent last called, in seconds since 1970, as far as that is recorded. */
  lastBells: ReadonlyMap<string, number>;
  /** The number of bells that were set aside because they could not be read. */
  unreadable: number;
}

export interface Spool {
  /** The absolute path. The directory exists exactly while the repository is captured. */
  readonly dir: string;
  look(): Promise<SpoolState>;
  /** When capturing was paused, in milliseconds since 1970; `to` is null while it is still paused. */
  pauses(): Promise<{ from: number; to: number | null }[]>;
  /** Claims the spool, so that one process at a time drains it. After releasing the claim, look at the spool once more. */
  claim(): Promise<{ release(): Promise<void> } | { heldBy: number }>;
  /** Takes the bells; only for the holder of the claim. Returns none when there is no spool. */
  take(): Promise<TakenBells>;
  /** Makes the directory, or brings back the one that `close` put away. */
  open(): Promise<void>;
  /** Puts the directory away. Returns the path where undrained bells are kept; null when there were none. */
  close(): Promise<string | null>;
  pause(isPaused: boolean): Promise<void>;
}
