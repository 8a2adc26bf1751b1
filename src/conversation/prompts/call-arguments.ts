/** Checks the arguments of a tool call against the tool's schema. */
import { parseObject } from '../../session/text/parse-object.ts';

export type Values = Record<string, unknown>;

interface Parameter {
  type: string;
  minimum?: number;
  maximum?: number;
}

interface Tool {
  name: string;
  parameters: { properties: Record<string, Parameter>; required: readonly string[] };
}

/** Returns the call that `toCall` builds from the values, or a text that explains why the values are wrong. */
export function parseArguments<Call extends object>(
  { name, parameters }: Tool,
  text: string,
  toCall: (values: Values) => Call | string,
): Call | { problem: string } {
  const values = readArguments(text);
  const wrong = values === null ? 'The arguments are not a JSON object' : findWrong(values, parameters);
  const call = wrong ?? toCall(values ?? {});
  if (typeof call !== 'string') return call;
  const names = Object.keys(parameters.properties).map((key) =>
    parameters.required.includes(key) ? key : `${key} (optional)`,
  );
  return { problem: `${call}. Call ${name} again with ${names.join(', ')}.` };
}

/** Omits null parameters, because some models list all of them. A tool without required arguments may receive no text. */
function readArguments(text: string): Values | null {
  const values = text.trim() === '' ? {} : parseObject(text);
  return values && Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
}

function findWrong(values: Values, { properties, required }: Tool['parameters']): string | null {
  const unknown = Object.keys(values).filter((name) => !Object.hasOwn(properties, name));
  if (unknown.length > 0) return `There is no parameter ${unknown.map(quoteName).join(', ')}`;
  const missing = required.find((name) => !Object.hasOwn(values, name));
  if (missing !== undefined) return `The parameter \`${missing}\` is required`;
  for (const [name, value] of Object.entries(values)) {
    const parameter = properties[name];
    if (parameter && !isOfType(value, parameter)) return `\`${name}\` is not ${describeType(parameter)}`;
  }
  return null;
}

function isOfType(value: unknown, { type, minimum = -Infinity, maximum = Infinity }: Parameter): boolean {
  if (type === 'array') return Array.isArray(value);
  if (type !== 'integer') return typeof value === type;
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= minimum && value <= maximum;
}

function describeType({ type, minimum, maximum }: Parameter): string {
  if (type === 'string') return 'a text';
  if (type === 'array') return 'a list';
  if (type === 'boolean') return 'true or false';
  return `a whole number${minimum === undefined ? '' : ` from ${minimum}`}${maximum === undefined ? '' : ` to ${maximum}`}`;
}

export function textOf(values: Values, name: string): string | null {
  const value = values[name];
  return typeof value === 'string' ? value : null;
}

export function numberOf(values: Values, name: string): number | null {
  const value = values[name];
  return typeof value === 'number' ? value : null;
}

export function quoteName(name: string): string {
  return JSON.stringify(name.slice(0, 60));
}
