/** A workflow's surroundings: its repository and everything around it. Types only. */
import type { Spool } from './capture.ts';
import type { Oid, RefName, RepoPath, SessionId } from '../names.ts';
import type { FoundSetting } from '../session/settings/decide-setting.ts';
import type { MaskedSecret } from '../session/masks/mask.ts';
import type { ModelFacts } from '../session/context/model-facts.ts';
import type { SettingName } from '../session/settings/settings.ts';
import type { Limits } from '../session/settings/write-limits.ts';
import type { Finding } from '../write/write.ts';
import type {
  AllowedCommands,
  AnswerStaging,
  ProjectFiles,
  Remains,
  RunJournals,
  ScratchFiles,
  ServerRecords,
  Shell,
  WriteStaging,
} from './disk.ts';
import type { Repository } from './git.ts';
import type { Journal } from './journal.ts';
import type { SetupRecords } from './setup.ts';
import type { Pages } from './web.ts';

/** A process on this machine. */
export interface RunningProcess {
  pid: number;
  /** At most 15 characters; may be empty. */
  name: string;
  words: readonly string[];
}

export interface AgentTrace {
  /** A full sentence, such as `Claude Code has started this: CLAUDECODE is set.` */
  seen: string;
  /** The ID of the agent's process; null when it was not found. */
  pid: number | null;
}

export type Hash = (bytes: Uint8Array | string) => string;

export interface Clock {
  now(): Date;
}

export interface Ids {
  /** Returns a UUID v7, which sorts by time. With `at`, the ID carries that time, even if later IDs already exist. */
  entryId(at?: Date): string;
  /** Returns a UUID v4. */
  writeId(): string;
}

/** Process names, for labeling the files that a process leaves behind when it is killed. */
export interface ProcessNames {
  /** Returns this process's name: digits, lowercase letters and hyphens. No other process ever has the same name. */
  ownName(): Promise<string>;
  /** Returns true if the named process is running; null when the name is not a process name. */
  isAlive(name: string): Promise<boolean | null>;
}

/** The processes on this machine. */
export interface ProcessTree {
  /** Returns a process and its ancestors, nearest first; null when the system does not reveal them. */
  chain(pid: number): Promise<RunningProcess[] | null>;
  /** Returns the environment with which a process started; null when the system does not reveal it. */
  environment(pid: number): Promise<Readonly<Record<string, string | undefined>> | null>;
  /** Returns the local process that owns the connection between two ports; null when the system does not reveal it. */
  connected(from: number, to: number): Promise<number | null>;
}

/** Finds out whether the user or an agent started this process, or is calling it. */
export interface Callers {
  /** Finds evidence that an AI agent started this process; null when there is none. */
  findAgent(): Promise<AgentTrace | null>;
  /** Like `findAgent`, for the process at the other end of a connection; also reports when that process is unknown. */
  findAgentBehind(connection: { from: number; to: number }): Promise<AgentTrace | null>;
  /**
   * Returns the environment in which the user started the agent (which may have set more variables since). Null when no
   * agent's process was found.
   */
  userEnvironment(): Promise<Readonly<Record<string, string | undefined>> | null>;
}

/** Short-lived facts for a waiting user; never results. */
export interface Notices {
  info(text: string): void;
  warn(text: string): void;
  /** Asks the waiting user a yes-or-no question; absent when nobody can be asked. */
  confirm?(question: string): Promise<boolean>;
}

export interface Masked {
  /** The text with `[masked: <kind>]` in place of each secret. */
  text: string;
  /** The number of masked secrets. */
  count: number;
  /** The kinds of the secrets and their lines, never the secrets themselves. */
  found: MaskedSecret[];
}

/** Finds secrets before teddy shows, stores or sends a text. With `teddy.redact=false`, finds none. */
export interface Masker {
  /** `path` is the file that the text comes from, if any; the file's name determines how to read the text. */
  mask(text: string, path?: string): Promise<Masked>;
}

/** Checks a text with the parser of its language. */
export interface SyntaxChecker {
  /** Returns the findings, or why the text could not be checked; null when no checker handles files with this name. */
  check(path: RepoPath, text: string): Promise<Finding[] | { skipped: string } | null>;
}

/** The agents and context lists that this machine's user has written or accepted, identified by content. */
export interface Trust {
  has(oid: Oid): Promise<boolean>;
  add(oids: readonly Oid[]): Promise<void>;
}

/**
 * Settings from the environment, otherwise from git's configuration, otherwise from `.teddy/config.yaml` if that file
 * may set the name.
 */
export interface Settings {
  /** Returns undefined when no source sets the name. Throws BAD_SETTING, which names the value's source. */
  get(name: SettingName): Promise<string | undefined>;
  /** Like `get`, with the origin; returns an unusable value instead of throwing. */
  find(name: SettingName): Promise<FoundSetting>;
  /** Lists the value of each source that sets the name, nearest first; the tracked file in the work tree comes last. */
  findAll(name: SettingName): Promise<FoundSetting[]>;
}

export interface SavedFacts {
  /** When teddy requested these facts (ISO 8601). */
  at: string;
  models: Map<string, ModelFacts>;
}

/** The facts about models that teddy can look up without a request. */
export interface KnownModels {
  /** Looks in the endpoint's facts, the list, and the user's settings, in this order. Throws BAD_SETTING. */
  find(provider: string, model: string): Promise<ModelFacts>;
  /** Returns the facts that the endpoint last reported. */
  saved(url: string): Promise<SavedFacts | null>;
  keepServed(url: string, models: ReadonlyMap<string, ModelFacts>): Promise<void>;
  /** Returns the request fields that the endpoint refused for the model within the last day. */
  refusedFields(url: string, model: string): Promise<string[]>;
  keepRefused(url: string, model: string, fields: readonly string[]): Promise<void>;
  /** Returns when teddy fetched the list; null if it never has. */
  listDate(): Promise<string | null>;
  /** Saves the list, keyed by provider and then by model. */
  keepList(providers: ReadonlyMap<string, ReadonlyMap<string, ModelFacts>>): Promise<void>;
}

/** A session's line that a plain `git fetch` downloaded and teddy has not checked yet. */
export interface FetchedLine {
  ref: RefName;
  tip: Oid;
  session: SessionId;
}

/** A workflow's surroundings: its repository and everything around it. */
export interface Project {
  repository: Repository;
  clock: Clock;
  ids: Ids;
  /** Hashes with sha256, in lowercase hexadecimal. */
  hash: Hash;
  notices: Notices;
  filesOf(root: string): ProjectFiles;
  shellOf(root: string): Shell;
  masker: Masker;
  pages: Pages;
  answers: AnswerStaging;
  writes: WriteStaging;
  /** `maxBytes` applies unless a setting overrides it. */
  writeLimits: Readonly<Limits>;
  servers: ServerRecords;
  spool: Spool;
  /** Remembers the changes by `teddy init` in this repository. */
  setup: SetupRecords;
  syntax: SyntaxChecker;
  scratch: ScratchFiles;
  processes: ProcessNames;
  callers: Callers;
  journals: RunJournals;
  journal: Journal;
  allowed: AllowedCommands;
  remains: Remains;
  trust: Trust;
  settings: Settings;
  models: KnownModels;
  /** Explains why `pull` would not accept the line; null when the line passes the checks. */
  judgeLine(project: Project, line: FetchedLine): Promise<string | null>;
}
