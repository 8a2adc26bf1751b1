/** `_context.log`: the request to the model, byte for byte, readable as Markdown. `context-log-parse.ts` reads it. */
import { Document, isCollection } from 'yaml';
import type { Hash, ModelMessage } from '../ports.ts';
import type { FileSource, ShownFile } from './context-files.ts';
import { fenceLanguage, renderFenced } from './fenced-text.ts';
import type { SessionId, TurnName } from './names.ts';
import { renderPathWord } from './quoted-path.ts';

/** Who is asked, and how. */
export interface RequestInfo {
  session: SessionId;
  turn: TurnName;
  agent: string;
  provider: string;
  model: string;
  parameters: Record<string, number | string | boolean>;
}

/** `builtin`: a prompt that comes with teddy, by the sha256 of its text. */
type Source = FileSource | { kind: 'builtin'; sha: string };

export interface SourcedText {
  text: string;
  source: Source;
}

export interface ContextLogInput {
  info: RequestInfo;
  /** The agent's whole prompt. */
  system: SourcedText;
  /** `memos.yaml` as it is; null leaves the section out, as it does for the next two. */
  memos: SourcedText | null;
  history: string | null;
  tree: string | null;
  files: readonly ShownFile[];
  message: string;
}

/** A section as it stands in the log. */
export interface LogSection {
  /** What its marker line says after the boundary: `file src/app.ts blob <oid>`. */
  label: string;
  /** The bytes between its marker line and the next. */
  body: string;
}

export interface ContextLog {
  /** The file: front matter, then the messages. */
  log: string;
  /** What is sent, and nothing else. */
  messages: [ModelMessage & { role: 'system' }, ModelMessage & { role: 'user' }];
}

/** The same input gives the same bytes. `hash` is sha256 in hex. */
export function renderContextLog(input: ContextLogInput, hash: Hash): ContextLog {
  const { info, system, memos, history, tree, files, message } = input;
  return assembleLog(
    info,
    [
      systemSection(system),
      ...(memos === null
        ? []
        : [{ label: `memos ${renderSource(memos.source)}`, body: renderFenced(memos.text, 'yaml') }]),
      ...(history === null ? [] : [{ label: 'history', body: endLine(history) }]),
      ...(tree === null ? [] : [{ label: 'tree', body: renderFenced(tree) }]),
      ...files.map(fileSection),
      messageSection(message),
    ],
    hash,
  );
}

export function systemSection({ text, source }: SourcedText): LogSection {
  return { label: `system ${renderSource(source)}`, body: endLine(text) };
}

/** The last section: its body is the user's message, unchanged. */
export function messageSection(message: string): LogSection {
  return { label: 'message', body: message };
}

/** Puts sections, `system` first and `message` last, under one boundary and a front matter. */
export function assembleLog(info: RequestInfo, sections: readonly LogSection[], hash: Hash): ContextLog {
  const bodies = sections.map(({ body }) => body);
  const boundary = findBoundary(bodies, hash);
  const [system, ...rest] = sections.map(({ label, body }) => ({ marker: `<!-- ${boundary} ${label} -->\n`, body }));
  const systemContent = system?.body ?? '';
  const userContent = rest.map(({ marker, body }) => marker + body).join('');
  const tokens = estimateTokens(systemContent + userContent);
  return {
    log: `${renderFrontMatter(info, tokens, boundary)}${system?.marker ?? ''}${systemContent}${userContent}`,
    messages: [
      { role: 'system', content: systemContent },
      { role: 'user', content: userContent },
    ],
  };
}

/** A rough count that needs no model's tokenizer: a token for every four bytes, rounded up. */
function estimateTokens(text: string): number {
  return Math.ceil(new TextEncoder().encode(text).length / 4);
}

/** 8 digits of the sha256 of all bodies, and a counter if a body happens to contain them. */
function findBoundary(bodies: readonly string[], hash: Hash): string {
  const first = `teddy-${hash(bodies.join('')).slice(0, 8)}`;
  let boundary = first;
  for (let n = 2; bodies.some((body) => body.includes(boundary)); n += 1) boundary = `${first}-${n}`;
  return boundary;
}

function renderFrontMatter(info: RequestInfo, tokens: number, boundary: string): string {
  const { session, turn, agent, provider, model, parameters } = info;
  const fields = { 'teddy-context': 1, session, turn, agent, provider, model, parameters, tokens, boundary };
  const document = new Document(fields);
  const parametersNode = document.get('parameters');
  if (isCollection(parametersNode)) parametersNode.flow = true;
  const tokensNode = document.createNode(tokens);
  tokensNode.comment = ' estimate';
  document.set('tokens', tokensNode);
  return `---\n${document.toString({ lineWidth: 0 })}---\n`;
}

function fileSection(file: ShownFile): LogSection {
  const label = `file ${renderPathWord(file.path)}`;
  if (file.kind === 'missing') return { label: `${label} missing`, body: 'Missing: the project has no such file.\n' };
  if (file.kind === 'not-shown') {
    const reason = file.reason === 'binary' ? 'it is binary' : 'it is large';
    return { label: `${label} not-shown ${file.bytes} bytes`, body: `Not shown: ${reason}.\n` };
  }
  const lossy = file.lossy ? ' not-utf8' : '';
  return {
    label: `${label} ${renderSource(file.source)}${lossy}`,
    body: renderFenced(file.text, fenceLanguage(file.path)),
  };
}

function renderSource(source: Source): string {
  if (source.kind === 'blob') return `blob ${source.oid}`;
  return source.kind === 'builtin' ? `builtin ${source.sha}` : 'stored';
}

function endLine(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
