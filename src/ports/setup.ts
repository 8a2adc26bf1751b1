/** The parts that `teddy init` sets up, and the files that they change, as the workflows see them. */

/** In the order in which they are set up. */
export const partNames = ['global', 'model', 'capture', 'hooks', 'mcp', 'skill', 'ci'] as const;
export type PartName = (typeof partNames)[number];

export interface PartLook {
  /** `partly`: something that belongs to it is damaged or missing. `not-applicable`: there is no place for it here. */
  state: 'set-up' | 'partly' | 'missing' | 'not-applicable';
  /** A sentence; null when the state says everything. */
  why: string | null;
}

export interface FileChange {
  path: string;
  /** Null when the file does not exist. */
  before: Uint8Array | null;
  /** Null when the file is removed. */
  after: Uint8Array | null;
}

/** A file, or a description such as `sets teddy.capture`. */
export type Change = FileChange | { what: string };

/** Something that the user decides with one yes or no. */
export interface Step {
  /** The effect, as a command: `Add the MCP server for Codex`. */
  does: string;
  changes: readonly Change[];
  /** True when no is the default answer. */
  isExtra?: boolean;
  /** Passes sentences about what the user has to do or know. Throws after doing everything that was possible. */
  carryOut(tell: (sentence: string) => void): Promise<void>;
  /** A second question, which only follows a yes. */
  next?: Step;
}

/** The steps, and sentences about what stays as it is; empty when there is nothing to do. */
export type PartPlan = readonly (Step | string)[];

/** One row of the list that `teddy init`, `init --remove` and `doctor` share. */
export interface Part {
  name: PartName;
  /** Only the first step that the user accepts is carried out. */
  isChoice?: true;
  /** Changes nothing, and sends nothing to anybody. */
  look(): Promise<PartLook>;
  planSetUp(): Promise<PartPlan>;
  planRemoval(): Promise<PartPlan>;
}

/** Remembers the changes by `teddy init` in this repository, so that `--remove` can undo exactly these. */
export interface SetupRecords {
  read(key: string): Promise<Record<string, unknown> | null>;
  /** Resolves once the facts are durable. */
  write(key: string, facts: Record<string, unknown>): Promise<void>;
  remove(key: string): Promise<void>;
}

/** A file in the work tree or in the user's configuration. All methods throw TeddyError. */
export interface SetupFile {
  path: string;
  /** Returns null when the file does not exist. */
  read(): Promise<Uint8Array | null>;
  /** Replaces the file atomically, and keeps its mode. */
  write(bytes: Uint8Array): Promise<void>;
  remove(): Promise<void>;
  /** Removes what an interrupted `write` has left beside the file. */
  clear(): Promise<void>;
}

/** teddy's own text in a file, whose other content belongs to others. */
export interface OwnText {
  /** `kept`: something of the user's is in its place, and teddy leaves it alone. `why` follows the file's path. */
  find(text: string): { state: 'whole' | 'kept' | 'damaged' | 'missing'; why?: string };
  /** Throws FILES_IN_THE_WAY when it cannot be added without risk to the rest. */
  add(text: string): string;
  /** Returns null when it cannot be told from the rest. */
  remove(text: string): string | null;
}

/** A model that could answer, found without asking anybody outside this machine. */
export interface ModelChoice {
  provider: string;
  /** Null when only the endpoint knows which models it has. */
  model: string | null;
  url: string;
  /** Follows `because`: `OPENAI_API_KEY is set`. */
  why: string;
  /** True when it is unknown whether the endpoint answers. */
  isUntried: boolean;
}

/** The parts of this machine that setting up needs. */
export interface SetupTools {
  /** Reads a file of teddy's package. Throws FILE_NOT_FOUND. */
  readPackageFile(path: string): Promise<string>;
  /** Returns teddy's entry among the MCP servers in a file, which is TOML or JSON by its name. */
  mcpText(path: string): OwnText;
  /** Returns the user's own files in which the installed agents look for MCP servers, each with the agent's title. */
  mcpFiles(): Promise<{ title: string; file: SetupFile }[]>;
  /** Returns true if agents can start teddy by its name. */
  isOnPath(): Promise<boolean>;
  findModels(): Promise<ModelChoice[]>;
  /** Sends one request. Throws as `teddy models` does. */
  listModels(provider: string): Promise<readonly string[]>;
}
