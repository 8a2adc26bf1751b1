/** Parses `_context.log`, the messages of a request, section by section. */
import { TeddyError } from '../../errors.ts';
import type { Hash } from '../../ports/project.ts';
import {
  countMasked,
  historySection,
  messageSection,
  parseSection,
  systemSection,
  type LogSection,
  type SourcedText,
} from './context-log-sections.ts';
import { assembleLog, type ContextLog, type RequestInfo } from './context-log.ts';
import { isSessionId, isTurnName } from '../../names.ts';
import { readPlainYaml } from '../yaml/plain-yaml.ts';
import { parseUntrustedYaml, YamlFault } from '../yaml/untrusted-yaml.ts';

interface FrontMatter extends RequestInfo {
  /** The estimated number of tokens. */
  tokens: number;
  /** The number of masked secrets in all sections. */
  masked: number;
  boundary: string;
  /** The first digits of the sha256 of all section bodies; null in logs from earlier versions. */
  digest: string | null;
}

const isText = (value: unknown) => typeof value === 'string';
const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) > 0;
const isParameter = (value: unknown) => isText(value) || typeof value === 'boolean' || Number.isFinite(value);

/** Checks each field. Not a zod schema, because zod takes 25 ms to load, and teddy parses a log for every plan. */
const fields: Record<string, (value: unknown) => boolean> = {
  'teddy-context': (value) => value === 1,
  session: (value) => typeof value === 'string' && isSessionId(value),
  turn: (value) => typeof value === 'string' && isTurnName(value),
  agent: isText,
  mode: (value) => value === undefined || value === 'chat' || value === 'ask',
  provider: isText,
  model: isText,
  parameters: (value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(isParameter),
  tokens: Number.isFinite,
  masked: (value) => value === undefined || isCount(value),
  boundary: (value) => typeof value === 'string' && /^teddy-[0-9a-f]+(?:-\d+)?$/.test(value),
  digest: (value) => value === undefined || isText(value),
};

export interface ParsedContextLog {
  frontMatter: FrontMatter;
  /** The sections in order: `system` first, `message` last. */
  sections: LogSection[];
  /** The request's messages, unchanged. */
  messages: ContextLog['messages'];
}

/** Parses a log's front matter, without its sections: which model was asked, and for which turn. Throws DAMAGED_SESSION. */
export function parseLogFront(log: string): FrontMatter {
  return splitFront(log).frontMatter;
}

function splitFront(log: string): { frontMatter: FrontMatter; content: string } {
  const end = log.startsWith('---\n') ? log.indexOf('\n---\n', 3) : -1;
  if (end === -1) throw damaged('it has no front matter');
  return { frontMatter: parseFrontMatter(log.slice(4, end + 1)), content: log.slice(end + 5) };
}

/** Parses a whole log. Throws DAMAGED_SESSION when the text is not a log. */
export function parseContextLog(log: string): ParsedContextLog {
  const { frontMatter, content } = splitFront(log);
  const sections = splitSections(content, `<!-- ${frontMatter.boundary} `);
  const [system, next] = sections;
  if (system?.name !== 'system' || next === undefined) throw damaged('it does not begin with a system section');
  if (sections.at(-1)?.name !== 'message') throw damaged('it does not end with a message section');
  if (countMasked(sections) !== frontMatter.masked)
    throw damaged('its sections contain a different number of masked secrets');
  const systemStart = content.indexOf('\n') + 1;
  return {
    frontMatter,
    sections,
    messages: [
      { role: 'system', content: system.body },
      { role: 'user', content: content.slice(systemStart + system.body.length) },
    ],
  };
}

/**
 * A new request. `earlier` renders everything said in the same turn before the request's message; null if there was
 * nothing.
 */
interface NewRequest {
  info: Partial<RequestInfo>;
  system: SourcedText;
  message: string;
  earlier?: { text: string; masked: number } | null;
}

/**
 * Makes another request with the same context: copies memos, history, tree and files byte for byte, and takes the rest
 * from `request`. Throws DAMAGED_SESSION as `parseContextLog` does.
 */
export function replaceRequest(log: string, request: NewRequest, hash: Hash): ContextLog {
  const { frontMatter, sections } = parseContextLog(log);
  const {
    mode: _mode,
    tokens: _tokens,
    masked: _masked,
    boundary: _boundary,
    digest: _digest,
    ...before
  } = frontMatter;
  const info: RequestInfo = { ...before, ...request.info };
  return assembleLog(
    info,
    [
      systemSection(request.system),
      ...addToHistory(sections.slice(1, -1), request.earlier ?? null),
      messageSection(request.message),
    ],
    hash,
  );
}

/** Appends a text to the history's turns. Without a history, inserts the text in the same place, after the memos. */
function addToHistory(sections: LogSection[], earlier: (NewRequest['earlier'] & object) | null): LogSection[] {
  if (earlier === null) return sections;
  const known = sections.find(({ name }) => name === 'history');
  const { masked, clipped } = known?.provenance.kind === 'shown' ? known.provenance : { masked: 0 };
  const before = known === undefined ? '' : `${known.body}\n`;
  const history = historySection({ text: `${before}${earlier.text}`, masked: masked + earlier.masked, clipped });
  const rest = sections.filter(({ name }) => name !== 'history');
  const memos = rest.filter(({ name }) => name === 'memos');
  return [...memos, history, ...rest.filter(({ name }) => name !== 'memos')];
}

function splitSections(content: string, opening: string): LogSection[] {
  // No body contains the boundary, so a marker line always follows this opening.
  const [before, ...parts] = content.split(opening);
  if (before !== '') throw damaged('there is text before its first section');
  return parts.map((part) => {
    const end = part.indexOf(' -->\n');
    if (end === -1 || part.slice(0, end).includes('\n')) throw damaged('one of its marker lines is broken');
    const section = parseSection(part.slice(0, end), part.slice(end + 5));
    if (section === null) throw damaged(`it has an unknown section: ${part.slice(0, end)}`);
    return section;
  });
}

function parseFrontMatter(text: string): FrontMatter {
  const read = readYaml(text);
  const values = (typeof read === 'object' && read !== null ? read : {}) as Record<string, unknown>;
  const wrong = Object.keys(fields).find((name) => fields[name]?.(values[name]) !== true);
  if (wrong !== undefined) throw damaged(`its front matter is wrong at \`${wrong}\``);
  const {
    session,
    turn,
    agent,
    mode,
    provider,
    model,
    parameters,
    tokens,
    masked = 0,
    boundary,
    digest = null,
  } = values as unknown as Omit<FrontMatter, 'masked' | 'digest'> & { masked?: number; digest?: string };
  const asked = { session, turn, agent, provider, model, parameters, ...(mode === undefined ? {} : { mode }) };
  return { ...asked, tokens, masked, boundary, digest };
}

function readYaml(text: string): unknown {
  const plain = readPlainYaml(text);
  if (plain !== null) return plain.value;
  try {
    return parseUntrustedYaml(text).document.toJS();
  } catch (error) {
    if (error instanceof YamlFault) throw damaged(`its front matter cannot be read: ${error.message}`);
    throw error;
  }
}

function damaged(reason: string): TeddyError {
  return new TeddyError(
    'DAMAGED_SESSION',
    `_context.log is damaged: ${reason}.`,
    'Compare it with `git log -p -- <file>` and restore it with `git restore <file>`.',
  );
}
