/**
 * All of teddy's facts about one agent. Each agent has a folder here; `agents.ts` lists them. This file contains the
 * types, and finds an agent's home.
 */
import { join } from 'node:path';
import type { OpenAgentLines } from '../conversation/logs/agent-reader.ts';
import type { History } from '../conversation/history/history.ts';
import type { AgentDocument } from '../conversation/logs/closed-log.ts';
import type { RecordForm } from '../conversation/records/repair-line.ts';
import type { Hash } from '../ports/project.ts';

export interface Agent {
  /** The name that people use: `Claude Code`. */
  title: string;
  /** The agent's executable on PATH. */
  program: string;
  /** The tool's name in an `Assisted-by` trailer, if it differs from teddy's name for the agent. */
  disclosedAs?: string;
  /** The agent's name in an authorship log, if it differs. */
  attestedAs?: string;
  /** The traces that reveal that the agent has started a command. */
  traces: ProgramTraces;
  home: AgentHome;
  hooks: AgentHooks;
  /** The user's file for MCP servers below the agent's home; absent for an agent that reads the project's `.mcp.json`. */
  mcpFile?: string;
  logs: AgentLogPlaces;
  /** Loads the reader for the agent's log. */
  log(): Promise<AgentLogFormat>;
  /** How to continue a session in the agent; absent when teddy cannot write the agent's log. */
  openWith?: AgentOpening;
}

/** The traces that reveal that a program has started a command. */
export interface ProgramTraces {
  /** The version that somebody examined; null when the facts come from other sources than the program's own code. */
  version: string | null;
  /** `NAME` with any value that is not empty, or `NAME=value`. */
  variables: readonly string[];
  /** The program's names as they appear in a command. */
  programs: readonly string[];
  /** Parts of the paths to the program's scripts, which an interpreter runs. */
  scripts?: readonly string[];
}

/** The directory that the agent creates for itself. */
interface AgentHome {
  /** A directory below the user's home. */
  directory: string;
  /** The variable that names another directory. */
  variable?: string;
  /** A directory below the one that the variable names. */
  within?: string;
}

interface OwnHooksSource {
  /** Returns the command that records a call; `event` names it where the agent does not, and is `gate` at the gate. */
  command(event: string): string;
  hasGate: boolean;
  readScript(name: string): Promise<string>;
}

/** The meaning of a hook call. `other`: something happened within a turn. */
export type HookMeaning = 'turn-begins' | 'turn-ends' | 'session-ends' | 'other';

interface AgentHooks {
  /** The hooks' file, below the agent's home. */
  file: string;
  /** The file's member that lists teddy's hooks by event, in an agent's file that has one for each program. */
  section?: string;
  /** The events that need hooks, by the agent's own names, with their meaning. */
  events: Readonly<Record<string, HookMeaning>>;
  /** Returns false when a call of a `turn-begins` event comes from within a turn. */
  beginsTurn?(payload: Readonly<Record<string, unknown>>): boolean;
  /** The text that the agent requires of each hook. Such an agent also does not tell its hooks which event it is. */
  prints?: string;
  /** A hook's fields in the user's settings, in addition to its command. */
  entry?: Readonly<Record<string, unknown>>;
  /** If `entry` is absent, returns the content of a file that belongs to teddy alone. */
  own?(source: OwnHooksSource): Promise<string>;
  /** Files to place in the agent's home, unless one of the `unless` files exists. */
  beside?: { directory: string; files: Readonly<Record<string, string>>; unless: readonly string[] };
  gate?: AgentGate;
  /**
   * Explains why the agent runs no hooks at all, as a sentence; null when it does run them. `get` reads a member of the
   * hooks' file.
   */
  findProblem?(file: { path: string; get(key: string): unknown }, files: AgentFiles): Promise<string | null>;
  /** Returns true if the user has trusted these hooks. Absent for an agent that does not ask for trust. */
  areTrusted?(hooks: readonly PlacedHook[], path: string, files: AgentFiles): Promise<boolean>;
}

/** One of teddy's hooks in the user's settings: the positions of its group and of its entry. */
export interface PlacedHook {
  event: string;
  at: readonly number[];
}

/** The hook that makes the agent wait for a verdict on its plan. */
export interface AgentGate {
  event: string;
  /** The tool that submits the plan; absent for an event that is not about a tool. */
  matcher?: string;
  entry: Readonly<Record<string, unknown>>;
  /** Returns null for a call that does not submit one of the session's own plans. */
  readCall(payload: Readonly<Record<string, unknown>>, files: GateFiles): PlanCall | null | Promise<PlanCall | null>;
  /** Returns the answer in the form that the agent expects from a hook. */
  answer(verdict: { isApproved: boolean; reason: string }, payload: Readonly<Record<string, unknown>>): object;
}

