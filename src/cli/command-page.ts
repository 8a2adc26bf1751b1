/** A command as its declarations describe it. teddy generates help, completion, the documents and usage errors from this. */
import type { Definition } from 'clipanion';

/** A command as help, completion and the documents describe it. */
export interface CommandPage extends Omit<Definition, 'options' | 'usage'> {
  /** The group whose help lists the command, such as `session` or `capture`; empty when none does. */
  group: string;
  options: readonly OptionSpec[];
  parameters: readonly ParameterSpec[];
}

/** The kind of words that a shell offers for a value. */
export type Completion = 'files' | 'sessions';

export interface OptionFacts {
  describe: string;
  /** The kinds of completion; by default `files` for `<file>` and `<directory>`, and `sessions` for `<session>`. */
  completes?: readonly Completion[];
  /** The first names of the options that cannot be combined with this one. */
  excludes?: readonly string[];
  /** The options that this one qualifies; the user must also give one of them. */
  requires?: readonly string[];
  /** True when the command cannot run without this option. */
  required?: true;
}

export interface OptionSpec extends Omit<OptionFacts, 'completes'> {
  /** The names, such as `-m` and `--message`, with the short name first. */
  names: readonly string[];
  /** Null for a switch. */
  value: string | null;
  completes: readonly Completion[];
}

export interface ParameterSpec {
  name: string;
  isOptional: boolean;
  /** True when the parameter takes all remaining words. */
  isRest: boolean;
  completes: readonly Completion[];
}

/** Returns `--message` for `-m,--message`, or the short name when the option has no long one. */
export function longName({ names }: OptionSpec): string {
  return names.at(-1) ?? '';
}
