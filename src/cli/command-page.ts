/** A command as its declarations describe it. Help, completion, the documents and usage errors are generated from it. */
import type { Definition } from 'clipanion';

/** A command as help, completion and the documents describe it. */
export interface CommandPage extends Omit<Definition, 'options' | 'usage'> {
  options: readonly OptionSpec[];
  parameters: readonly ParameterSpec[];
}

/** The words that a shell offers for a value. */
export type Completion = 'files' | 'sessions';

export interface OptionFacts {
  describe: string;
  /** The kind of completion; by default `files` for `<file>` and `<directory>`, and `sessions` for `<session>`. */
  completes?: readonly Completion[];
  /** The options that cannot be combined with it, by their first names. */
  excludes?: readonly string[];
  /** The options that it qualifies: one of them must be given too. */
  requires?: readonly string[];
  /** True when the command cannot run without it. */
  required?: true;
}

export interface OptionSpec extends Omit<OptionFacts, 'completes'> {
  /** The names, such as `-m` and `--message`; the short name is first. */
  names: readonly string[];
  /** Null for a switch. */
  value: string | null;
  completes: readonly Completion[];
}

export interface ParameterSpec {
  name: string;
  isOptional: boolean;
  /** True when it takes all remaining words. */
  isRest: boolean;
  completes: readonly Completion[];
}

/** Returns `--message` for `-m,--message`, or the short name when there is no long one. */
export function longName({ names }: OptionSpec): string {
  return names.at(-1) ?? '';
}
