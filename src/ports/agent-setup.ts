/** The workflows' view of our hooks in the configuration of other agents. Types only. */
import type { AgentName } from '../agents/agents.ts';

export interface AgentState {
  name: AgentName;
  /** The name that people know: `Claude Code`. */
  title: string;
  /** The executable on PATH; null when there is none. */
  program: string | null;
  /** False: neither its executable nor its directory is there. */
  found: boolean;
  /** The file of the user's configuration that our hooks belong in. */
  path: string;
  /** `changed`: some of them are there, or somebody has changed them; `unknown`: the file cannot be read. */
  hooks: 'installed' | 'changed' | 'missing' | 'unknown';
  /** Its plans wait for a verdict: the hook of the gate is there. */
  gate: boolean;
  /** Whether its plans can wait. */
  canGate: boolean;
  /** Whether the person has trusted them; null where the agent does not ask for that. */
  trusted: boolean | null;
  /** Why the file cannot be read, or the agent will not run our hooks, as a sentence; null: nothing is wrong. */
  problem: string | null;
}

/** The script that all hooks run. `broken`: what it would start is gone. */
export interface HookScript {
  path: string;
  state: 'installed' | 'outdated' | 'missing' | 'broken';
}

export interface AgentSetup {
  list(): Promise<AgentState[]>;
  script(): Promise<HookScript>;
  /** Writes it anew where it is not as it should be. */
  installScript(): Promise<void>;
  removeScript(): Promise<void>;
  /**
   * `gate`: whether its plans wait for a verdict; undefined: as it is. False: all was there. Throws HOOK_IN_THE_WAY or
   * WRITE_FAILED, and has changed nothing then.
   */
  install(name: AgentName, gate?: boolean): Promise<boolean>;
  uninstall(name: AgentName): Promise<UninstallOutcome>;
}

/** `restored`: the file is as it was before, to the byte; `removed`: somebody has changed it since, and only ours is gone. */
export type UninstallOutcome = 'restored' | 'removed' | 'missing';
