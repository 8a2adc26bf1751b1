/** The workflows' view of the logs that agents keep, and of what is known about each from before. Types only. */
import type { AgentName } from '../agents/agents.ts';

/** Where the reading of a log stopped, and how to tell that it is the same log still. */
export interface LogPosition {
  /** The identity of the file. */
  device: number;
  inode: number;
  /** In bytes, after a whole line. */
  offset: number;
  /** How many lines are before it. */
  lines: number;
  /** The last bytes before `offset`: how many, and their sha256 in hexadecimal. */
  tail: { length: number; sha256: string };
}

export interface LogStat {
  device: number;
  inode: number;
  size: number;
  mtimeMs: number;
}

export interface LogLine {
  /** From 1. */
  number: number;
  /** Null: longer than 64 MiB. */
  text: string | null;
}

/** Reads a log from a position to the end of its last whole line. */
export interface LogReading {
  lines: AsyncIterable<LogLine>;
  /** Where it stands: after the last line that was given. */
  position(): LogPosition;
}

/** A log that was found below the home of an agent. */
export interface FoundLog {
  agent: AgentName;
  path: string;
  stat: LogStat;
}

export interface AgentLogs {
  /** Returns null for what is not there, is no regular file, or lies outside the directories of the agent. */
  stat(agent: AgentName, path: string): Promise<LogStat | null>;
  /** Null where the file does not continue what was read before `position`; without one, from the beginning. */
  read(path: string, position: LogPosition | null): Promise<LogReading | null>;
  /** The logs that may be of work in one of `directories` and were written since; each agent’s in the order of time, for Codex the time at which the session began, each file once. */
  find(directories: readonly string[], sinceMs: number): AsyncIterable<FoundLog>;
  /** A small file that an agent has named; null: nothing tells what is in it. */
  readNamed(path: string): Promise<string | null>;
  /** The log of a session whose hook named no file. */
  locate(agent: AgentName, sessionId: string): Promise<string | null>;
  /** The directory in which a session began, for agents whose logs do not name it; null: unknown. */
  directory(agent: AgentName, path: string): Promise<string | null>;
  /** The top of the repository that holds a directory; null: none does, or the directory is gone. */
  topOf(directory: string): Promise<string | null>;
  /** The directory without symbolic links, as far as it is there. */
  realPath(directory: string): Promise<string>;
  /** The logs of the sub-agents that a session has started, each with the call that started it, where that is known. */
  subAgents(agent: AgentName, path: string): Promise<{ path: string; callId: string | null; description: string }[]>;
}

/** Keeps one file a log, with all that is known about it. */
export interface FollowerStates {
  list(): Promise<Record<string, unknown>[]>;
  read(path: string): Promise<Record<string, unknown> | null>;
  /** Durable when it resolves. */
  write(path: string, state: Record<string, unknown>): Promise<void>;
  /** Nothing more is known under this name. */
  remove(path: string): Promise<void>;
}

/** The surroundings of capture, beside the project. */
export interface Capture {
  logs: AgentLogs;
  states: FollowerStates;
  /** Whether the process of an agent still runs. */
  isAlive(pid: number): Promise<boolean>;
}
