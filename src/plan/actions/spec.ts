/**
 * An action's form in a plan: its parameters and its body. The parser reads plans with this table, and the protocol in
 * the system prompt is rendered from it.
 */
type ParameterType = 'path' | 'resource' | 'directory' | 'text' | 'boolean' | 'number' | 'seconds' | 'lines' | 'env';

export interface ParameterSpec {
  name: string;
  /** Other accepted names; case, spaces and hyphens do not matter. */
  aliases: string[];
  type: ParameterType;
  required: boolean;
  /** Shown to the model. */
  purpose: string;
  /** An example of a correct value. */
  example: string;
}

/** The form of the body after the parameters: nothing, one fence, FIND and REPLACE pairs, fences of lines, or free Markdown. */
export type BodyKind = 'none' | 'content' | 'pairs' | 'script' | 'queries' | 'markdown';

/** A parameter that models tend to write although the action does not have it. */
interface RefusedParameter {
  names: string[];
  problem: string;
  /** The action to use instead. */
  hint: string;
}

export interface ActionSpec {
  type: string;
  purpose: string;
  parameters: ParameterSpec[];
  refused?: RefusedParameter[];
  body: BodyKind;
  /** A correct body for error messages; empty when the action has none. */
  bodyExample: string;
}

export const filePath: ParameterSpec = {
  name: 'File Path',
  aliases: ['path', 'file'],
  type: 'path',
  required: true,
  purpose: "relative to the project's root",
  example: '[src/app.ts](/src/app.ts)',
};

export const resource: ParameterSpec = {
  name: 'Resource',
  aliases: ['file path', 'path', 'file', 'url'],
  type: 'resource',
  required: true,
  purpose: 'a file of the project, or a URL',
  example: '[src/app.ts](/src/app.ts)',
};

export const description = optional(
  'Description',
  'text',
  'what the action is for, in one line',
  'Register the login route.',
);

export function optional(
  name: string,
  type: ParameterType,
  purpose: string,
  example: string,
  aliases: string[] = [],
): ParameterSpec {
  return { name, aliases, type, required: false, purpose, example };
}

export function findParameterSpec(spec: ActionSpec, key: string): ParameterSpec | undefined {
  const wanted = foldKey(key);
  return spec.parameters.find(({ name, aliases }) => [name, ...aliases].some((known) => foldKey(known) === wanted));
}

export function findRefusedParameter(spec: ActionSpec, key: string): RefusedParameter | undefined {
  const wanted = foldKey(key);
  return spec.refused?.find(({ names }) => names.some((name) => foldKey(name) === wanted));
}

/** Drops case, spaces, hyphens and formatting marks, so that keys compare without them. */
function foldKey(key: string): string {
  return key.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** Renders a parameter in plan form. */
export function renderParameter(spec: ParameterSpec): string {
  return `- **${spec.name}:**${spec.type === 'env' ? '' : ' '}${spec.example}`;
}
