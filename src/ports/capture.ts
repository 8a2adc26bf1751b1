/** The workflows' view of the spool, where other agents' hooks leave their notes. Types only. */

/** One call of an agent's hook. The call signals that something has happened; the details are in the agent's log. */
export interface HookCall {
  /** The name in the hook's command, such as `claude-code`. */
  agent: string;
  /** Seconds since 1970. */
  at: number;
  /** The ID of the agent's process; 0 when the hook could not find it. */
  ppid: number;
  /** The object that the agent sent; its `event` comes from the hook's command when the agent does not name it. */
  payload: Readonly<Record<string, unknown>>;
}

interface TakenBells {
  /** Ordered by time. */
  calls: HookCall[];
  /** The number of unreadable lines; `done` sets them aside. */
  unreadable: number;
  /** Removes the calls that `take` returned. After a crash before this call, the next `take` returns the same calls again. */
  done(): Promise<void>;
}

export interface SpoolState {
  /** False when teddy does not capture this repository; the hooks then do nothing. */
  exists: boolean;
  paused: boolean;
  /** When the spool was created, in seconds since 1970; 0 when unknown. */
  since: number;
  /** The process that is draining the spool; null when there is none. */
  drainer: number | null;
  /** Bells not drained yet, by agent; `oldest` in seconds since 1970. */
  waiting: { agent: string; bytes: number; oldest: number }[];
  /** When each agent last called, in seconds since 1970. Omits agents without a recorded call. */
  lastCalls: ReadonlyMap<string, number>;
  /** The number of calls set aside because they could not be read. */
  unreadable: number;
}

export interface Spool {
  /** The absolute path. The directory exists only while teddy captures the repository. */
  readonly dir: string;
  look(): Promise<SpoolState>;
  /** Returns when the user paused capture, in milliseconds since 1970; `to` is null during a pause. */
  pauses(): Promise<{ from: number; to: number | null }[]>;
  /** Claims the spool, so that only one process at a time drains it. After releasing the claim, check the spool once more. */
  claim(): Promise<{ release(): Promise<void> } | { heldBy: number }>;
  /** Takes the calls; only the claim's holder may call this. Returns no calls when there is no spool. */
  take(): Promise<TakenBells>;
  /** Creates the directory, or restores the directory that `close` put away. */
  open(): Promise<void>;
  /** Puts the directory away. Returns the path where undrained calls are kept; null when there were none. */
  close(): Promise<string | null>;
  pause(isPaused: boolean): Promise<void>;
}
