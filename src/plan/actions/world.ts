/** The world in which approved actions run. Actions reach files, programs, the web and the user only through it. */
import type { RepoPath } from '../../names.ts';
import type { CommandResult } from '../../ports/files.ts';
import type { Performed } from '../effects/action-details.ts';
import type { WriteEffect } from '../effects/effect.ts';

/** A web page with its secrets masked. */
interface ReadPage {
  url: string;
  text: string;
  contentType: string;
  /** The number of masked secrets in the text. */
  masked: number;
}

type StartScript = (
  script: string,
  /** `cwd` is relative to the project. `timeoutMs` is null for the default. */
  options: { cwd: string; env: Record<string, string>; timeoutMs: number | null },
) => Promise<CommandResult>;

interface RanScripts<T> {
  value: T;
  /** Files of `.teddy/` that teddy restored to their earlier content. */
  restored: RepoPath[];
  /** Why teddy could not restore the files, in the report's words; null when it restored them. */
  failure: string | null;
}

export interface ActionWorld {
  /**
   * Durably records that an action that changes no file begins. Throws DISK_FULL or WRITE_FAILED; in that case nothing
   * may start.
   */
  begin(): Promise<void>;
  /**
   * Records that the action begins, saves the existing file, and writes the content unless the file has changed since
   * teddy showed it to the user.
   */
  write(effect: WriteEffect): Promise<Performed>;
  /**
   * Records that the action begins, and the changes made by the scripts that `work` starts (one after the other). Masks
   * their results.
   */
  run<T>(work: (start: StartScript) => Promise<T>): Promise<RanScripts<T>>;
  /** Asks the user; returns null when no answer is available. Throws INTERRUPTED. */
  ask(text: string): Promise<string | null>;
  /** Fetches a page and stores it; `file` is its path relative to the turn. */
  fetch(url: string): Promise<ReadPage & { file: string }>;
  /** Returns the user's search command; undefined when there is none. */
  searchCommand(): Promise<string | undefined>;
  /** Stores an output that the report shows only in part, and returns the stored file's path relative to the turn. */
  keepOutput(text: string): string;
}

/** Opens a world that contains only files, for actions that write a file. Used for trying out and repeating a plan. */
export function openFileWorld(write: (effect: WriteEffect) => Promise<void>): ActionWorld {
  const refuse = (): never => {
    throw new Error('This world has only files.');
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
