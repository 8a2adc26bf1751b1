/** `_context.log`: the request to the model, byte for byte, readable as Markdown. `context-log-parse.ts` reads it. */
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

/** `chat`: a conversation with tools. `ask`: a question about the plan that is pending. */
export type RequestMode = 'chat' | 'ask';

/** Who is asked, and how. */
export interface RequestInfo {
  session: SessionId;
  turn: TurnName;
  agent: string;
  /** Without it, the answer is to be a plan. */
  mode?: RequestMode;
  provider: string;
  model: string;
  parameters: Record<string, number | string | boolean>;
}

/** Every text as the model may see it: secrets are masked before. */
export interface ContextLogInput {
  info: RequestInfo;
  /** The agent's whole prompt. */
  system: SourcedText;
  /** `memos.yaml` as it is; null leaves the section out, as it does for the next two. */
  memos: SourcedText | null;
  history: HistoryText | null;
  tree: { text: string; masked: number } | null;
  files: readonly ShownFile[];
  message: string;
}

export interface ContextLog {
  /** The file: front matter, then the messages. */
  log: string;
  /** The whole of what is sent. */
  messages: [ModelMessage & { role: 'system' }, ModelMessage & { role: 'user' }];
  /** An estimate of what is sent: the sum of its sections'. */
  tokens: number;
  sections: readonly LogSection[];
}

/** The same input gives the same bytes. `hash` is sha256 in hex. */
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
  /** How many tokens sections have; what is given may remember what it has counted. */
  count?: (sections: readonly LogSection[]) => number;
  /** Logs without a digest, of earlier versions, took their boundary from the bodies: every request began anew. */
  hasDigest?: boolean;
}

/**
 * Puts sections, `system` first and `message` last, under one boundary and a front matter. Half a surrogate pair, which
 * no file can hold, becomes U+FFFD: what is sent is what is written.
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
  // Few texts have any pair at all, and to look for half of one takes far longer.
  return /[\uD800-\uDFFF]/.test(body) ? { ...section, body: body.replace(/\p{Surrogate}/gu, '\uFFFD') } : section;
}

/**
 * The same in every request of a session, so that the beginning of a request is the same too, and a provider finds it in
 * its cache. A counter follows if a body happens to contain it.
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

/** Written here, since the YAML package takes longer for these lines than the rest of a request does. */
function renderScalar(value: string | number | boolean): string {
  const isPlain =
    typeof value !== 'string' || (/^[a-z][\w./-]*$/i.test(value) && !/^(?:true|false|null)$/i.test(value));
  // JSON is YAML, but for the characters that YAML does not take as they are.
  return isPlain ? String(value) : JSON.stringify(value).replace(/[\u007F-\u009F\uFEFF\uFFFE\uFFFF]/g, toEscape);
}

function toEscape(found: string): string {
  return `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
