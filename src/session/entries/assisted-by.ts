/** The trailers that disclose which models had a part in a commit: `Assisted-by: teddy:gpt-5`, in the form of the Linux kernel. */
import { toLabel, type Entry } from './entry.ts';
import { listTrailers } from './trailers.ts';

/** Each is one word of visible characters. */
export interface Assistant {
  /** The program that has asked the model; it has no colon. */
  tool: string;
  model: string;
}

export const usualDisclosure = 'Assisted-by: {tool}:{model}';

const unknownModel = 'unknown';

/** An agent that has handed in the plan of a new session over MCP. */
const planner = 'mcp';

/**
 * Who gave an answer. `foreign`: the tool whose session it is, if it is another agent's. Null: no model that teddy knows of, as for
 * an answer that a person brought, that was recorded before, or that a front end or an import has added.
 */
export function toAssistant({ kind, turn, agent, provider, model }: Entry, foreign: string | null): Assistant | null {
  if (provider === 'manual') return foreign === planner && turn === '01' ? toForeign(planner) : null;
  if (provider === 'recorded') return null;
  if (agent !== undefined || kind === 'write') return { tool: 'teddy', model: toWord(model ?? '') };
  return foreign === null ? null : toForeign(foreign, model ?? '');
}

/** Another agent; a model that its log does not name is `unknown`. */
export function toForeign(tool: string, model = ''): Assistant {
  return { tool, model: toWord(model) };
}

/** In their order, each once. Where the model of a tool is known, that another answer of it names none says nothing. */
export function joinAssistants(assistants: readonly Assistant[]): Assistant[] {
  const known = new Map(assistants.map((one) => [`${one.tool}:${one.model}`, one]));
  const named = new Set(assistants.flatMap(({ tool, model }) => (model === unknownModel ? [] : [tool])));
  return [...known.values()].filter(({ tool, model }) => model !== unknownModel || !named.has(tool));
}

/** A name is one word, so that nothing in it reads as another trailer, as a tool, or, to a forge, as an issue or a person. */
function toWord(name: string): string {
  // A local server names its model by the file: where that lies is nobody's business.
  const path = /^(?:~?\/|[A-Za-z]:[\\/])/.test(name) ? (name.split(/[\\/]/).at(-1) ?? '') : name;
  const visible = path.normalize('NFC').replaceAll(/[\p{Cf}\p{Cs}]/gu, '');
  const word = toLabel(visible, maxModelLength)
    .replaceAll(/\s+/gu, '-')
    .replaceAll(/#|(?<![\p{L}\p{N}])@/gu, '-');
  return word === '' ? unknownModel : word;
}

const maxModelLength = 100;
const maxTemplateLength = 200;

/** A person attests this with their name. */
const ofPersons = ['signed-off-by', 'co-authored-by', 'co-developed-by', 'reviewed-by', 'acked-by', 'tested-by'];

/** The value of `teddy.assistedBy` as a template; null: nothing is disclosed. */
export function toDisclosure(value: string | undefined): string | null {
  if (value === 'false') return null;
  return value === undefined || value === 'true' ? usualDisclosure : value;
}

/** Why a template makes no trailer that may be added, as a part of a sentence; null: it makes exactly one. */
export function findTemplateProblem(template: string): string | null {
  const [, key] = /^([A-Za-z][A-Za-z0-9-]*): \S/.exec(template) ?? [];
  if (key === undefined || template.length > maxTemplateLength || /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(template))
    return `it takes true, false, or one trailer of at most ${maxTemplateLength} characters, such as ${JSON.stringify(usualDisclosure)}`;
  if (ofPersons.includes(key.toLowerCase())) return `${key} is for people: with it, a person vouches for the change`;
  if (/^teddy-/i.test(key)) return `${key} is one of teddy's own trailers`;
  const [unknown] = template.replaceAll(/\{(?:tool|model)\}/g, '').match(/\{[^{}]*\}?|\}/) ?? [];
  if (unknown === undefined) return null;
  return `it may have the placeholders {tool} and {model}, and ${JSON.stringify(unknown)} is neither`;
}

/** One trailer for each assistant; where the template makes them equal, it is one for all of these. */
export function renderDisclosure(template: string, assistants: readonly Assistant[]): string[] {
  const toTrailer = (assistant: Assistant) =>
    template.replaceAll(/\{(tool|model)\}/g, (_, name: keyof Assistant) => assistant[name]);
  return [...new Set(assistants.map(toTrailer))];
}

/** The trailers of messages that have the key of the template and are not `known`, as they stand there: somebody has disclosed more. */
export function findDisclosed(template: string, messages: readonly string[], known: readonly string[]): string[] {
  const { key } = splitTrailer(template);
  const found = messages.flatMap(listTrailers).filter((line) => splitTrailer(line).key === key);
  return leaveOut([...new Set(found.map((line) => toLabel(line, 2 * maxTemplateLength)))], known);
}

/** The trailers that a message does not have yet. */
export function leaveOutKnown(message: string, trailers: readonly string[]): string[] {
  return leaveOut(trailers, listTrailers(message));
}

/** One that names tools behind the model is the same trailer. */
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
