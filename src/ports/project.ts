/** The world that a workflow is given: its repository and everything around it. Types only. */
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
import type { Pages } from './web.ts';

/** A process of the machine. */
export interface RunningProcess {
  pid: number;
  /** A name of at most 15 characters, or empty. */
  name: string;
  words: readonly string[];
}

export interface AgentTrace {
  /** A sentence: `Claude Code has started this: CLAUDECODE is set.` */
  seen: string;
  /** The process of the agent, where that was seen. */
  pid: number | null;
}

export type Hash = (bytes: Uint8Array | string) => string;

export interface Clock {
  now(): Date;
}

export interface Ids {
  /** A UUID v7: ordered by time. With `at`, it is of that time, whatever ids were made before. */
  entryId(at?: Date): string;
  /** A UUID v4. */
  writeId(): string;
}

/** For what a process leaves behind when it is killed. */
export interface ProcessNames {
  /** The name of this process: digits, lower-case letters and hyphens. No other process has it, nor will have it. */
  ownName(): Promise<string>;
  /** Null: no process is called so. */
  isAlive(name: string): Promise<boolean | null>;
}

/** The processes of this machine. */
export interface ProcessTree {
  /** A process and those that have started it, the nearest first; null: the system does not show them. */
  chain(pid: number): Promise<RunningProcess[] | null>;
  /** The variables with which a process was started; null: the system does not show them. */
  environment(pid: number): Promise<Readonly<Record<string, string | undefined>> | null>;
  /** The process that has a connection on this machine from a port to another one; null: the system does not show it. */
  connected(from: number, to: number): Promise<number | null>;
}

/** Whether a person has started what runs here, or calls it. */
export interface Callers {
  /** Finds what shows that an AI agent has started this process; null: nothing does. */
  findAgent(): Promise<AgentTrace | null>;
  /** The same of the process that has connected from a port to another one; also where nothing shows which process that is. */
  findAgentBehind(connection: { from: number; to: number }): Promise<AgentTrace | null>;
  /** The variables with which a person has started the agent: it may have set others since. Null: no agent's process was seen. */
  personsEnvironment(): Promise<Readonly<Record<string, string | undefined>> | null>;
}

/** Short-lived facts for a person who waits or has to know; never results. */
export interface Notices {
  info(text: string): void;
  warn(text: string): void;
  /** Asks the person who waits yes or no; absent where there is nobody to ask. */
  confirm?(question: string): Promise<boolean>;
}

export interface Masked {
  /** With `[masked: <kind>]` in place of each secret. */
  text: string;
  /** How many secrets were masked. */
  count: number;
  /** The kinds of the secrets and their lines, never the secrets themselves. */
  found: MaskedSecret[];
}

/** Finds secrets before anything is shown, stored or sent. With `teddy.redact=false` it finds none. */
export interface Masker {
  /** `path` tells what kind of file the text is, where it is one. */
  mask(text: string, path?: string): Promise<Masked>;
}

/** Checks a text with the parser of its language. */
export interface SyntaxChecker {
  /** Findings, or why it could not be checked; null: nothing checks files of this name. */
  check(path: RepoPath, text: string): Promise<Finding[] | { skipped: string } | null>;
}

/** Which agents and context lists the user of this machine has written or accepted, by content. */
export interface Trust {
  has(oid: Oid): Promise<boolean>;
  add(oids: readonly Oid[]): Promise<void>;
}

/** The environment's value, else git's configuration, else that of `.teddy/config.yaml` where it may set the name. */
export interface Settings {
  /** Undefined when nothing sets it. Throws BAD_SETTING, which names where the value comes from. */
  get(name: SettingName): Promise<string | undefined>;
  /** The same with its origin; a value that cannot be used is an answer here. */
  find(name: SettingName): Promise<FoundSetting>;
  /** Each source by itself, the nearest first, and last the tracked file in the work tree; without those that say nothing. */
  findAll(name: SettingName): Promise<FoundSetting[]>;
}

export interface SavedFacts {
  /** When they were asked for, ISO 8601. */
  at: string;
  models: Map<string, ModelFacts>;
}

/** The facts about models that are known without asking anybody. */
export interface KnownModels {
  /** By its endpoint, else by the list, else by the user's settings. Throws BAD_SETTING for one of these. */
  find(provider: string, model: string): Promise<ModelFacts>;
  /** The endpoint's last word. */
  saved(url: string): Promise<SavedFacts | null>;
  keepServed(url: string, models: ReadonlyMap<string, ModelFacts>): Promise<void>;
  /** The fields of a request that the endpoint has refused for the model within the last day. */
  refusedFields(url: string, model: string): Promise<string[]>;
  keepRefused(url: string, model: string, fields: readonly string[]): Promise<void>;
  /** When the list was fetched; null: never. */
  listDate(): Promise<string | null>;
  /** By provider, then by model. */
  keepList(providers: ReadonlyMap<string, ReadonlyMap<string, ModelFacts>>): Promise<void>;
}

/** A line that a plain `git fetch` has brought, and that nobody has looked at. */
export interface FetchedLine {
  ref: RefName;
  tip: Oid;
  session: SessionId;
}

/** The world that a workflow is given: its repository and everything around it. */
export interface Project {
  repository: Repository;
  clock: Clock;
  ids: Ids;
  /** sha256, in lower-case hexadecimal. */
  hash: Hash;
  notices: Notices;
  filesOf(root: string): ProjectFiles;
  shellOf(root: string): Shell;
  masker: Masker;
  pages: Pages;
  answers: AnswerStaging;
  writes: WriteStaging;
  /** `maxBytes` counts where no setting says another. */
  writeLimits: Readonly<Limits>;
  servers: ServerRecords;
  spool: Spool;
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
  /** Why `pull` would not let the line in; null: it passes the checks. */
  judgeLine(project: Project, line: FetchedLine): Promise<string | null>;
}
