/** The world that approved actions work on: files, programs, the web and the user. Actions reach all of these through it alone. */
import type { RepoPath } from '../../names.ts';
import type { CommandResult } from '../../ports/files.ts';
import type { Performed } from '../effects/action-details.ts';
import type { WriteEffect } from '../effects/effect.ts';

/** A page of the web, masked. */
interface ReadPage {
  url: string;
  text: string;
  contentType: string;
  /** How many secrets of the text are masked. */
  masked: number;
}

type StartScript = (
  script: string,
  /** `cwd` is relative to the project. `timeoutMs` null: the default. */
  options: { cwd: string; env: Record<string, string>; timeoutMs: number | null },
) => Promise<CommandResult>;

interface RanScripts<T> {
  value: T;
  /** Files of `.teddy/` that are as they were before. */
  restored: RepoPath[];
  /** Why they are not, as a report says it; null when they are. */
  failure: string | null;
}

export interface ActionWorld {
  /** Notes durably that the action begins, for one that changes no file. Throws DISK_FULL or WRITE_FAILED: nothing may start then. */
  begin(): Promise<void>;
  /** Begins, keeps what is there, and puts the content in its place, unless somebody has changed the file since it was shown. */
  write(effect: WriteEffect): Promise<Performed>;
  /** Begins, and notes what the scripts that `work` starts, one after the other, change. Their results are masked. */
  run<T>(work: (start: StartScript) => Promise<T>): Promise<RanScripts<T>>;
  /** Asks the user; null when there is no answer to be had. Throws INTERRUPTED. */
  ask(text: string): Promise<string | null>;
  /** Reads a page and keeps it; `file` is its place, relative to the turn. */
  fetch(url: string): Promise<ReadPage & { file: string }>;
  /** The user's search command; undefined when there is none. */
  searchCommand(): Promise<string | undefined>;
  /** Keeps an output of which the report shows a part; returns its place, relative to the turn. */
  keepOutput(text: string): string;
}

/** A world of files alone, for the actions that write one: a plan is tried in it, and done again. */
export function openFileWorld(write: (effect: WriteEffect) => Promise<void>): ActionWorld {
  const refuse = (): never => {
    throw new Error('There are files alone in this world.');
  };
  return {
    begin: async () => undefined,
    async write(effect) {
      await write(effect);
      return { status: 'SUCCESS' };
    },
    run: refuse,
    ask: refuse,
    fetch: refuse,
    searchCommand: refuse,
    keepOutput: refuse,
  };
}
