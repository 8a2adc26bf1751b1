/** `_context.log`: the request to the model, byte for byte, readable as Markdown. `context-log-parse.ts` parses it. */
import type { ModelMessage } from '../../ports/model.ts';
import type { Hash } from '../../ports/project.ts';
import type { ShownFile } from './context-files.ts';
import {
  countMasked,
  countTokens,
  fileSection,
  historySection,
  memosSection,
  messageSection,
  renderLabel,
  systemSection,
  treeSection,
  type HistoryText,
  type LogSection,
  type SourcedText,
} from './context-log-sections.ts';
import type { SessionId, TurnName } from '../../names.ts';

/** `chat`: a conversation with tools. `ask`: a question about the pending plan. */
export type RequestMode = 'chat' | 'ask';

/** The model to ask, and how. */
export interface RequestInfo {
  session: SessionId;
  turn: TurnName;
  agent: string;
  /** Absent when the answer should be a plan. */
  mode?: RequestMode;
  provider: string;
  model: string;
  parameters: Record<string, number | string | boolean>;
}

/** All texts in the form that the model may see, with secrets already masked. */
export interface ContextLogInput {
  info: RequestInfo;
  /** The agent's whole prompt. */
  system: SourcedText;
  /** The unchanged `memos.yaml`; null omits the section. The next two fields work the same way. */
  memos: SourcedText | null;
  history: HistoryText | null;
  tree: { text: string; masked: number } | null;
  files: readonly ShownFile[];
  message: string;
}

export interface ContextLog {
  /** The log file: front matter, followed by the messages. */
  log: string;
  /** All messages of the request. */
  messages: [ModelMessage & { role: 'system' }, ModelMessage & { role: 'user' }];
  /** The request's estimated number of tokens: the sum of its sections. */
  tokens: number;
  sections: readonly LogSection[];
}

/** Renders the log. Equal input always produces equal bytes. `hash` is sha256 in hex. */
export function renderContextLog(input: ContextLogInput, hash: Hash): ContextLog {
  const { info, system, memos, history, tree, files, message } = input;
  return assembleLog(
    info,
    [
      systemSection(system),
      ...(memos === null ? [] : [memosSection(memos)]),
      ...(history === null ? [] : [historySection(history)]),
      ...(tree === null ? [] : [treeSection(tree)]),
      ...files.map(fileSection),
      messageSection(message),
    ],
    hash,
  );
}

interface AssembleOptions {
  /** Counts the tokens in sections; may cache the counts. */
  count?: (sections: readonly LogSection[]) => number;
  /** False for logs from earlier versions, which derived each boundary from the bodies, so that requests began differently. */
  hasDigest?: boolean;
}

/**
 * Joins sections, `system` first and `message` last, with one boundary and a front matter. Replaces unpaired
 * surrogates, which no file can contain, with U+FFFD, so that the log contains exactly the text that teddy sends.
 */
export function assembleLog(
  info: RequestInfo,
  given: readonly LogSection[],
  hash: Hash,
  { count = countAll, hasDigest = true }: AssembleOptions = {},
): ContextLog {
  const sections = given.map(toWellFormed);
  const bodies = sections.map(({ body }) => body);
  const digest = hash(bodies.join('')).slice(0, 8);
  const boundary = findBoundary(bodies, hasDigest ? hash(info.session).slice(0, 8) : digest);
  const markers = sections.map((section) => `<!-- ${boundary} ${renderLabel(section)} -->\n`);
  const systemContent = bodies[0] ?? '';
  const userContent = bodies.map((body, at) => (at === 0 ? '' : `${markers[at]}${body}`)).join('');
  const tokens = count(sections);
  const masked = countMasked(sections);
  const head = renderFrontMatter(info, { tokens, masked, boundary, digest: hasDigest ? digest : null });
  return {
    log: `${head}${markers[0] ?? ''}${systemContent}${userContent}`,
    messages: [
      { role: 'system', content: systemContent },
      { role: 'user', content: userContent },
    ],
    tokens,
    sections,
  };
}

function countAll(sections: readonly LogSection[]): number {
  return sections.reduce((sum, section) => sum + countTokens(section), 0);
}

function toWellFormed(section: LogSection): LogSection {
  const { body } = section;
  // Few texts contain surrogates at all, and searching for unpaired ones takes far longer.
  return /[\uD800-\uDFFF]/.test(body) ? { ...section, body: body.replace(/\p{Surrogate}/gu, '\uFFFD') } : section;
}

/**
 * Makes the boundary. All requests in a session use the same boundary, so that they begin alike and a provider finds
 * them in its cache. If a body happens to contain the boundary, a counter is appended.
 */
function findBoundary(bodies: readonly string[], digits: string): string {
  const first = `teddy-${digits}`;
  let boundary = first;
  for (let n = 2; bodies.some((body) => body.includes(boundary)); n += 1) boundary = `${first}-${n}`;
  return boundary;
}

function renderFrontMatter(
  info: RequestInfo,
  { tokens, masked, boundary, digest }: { tokens: number; masked: number; boundary: string; digest: string | null },
): string {
  const { session, turn, agent, mode, provider, model, parameters } = info;
  const given = Object.entries(parameters).map(([name, value]) => `${renderScalar(name)}: ${renderScalar(value)}`);
  return `${[
    '---',
    'teddy-context: 1',
    `session: ${session}`,
    `turn: ${JSON.stringify(turn)}`,
    `agent: ${renderScalar(agent)}`,
    ...(mode === undefined ? [] : [`mode: ${mode}`]),
    `provider: ${renderScalar(provider)}`,
    `model: ${renderScalar(model)}`,
    `parameters: ${given.length === 0 ? '{}' : `{ ${given.join(', ')} }`}`,
    `tokens: ${tokens} # estimate`,
    ...(masked === 0 ? [] : [`masked: ${masked}`]),
    `boundary: ${boundary}`,
    ...(digest === null ? [] : [`digest: ${JSON.stringify(digest)}`]),
    '---',
  ].join('\n')}\n`;
}

/** Renders a scalar without the YAML package, which would take longer for these lines than the rest of a request. */
function renderScalar(value: string | number | boolean): string {
  const isPlain =
    typeof value !== 'string' || (/^[a-z][\w./-]*$/i.test(value) && !/^(?:true|false|null)$/i.test(value));
  // JSON is YAML, except for characters that YAML does not accept unescaped.
  return isPlain ? String(value) : JSON.stringify(value).replace(/[\u007F-\u009F\uFEFF\uFFFE\uFFFF]/g, toEscape);
}

function toEscape(found: string): string {
  return `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
