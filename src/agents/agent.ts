/** All that teddy knows of one agent. Each agent is a folder here; `agents.ts` lists them. Types, and the place of a home. */
import { join } from 'node:path';
import type { OpenAgentLines } from '../conversation/logs/agent-reader.ts';
import type { History } from '../conversation/history/history.ts';
import type { AgentDocument } from '../conversation/logs/closed-log.ts';
import type { RecordForm } from '../conversation/records/mend-line.ts';
import type { Hash } from '../ports/project.ts';

export interface Agent {
  /** The name that people know: `Claude Code`. */
  title: string;
  /** Its executable on PATH. */
  program: string;
  /** The name of the tool in an `Assisted-by` trailer, where it differs from teddy's name of the agent. */
  disclosedAs?: string;
  /** Its name in an authorship log, where it differs. */
  attestedAs?: string;
  /** Shows that it has started a command. */
  traces: ProgramTraces;
  home: AgentHome;
  hooks: AgentHooks;
  logs: AgentLogPlaces;
  /** Loads the reader of its log. */
  log(): Promise<AgentLogFormat>;
  /** How a session is continued in it; missing for an agent whose log cannot be written. */
  openWith?: AgentOpening;
}

/** The traces of a program that has started a command. */
export interface ProgramTraces {
  /** The version that was looked at; null: its own code was not, and others tell of it. */
  version: string | null;
  /** `NAME` with any value but an empty one, or `NAME=value`. */
  variables: readonly string[];
  /** Names of its program, as they are in a command. */
  programs: readonly string[];
  /** Pieces of the paths of its scripts, which an interpreter runs. */
  scripts?: readonly string[];
}

/** The directory that the agent makes for itself. */
interface AgentHome {
  /** Below the user's home. */
  directory: string;
  /** The variable that names another directory. */
  variable?: string;
  /** Below the directory that the variable names. */
  within?: string;
}

/** The meaning of a hook's call. `other`: something has happened in a turn. */
export type BellMeaning = 'turn-begins' | 'turn-ends' | 'session-ends' | 'other';

interface AgentHooks {
  /** The file that the hooks belong in, below the agent's home. */
  file: string;
  /** The events for which hooks are installed, by the agent's own names, with their meaning. */
  events: Readonly<Record<string, BellMeaning>>;
  /** The fields of a hook among the user's own settings, beside its command. */
  entry?: Readonly<Record<string, unknown>>;
  /** The content of a file that is all ours, where `entry` is missing; `command` runs the script that notes a call. */
  own?(source: { command: string; readScript(name: string): Promise<string> }): Promise<string>;
  /** Files that are laid into the agent's home, where none of the `unless` is there. */
  beside?: { directory: string; files: Readonly<Record<string, string>>; unless: readonly string[] };
  gate?: AgentGate;
  /** Why the agent runs no hooks at all, as a sentence; null when nothing is wrong. `get` reads a member of the hooks' file. */
  findProblem?(file: { path: string; get(key: string): unknown }, files: AgentFiles): Promise<string | null>;
  /** Whether the person has trusted these hooks. Missing for an agent that does not ask for that. */
  areTrusted?(hooks: readonly PlacedHook[], path: string, files: AgentFiles): Promise<boolean>;
}

/** A hook of ours in the user's settings: the positions of its group and of its entry there. */
export interface PlacedHook {
  event: string;
  at: readonly number[];
}

/** The hook with which the agent waits for a verdict on its plan. */
export interface AgentGate {
  event: string;
  matcher: string;
  entry: Readonly<Record<string, unknown>>;
  /** Returns null for a call that hands in no plan of the session's own. */
  readCall(payload: Readonly<Record<string, unknown>>): PlanCall | null;
  /** The answer in the form of the agent's hooks. */
  answer(verdict: { isApproved: boolean; reason: string }, payload: Readonly<Record<string, unknown>>): object;
}

/** A call that hands in a plan. */
export interface PlanCall {
  /** The agent's own id of the call. */
  callId: string;
  /** The log of the session, absolute. */
  path: string;
  /** The plan as the agent has it, where the call says it. */
  plan?: string | undefined;
  /** The file that the agent has its plan in, absolute, where the call names it. */
  planFile?: string | undefined;
}

/** The disk, as far as the places of an agent's files need it. Nothing here throws for what is not there. */
export interface AgentFiles {
  /** Returns an empty text for a file that cannot be read. */
  readText(path: string): Promise<string>;
  /** Returns an empty object for a file that is no TOML. */
  readToml(path: string): Promise<Readonly<Record<string, unknown>>>;
  /** The path without symbolic links, as far as it is there. */
  realPath(path: string): Promise<string>;
  /** The files of a directory that end in `.jsonl`, sorted. */
  listLogs(directory: string): Promise<string[]>;
}

export interface AgentLogPlaces {
  /** The directory below which all its logs lie, from its home; `spool` is where plugins keep journals in place of a log. */
  root(home: string, spool: string): string;
  /** Counts the directories between the root and a log. */
  depth: number;
  /** Whether a file of this name, ending in `.jsonl`, is a log; all are if it is missing. */
  isLog?(name: string): boolean;
  /**
   * The directory that is named after the one in which the session began: how many levels it is above the log, and whether a name may
   * stand for `directory`. Missing where names tell nothing.
   */
  folder?: { above: number; mayHold(name: string, directory: string): boolean };
  /** The path of a session's log below the root, where its id gives it; else the log is found by its name. */
  locate?(root: string, sessionId: string): string;
  /** A log's name begins with the time at which its session began: then it is sorted by that. */
  isNamedByTime?: true;
  /** The directory in which the session began, for a log that does not say it itself. */
  directoryOf?(path: string, files: AgentFiles): Promise<string | null>;
  /** The logs of the sub-agents that a session has started. */
  subAgents?(path: string, files: AgentFiles): Promise<SubAgentLog[]>;
}

export interface SubAgentLog {
  path: string;
  /** The call that started it; null where nothing tells. */
  callId: string | null;
  description: string;
}

/** How the lines of a log are read. */
export interface AgentLogFormat {
  isRecord: RecordForm;
  open: OpenAgentLines;
  /** How a document of this agent's is read, which has no lines. */
  document?: AgentDocument;
  /** Whether a line is of this agent for certain; for one whose records look like those of another. */
  isMark?(object: Readonly<Record<string, unknown>>): boolean;
}

interface AgentOpening {
  /** The kind of UUID that a session's id is: 7 begins with the time. */
  uuid: 4 | 7;
  /** The path of a new session's log, below the agent's home. */
  toPath(cwd: string, session: { id: string; startedAt: Date }): string;
  /** Names the provider whose models the agent asks by default. */
  readProvider(home: string, files: AgentFiles): Promise<string>;
  /** The command that resumes the session. */
  resume(id: string): string;
  /** Loads what writes the log: its lines of JSON, without their ends. */
  render(): Promise<(history: History, session: AgentSession, hash: Hash) => string[]>;
}

export interface AgentSession {
  /** A UUID, as the agent takes it. */
  id: string;
  /** The folder that the agent is started in. */
  cwd: string;
  /** ISO 8601; it stands for the times that the history lacks. */
  startedAt: string;
  /** Names the provider of its models: some agents resume no session without one. */
  provider: string;
}

/** The home of an agent for a user whose own home is `userHome`. */
export function homeOf(
  { home: { directory, variable = '', within = '' } }: Pick<Agent, 'home'>,
  env: Readonly<Record<string, string | undefined>>,
  userHome: string,
): string {
  const moved = env[variable];
  return moved ? join(moved, within) : join(userHome, directory);
}
