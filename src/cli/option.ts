/**
 * A command's options and parameters, each declared beside its field. Help, completion, the documents and command line
 * errors come from these declarations alone.
 */
import { Option, type CommandClass } from 'clipanion';
import type { CommandPage, Completion, OptionFacts, OptionSpec, ParameterSpec } from './command-page.ts';
import type { CliContext } from './context.ts';

interface ValueFacts extends OptionFacts {
  /** The value as help shows it: `<n>`; or `[=name]` if the user may also omit the value. */
  value: `<${string}>` | `[=${string}]`;
}

const usualCompletions: Record<string, Completion[]> = {
  '<file>': ['files'],
  '<directory>': ['files'],
  '<session>': ['sessions'],
};

const optionSpec = Symbol('option');
const parameterSpec = Symbol('parameter');

/**
 * Declares an option. `names` looks like `-m,--message`. The field contains the value; for a switch, true if the user
 * gave it.
 */
export function option(names: string, facts: ValueFacts & { value: `[=${string}]` }): string | boolean | undefined;
export function option(names: string, facts: ValueFacts & { many: true }): string[];
export function option<Value>(names: string, facts: ValueFacts & { parse(text: string): Value }): Value | undefined;
export function option(names: string, facts: ValueFacts & { required: true }): string;
export function option(names: string, facts: ValueFacts): string | undefined;
export function option(names: string, facts: OptionFacts & { isDefault: true }): boolean;
export function option(names: string, facts: OptionFacts & { mayBeUnset: true }): boolean | undefined;
export function option(names: string, facts: OptionFacts): boolean;
export function option(names: string, { value, many, parse, isDefault, mayBeUnset, ...rest }: AnyFacts): unknown {
  const completes = rest.completes ?? usualCompletions[value ?? ''] ?? [];
  const spec: OptionSpec = { ...rest, names: names.split(','), value: value ?? null, completes };
  // clipanion expects each field to have the type of its value.
  const field: unknown =
    value !== undefined
      ? many === true
        ? Option.Array(names, [])
        : Option.String(names, { tolerateBoolean: value.startsWith('[') })
      : mayBeUnset === true
        ? Option.Boolean(names)
        : Option.Boolean(names, isDefault === true);
  const { transformer } = field as { transformer(...run: unknown[]): unknown };
  const read = (...run: unknown[]) => {
    const text = transformer(...run);
    return parse !== undefined && typeof text === 'string' ? parse(text) : text;
  };
  return Object.assign(field as object, { transformer: read, [optionSpec]: spec });
}

type AnyFacts = OptionFacts &
  Partial<ValueFacts> & { many?: true; parse?(text: string): unknown; isDefault?: true; mayBeUnset?: true };

/** Declares a parameter: a word that follows no option name. */
export function parameter(
  name: string,
  facts: { optional: true; completes?: readonly Completion[] },
): string | undefined;
export function parameter(name: string, facts?: { completes?: readonly Completion[] }): string;
export function parameter(
  name: string,
  { optional = false, completes = [] }: { optional?: boolean; completes?: readonly Completion[] } = {},
): unknown {
  const field = Option.String({ name, required: !optional }) as unknown as object;
  return Object.assign(field, { [parameterSpec]: { name, isOptional: optional, isRest: false, completes } });
}

/** Declares a parameter that takes all remaining words. */
export function parameters(
  name: string,
  { atLeast = 0, completes = [] }: { atLeast?: 0 | 1; completes?: readonly Completion[] } = {},
): string[] {
  const field = Option.Rest({ name, required: atLeast }) as unknown as object;
  const spec: ParameterSpec = { name, isOptional: atLeast === 0, isRest: true, completes };
  return Object.assign(field, { [parameterSpec]: spec }) as unknown as string[];
}

/** Returns a command's declarations in the order of its fields, preceded by the declarations that every command has. */
export function readSpecs(command: CommandClass<CliContext>): Pick<CommandPage, 'options' | 'parameters'> {
  const fields: unknown[] = Object.values(new command());
  const specsOf = <Spec>(key: symbol) =>
    fields.flatMap((field) =>
      typeof field === 'object' && field !== null && key in field ? [(field as Record<symbol, Spec>)[key] as Spec] : [],
    );
  return { options: specsOf<OptionSpec>(optionSpec), parameters: specsOf<ParameterSpec>(parameterSpec) };
}
