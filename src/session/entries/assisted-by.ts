/** The trailers that disclose which models contributed to a commit: `Assisted-by: teddy:gpt-5`, as in the Linux kernel. */
import { toLabel, type Entry } from './entry.ts';
import { listTrailers } from './trailers.ts';

/** A tool and its model. Each is one word of visible characters. */
export interface Assistant {
  /** The program that asked the model; it contains no colon. */
  tool: string;
  model: string;
}

export const usualDisclosure = 'Assisted-by: {tool}:{model}';

const unknownModel = 'unknown';

/** An agent that submitted a new session's plan over MCP. */
const planner = 'mcp';

/**
 * Returns the tool and the model that gave an answer. `foreign` names the other agent's tool when the session is not
 * teddy's own. Returns null when teddy knows of no model: for an answer that a user pasted in, that a recording
 * supplied, or that a front end or an import added.
 */
export function toAssistant({ kind, turn, agent, provider, model }: Entry, foreign: string | null): Assistant | null {
  if (provider === 'manual') return foreign === planner && turn === '01' ? toForeign(planner) : null;
  if (provider === 'recorded') return null;
  if (agent !== undefined || kind === 'write') return { tool: 'teddy', model: toWord(model ?? '') };
  return foreign === null ? null : toForeign(foreign, model ?? '');
}

/** Describes another agent; the model is `unknown` if the agent's log does not name it. */
export function toForeign(tool: string, model = ''): Assistant {
  return { tool, model: toWord(model) };
}

/** Lists each assistant once, in order. Drops a tool's unknown model when one of its models is known. */
export function joinAssistants(assistants: readonly Assistant[]): Assistant[] {
  const known = new Map(assistants.map((one) => [`${one.tool}:${one.model}`, one]));
  const named = new Set(assistants.flatMap(({ tool, model }) => (model === unknownModel ? [] : [tool])));
  return [...known.values()].filter(({ tool, model }) => model !== unknownModel || !named.has(tool));
}

/** Reduces a name to one word that cannot be read as another trailer, a tool or, on a forge, an issue or a user. */
function toWord(name: string): string {
  // A local server identifies its model by a file; the file's directory is private.
  const path = /^(?:~?\/|[A-Za-z]:[\\/])/.test(name) ? (name.split(/[\\/]/).at(-1) ?? '') : name;
  const visible = path.normalize('NFC').replaceAll(/[\p{Cf}\p{Cs}]/gu, '');
  const word = toLabel(visible, maxModelLength)
    .replaceAll(/\s+/gu, '-')
    .replaceAll(/#|(?<![\p{L}\p{N}])@/gu, '-');
  return word === '' ? unknownModel : word;
}

const maxModelLength = 100;
const maxTemplateLength = 200;

/** Trailers with which a named person attests something. */
const ofPersons = ['signed-off-by', 'co-authored-by', 'co-developed-by', 'reviewed-by', 'acked-by', 'tested-by'];

/** Reads the value of `teddy.assistedBy` as a template; null when teddy should disclose nothing. */
export function toDisclosure(value: string | undefined): string | null {
  if (value === 'false') return null;
  return value === undefined || value === 'true' ? usualDisclosure : value;
}

/** Explains, as part of a sentence, why a template does not produce exactly one permitted trailer; null when it does. */
export function findTemplateProblem(template: string): string | null {
  const [, key] = /^([A-Za-z][A-Za-z0-9-]*): \S/.exec(template) ?? [];
  if (key === undefined || template.length > maxTemplateLength || /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(template))
    return `it takes true, false, or one trailer of at most ${maxTemplateLength} characters, such as ${JSON.stringify(usualDisclosure)}`;
  if (ofPersons.includes(key.toLowerCase())) return `${key} is for people: with it, a person vouches for the change`;
  if (/^teddy-/i.test(key)) return `${key} is one of teddy's own trailers`;
  const [unknown] = template.replaceAll(/\{(?:tool|model)\}/g, '').match(/\{[^{}]*\}?|\}/) ?? [];
  if (unknown === undefined) return null;
  return `it may have the placeholders {tool} and {model}, but ${JSON.stringify(unknown)} is neither`;
}

/** Renders one trailer for each assistant, or one for several assistants when the template renders them equally. */
export function renderDisclosure(template: string, assistants: readonly Assistant[]): string[] {
  const toTrailer = (assistant: Assistant) =>
    template.replaceAll(/\{(tool|model)\}/g, (_, name: keyof Assistant) => assistant[name]);
  return [...new Set(assistants.map(toTrailer))];
}

/**
 * Finds trailers in messages that have the template's key and are not `known`: somebody else has disclosed more.
 * Returns them unchanged.
 */
export function findDisclosed(template: string, messages: readonly string[], known: readonly string[]): string[] {
  const { key } = splitTrailer(template);
  const found = messages.flatMap(listTrailers).filter((line) => splitTrailer(line).key === key);
  return leaveOut([...new Set(found.map((line) => toLabel(line, 2 * maxTemplateLength)))], known);
}

/** Returns the trailers that a message lacks. */
export function leaveOutKnown(message: string, trailers: readonly string[]): string[] {
  return leaveOut(trailers, listTrailers(message));
}

/** Drops known trailers. A trailer that also names tools after the model counts as equal. */
function leaveOut(trailers: readonly string[], lines: readonly string[]): string[] {
  const known = lines.map(splitTrailer);
  return trailers.filter((trailer) => {
    const { key, value } = splitTrailer(trailer);
    return !known.some((one) => one.key === key && `${one.value} `.startsWith(`${value} `));
  });
}

function splitTrailer(line: string): { key: string; value: string } {
  const end = line.indexOf(':');
  return { key: line.slice(0, end).trim().toLowerCase(), value: line.slice(end + 1).trim() };
}
