/** The workflows' view of the logs that agents keep, and of the stored facts about each log. Types only. */
import type { PlanCall } from '../agents/agent.ts';
import type { AgentName } from '../agents/agents.ts';

/** The position where reading a log stopped, with enough detail to recognize the same log later. */
export interface LogPosition {
  /** Identifies the file, together with its inode. */
  device: number;
  inode: number;
  /** In bytes, at the end of a whole line. */
  offset: number;
  /** The number of lines before `offset`. */
  lines: number;
  /** The length and sha256 (hex) of the last bytes before `offset`. */
  tail: { length: number; sha256: string };
}

export interface LogStat {
  device: number;
  inode: number;
  size: number;
  mtimeMs: number;
}

export interface LogLine {
  /** Counted from 1. */
  number: number;
  /** Null for a line longer than 64 MiB. */
  text: string | null;
}

/** Reads a log from a position to the end of its last whole line. */
export interface LogReading {
  lines: AsyncIterable<LogLine>;
  /** Returns the position after the last line yielded. */
  position(): LogPosition;
}

/** A log found below an agent's home directory. */
export interface FoundLog {
  agent: AgentName;
  path: string;
  stat: LogStat;
}

export interface AgentLogs {
  /** Returns null for a path that does not exist, is not a regular file, or is outside the agent's directories. */
  stat(agent: AgentName, path: string): Promise<LogStat | null>;
  /**
   * Reads from `position`, or from the beginning when it is null. Returns null when the file no longer continues the
   * text that was read before `position`.
   */
  read(path: string, position: LogPosition | null): Promise<LogReading | null>;
  /**
   * Finds logs that may concern work in one of `directories` and were written since `sinceMs`. Yields each file once,
   * each agent's logs ordered by time (Codex: by session start).
   */
  find(directories: readonly string[], sinceMs: number): AsyncIterable<FoundLog>;
  /** Reads a small file that an agent named; null when its content cannot be determined. */
  readNamed(path: string): Promise<string | null>;
  /** Finds the log of a session when the hook did not name a file. */
  locate(agent: AgentName, sessionId: string): Promise<string | null>;
  /** Returns the directory in which a session began, for agents that do not log it; null when unknown. */
  directory(agent: AgentName, path: string): Promise<string | null>;
  /** Returns the root of the repository that contains a directory; null when there is none, or the directory is gone. */
  topOf(directory: string): Promise<string | null>;
  /** Resolves symbolic links in as much of the path as exists. */
  realPath(directory: string): Promise<string>;
  /** Lists the logs of a session's sub-agents, each with the call that started it, if known. */
  subAgents(agent: AgentName, path: string): Promise<{ path: string; callId: string | null; description: string }[]>;
  /** Returns the plan that the agent submits with this call of its gate's hook; null when it submits none. */
  planCall(agent: AgentName, payload: Readonly<Record<string, unknown>>): Promise<PlanCall | null>;
}

/** Stores one state file per log, with all known facts about that log. */
export interface FollowerStates {
  list(): Promise<Record<string, unknown>[]>;
  read(path: string): Promise<Record<string, unknown> | null>;
  /** Resolves once the state is durable. */
  write(path: string, state: Record<string, unknown>): Promise<void>;
  /** Deletes everything stored under this name. */
  remove(path: string): Promise<void>;
}

/** The services that capture needs in addition to the project. */
export interface Capture {
  logs: AgentLogs;
  states: FollowerStates;
  /** Returns true if an agent's process is still running. */
  isAlive(pid: number): Promise<boolean>;
}
