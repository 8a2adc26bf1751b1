/** The workflows' view of our hooks in the configuration of other agents. Types only. */
import type { AgentName } from '../agents/agents.ts';

export interface AgentState {
  name: AgentName;
  /** The name that people know, such as `Claude Code`. */
  title: string;
  /** The executable on PATH; null when it is not installed. */
  program: string | null;
  /** False when neither its executable nor its directory exists. */
  found: boolean;
  /** The user's configuration file where our hooks belong. */
  path: string;
  /** `changed`: some of our hooks are missing or were edited; `unknown`: the file cannot be read. */
  hooks: 'installed' | 'changed' | 'missing' | 'unknown';
  /** Whether the gate's hook is installed, so that the agent's plans wait for a verdict. */
  gate: boolean;
  /** Whether this agent's plans can wait for a verdict. */
  canGate: boolean;
  /** Whether the user has trusted the hooks; null for an agent that does not ask for trust. */
  trusted: boolean | null;
  /** A sentence that says why the file cannot be read or why the agent will not run our hooks; null when all is well. */
  problem: string | null;
}

/** The script that all hooks run. `broken`: the program that the script would start no longer exists. */
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
   * Installs the hooks. `gate`: whether plans wait for a verdict; undefined keeps the current choice. Returns false
   * when everything was already installed. Throws HOOK_IN_THE_WAY or WRITE_FAILED before changing anything.
   */
  install(name: AgentName, gate?: boolean): Promise<boolean>;
  uninstall(name: AgentName): Promise<UninstallOutcome>;
}

/**
 * `restored`: the file is byte for byte what it was before; `removed`: the user has edited the file since, so only our
 * hooks were removed.
 */
export type UninstallOutcome = 'restored' | 'removed' | 'missing';
