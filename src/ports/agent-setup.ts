/** The workflows' view of teddy's hooks in other agents' configuration. Types only. */
import type { AgentName } from '../agents/agents.ts';
import type { FileChange } from './setup.ts';

export interface AgentState {
  name: AgentName;
  /** The name that people use, such as `Claude Code`. */
  title: string;
  /** The path of the executable on PATH; null when it is not installed. */
  program: string | null;
  /** False when neither the agent's executable nor its directory exists. */
  found: boolean;
  /** The user's configuration file to which teddy adds its hooks. */
  path: string;
  /** `changed`: some of teddy's hooks are missing or were edited; `unknown`: the file cannot be read. */
  hooks: 'installed' | 'changed' | 'missing' | 'unknown';
  /** True when the gate's hook is installed, so that the agent's plans wait for a verdict. */
  gate: boolean;
  /** True when this agent's plans can wait for a verdict. */
  canGate: boolean;
  /** True when the user has trusted the hooks; null for an agent that does not ask for trust. */
  trusted: boolean | null;
  /** Why the file cannot be read or the agent will not run teddy's hooks, in a sentence; null when there is no problem. */
  problem: string | null;
}

/** The script that all hooks run. `broken`: the program that the script would run no longer exists. */
export interface HookScript {
  path: string;
  state: 'installed' | 'outdated' | 'missing' | 'broken';
}

export interface AgentSetup {
  list(): Promise<AgentState[]>;
  script(): Promise<HookScript>;
  /** Rewrites the script unless it is up to date. */
  installScript(): Promise<void>;
  removeScript(): Promise<void>;
  /**
   * Installs the hooks. `gate` decides whether plans wait for a verdict; undefined keeps the current choice. Returns
   * false when everything was already installed. Throws HOOK_IN_THE_WAY or WRITE_FAILED before changing anything.
   */
  install(name: AgentName, gate?: boolean): Promise<boolean>;
  uninstall(name: AgentName): Promise<UninstallOutcome>;
  /** Returns the change that `install` or `uninstall` would make; null when it would make none. Throws as they do. */
  preview(name: AgentName, isInstall: boolean, gate?: boolean): Promise<FileChange | null>;
}

/**
 * `restored`: the file is byte for byte the same as before; `removed`: the user has edited the file since, so teddy
 * removed only its own hooks.
 */
export type UninstallOutcome = 'restored' | 'removed' | 'missing';
