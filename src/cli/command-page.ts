/** A command as its declarations describe it: of this are made its help, its completion, the documents and usage errors. */
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
  /** `files` for `<file>` and `<directory>`, and `sessions` for `<session>`, where nothing is said. */
  completes?: readonly Completion[];
  /** The options that cannot be given beside it, by their first names. */
  excludes?: readonly string[];
  /** It says something about another option: one of these has to be given, too. */
  requires?: readonly string[];
  /** The command does nothing without it. */
  required?: true;
}

export interface OptionSpec extends Omit<OptionFacts, 'completes'> {
  /** `-m`, `--message`: the short name first. */
  names: readonly string[];
  /** Null for a switch. */
  value: string | null;
  completes: readonly Completion[];
}

export interface ParameterSpec {
  name: string;
  isOptional: boolean;
  /** It takes all words from its place on. */
  isRest: boolean;
  completes: readonly Completion[];
}

/** `--message` of `-m,--message`; the short name where there is no other. */
export function longName({ names }: OptionSpec): string {
  return names.at(-1) ?? '';
}