/** The files that a gate can look up. */
interface GateFiles extends Pick<AgentFiles, 'readText'> {
  /** Returns the path of a session's log, for an agent whose hooks do not name it; null when there is none. */
  locate(sessionId: string): Promise<string | null>;
}

/** A call that submits a plan. */
export interface PlanCall {
  /** The agent's own ID for the call; null when its hooks do not tell, so that the plan's text has to identify it. */
  callId: string | null;
  /** The absolute path of the session's log. */
  path: string;
  /** The agent's version of the plan, if the call includes it. */
  plan?: string | undefined;
  /** The absolute path of the agent's plan file, if the call names it. */
  planFile?: string | undefined;
}

/** The parts of the file system that teddy needs to find an agent's files. No method throws for a missing file. */
export interface AgentFiles {
  /** Returns an empty text for an unreadable file. */
  readText(path: string): Promise<string>;
  /** Returns an empty object for a file that is not TOML. */
  readToml(path: string): Promise<Readonly<Record<string, unknown>>>;
  /** Returns the path with the symbolic links resolved in as much of it as exists. */
  realPath(path: string): Promise<string>;
  /** Returns a directory's files that end in `.jsonl`, sorted. */
  listLogs(directory: string): Promise<string[]>;
}

export interface AgentLogPlaces {
  /**
   * Returns the directory that contains all logs, given the agent's home; `spool` is where plugins keep journals
   * instead of a log.
   */
  root(home: string, spool: string): string;
  /** The number of directories between the root and a log. */
  depth: number;
  /** Returns true if a file with this name, which ends in `.jsonl`, is a log. If absent, every such file is a log. */
  isLog?(name: string): boolean;
  /**
   * The directory that the agent names after the one where the session began: the number of levels above the log, and
   * whether a name may stand for `directory`. Absent when names reveal nothing.
   */
  folder?: { above: number; mayHold(name: string, directory: string): boolean };
  /** Returns the path of a session's log below the root, if the ID determines it; otherwise teddy finds the log by its name. */
  locate?(root: string, sessionId: string): string;
  /** Set when a log's name begins with the time when its session began; teddy then sorts logs by it. */
  isNamedByTime?: true;
  /** Returns the session's ID, for a log that neither contains it nor is named after it; needs `locate`. */
  idOf?(path: string): string;
  /** Returns the directory where the session began, for a log that does not contain it. */
  directoryOf?(path: string, files: AgentFiles): Promise<string | null>;
  /** Returns the logs of the sub-agents that a session has started. */
  subAgents?(path: string, files: AgentFiles): Promise<SubAgentLog[]>;
}

export interface SubAgentLog {
  path: string;
  /** The call that started the sub-agent; null when nothing reveals the call. */
  callId: string | null;
  description: string;
}

/** How to read the lines of a log. */
export interface AgentLogFormat {
  isRecord: RecordForm;
  open: OpenAgentLines;
  /** How to read one of this agent's documents that does not consist of lines. */
  document?: AgentDocument;
  /** Returns true if a line certainly belongs to this agent, for an agent whose records resemble another's. */
  isMark?(object: Readonly<Record<string, unknown>>): boolean;
}

interface AgentOpening {
  /** The UUID version of the agent's session IDs; version 7 begins with the time. */
  uuid: 4 | 7;
  /** Turns the UUID into an ID of the agent's own form. */
  toId?(uuid: string): string;
  /** Returns the path for a new session's log, from the agent's home. */
  toPath(
    cwd: string,
    session: { id: string; startedAt: Date },
    at: { home: string; env: Readonly<Record<string, string | undefined>>; files: AgentFiles },
  ): string | Promise<string>;
  /** Returns a file that tells the agent for which directory the log at `path` is; teddy adds it if it is missing. */
  mark?(cwd: string, path: string): { path: string; text: string };
  /** Returns the agent's default provider for models. */
  readProvider(home: string, files: AgentFiles): Promise<string>;
  /** Returns the command that resumes the session in the log at `path`. */
  resume(id: string, path: string): string;
  /** Loads the function that renders the log as lines of JSON, without line endings. */
  render(): Promise<(history: History, session: AgentSession, hash: Hash) => string[]>;
}

export interface AgentSession {
  /** The agent's own ID for the session. */
  id: string;
  /** The folder in which the agent starts. */
  cwd: string;
  /** In ISO 8601; replaces times that the history lacks. */
  startedAt: string;
  /** The provider of the session's models; some agents need one to resume a session. */
  provider: string;
}

/** Returns an agent's home for a user whose own home is `userHome`. */
export function homeOf(
  { home: { directory, variable = '', within = '' } }: Pick<Agent, 'home'>,
  env: Readonly<Record<string, string | undefined>>,
  userHome: string,
): string {
  const moved = env[variable];
  return moved ? join(moved, within) : join(userHome, directory);
}
