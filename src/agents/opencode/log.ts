/** Follows opencode's sessions: lines `{ info, parts }`, one for each finished message. */
import { addToHead, type AgentContext, type OpenAgentLines } from '../../conversation/logs/agent-reader.ts';
import { recordsOf, type AgentRecords } from '../../conversation/logs/agent-records.ts';
import type { SourcePosition } from '../../conversation/records/import-ids.ts';
import { countOf, toUsage, toText } from '../../conversation/logs/import-content.ts';
import { asText, fieldsOf, hasText, isObject, setOf } from '../../conversation/records/import-values.ts';
import type { AgentLogFormat } from '../agent.ts';

export const opencodeLog: AgentLogFormat = {
  isRecord: ({ session, info, parts }) =>
    isObject(session) || (hasText(fieldsOf(info)['role']) && Array.isArray(parts)),
  open: (context, state) => openLines(context, state),
  // `opencode export` prints one document.
  document: {
    isIts: (head) => /^\s*\{\s*"info":\s*\{\s*"id":\s*"ses_/.test(head),
    toLine: (part) => {
      if (part.kind === 'element') return part.text;
      return part.kind === 'member' && part.text.startsWith('"info"') ? `{"session"${part.text.slice(6)}}` : null;
    },
  },
};

type Fields = Record<string, unknown>;

const partTypes = setOf(
  'text reasoning tool step-start step-finish patch snapshot file agent subtask compaction retry',
);

/** The plugin writes each message when it is finished, so every line is immediately complete. */
const openLines: OpenAgentLines = (context) => ({
  read: ({ session, info, parts }, place) => {
    if (isObject(session)) addSession(context, session);
    if (!isObject(info) || !Array.isArray(parts)) return isObject(session);
    const { id, role, sessionID, path } = info;
    addToHead(context.head, {
      id: sessionID,
      cwd: fieldsOf(path)['cwd'],
      startedAt: fieldsOf(info['time'])['created'],
    });
    context.branches.begin({});
    if (hasText(id) && !context.ids.isNew('message', id)) context.log.leaveOut('repeated lines');
    else if (role === 'user') readMessage(context, info, parts.map(fieldsOf), place);
    else if (role === 'assistant') readAnswer(context, info, parts.map(fieldsOf), place);
    context.branches.endTurn();
    context.branches.end();
    return (
      (role === 'user' || role === 'assistant') &&
      parts.every((part) => partTypes.has(asText(fieldsOf(part)['type']) ?? ''))
    );
  },
});

function addSession(context: AgentContext, { id, directory, version, title, parentID, time }: Fields): void {
  const startedAt = fieldsOf(time)['created'];
  addToHead(context.head, { id, cwd: directory, version, title, parentId: parentID, startedAt });
  context.log.leaveOut('lines of bookkeeping');
}

function readMessage(context: AgentContext, info: Fields, parts: readonly Fields[], place: SourcePosition): void {
  const said = parts.filter(({ type, synthetic }) => synthetic !== true && (type === 'text' || type === 'file'));
  for (const part of parts) if (part['synthetic'] === true) context.log.leaveOut('notices of the program');
  const text = said.map((part) => (part['type'] === 'file' ? toFileText(context, part) : (asText(part['text']) ?? '')));
  const records = recordsOf(context, place, fieldsOf(info['time'])['created']);
  records.message(text.filter(hasText).join('\n\n'), info['id']);
}

/** Describes a file that the user attached, by its name, or by its type if it has no name. */
function toFileText(context: AgentContext, { filename, mime, url }: Fields): string {
  const data = asText(url)?.startsWith('data:') === true ? asText(url)?.replace(/^[^,]*,/, '') : undefined;
  if (asText(mime)?.startsWith('image/') === true)
    return toText([{ type: 'image', source: { media_type: mime, data } }], context.log);
  return `[${asText(filename) ?? asText(mime) ?? 'file'}]`;
}

function readAnswer(context: AgentContext, info: Fields, parts: readonly Fields[], place: SourcePosition): void {
  const { id, time, error, summary, modelID, providerID, tokens, cost } = info;
  const records = recordsOf(context, place, fieldsOf(time)['created']);
  const { name, data } = fieldsOf(error);
  const isAborted = name === 'MessageAbortedError';
  let [answer, step] = [asText(id) ?? '', 0];
  for (const part of parts) {
    const { type, text, id: partId } = part;
    if (type === 'step-start') [answer, step] = [`${asText(id) ?? ''} ${step + 1}`, step + 1];
    else if (type === 'text' && summary === true) records.summary(asText(text) ?? '', partId);
    else if (type === 'text') records.say(answer, asText(text) ?? '', partId, isAborted);
    else if (type === 'reasoning') records.think(answer, asText(text) ?? '', partId);
    else if (type === 'tool') readCall(records, answer, part);
  }
  context.units.usage(null, toOpencodeUsage(modelID, providerID, fieldsOf(tokens), cost));
  if (isAborted) records.interrupt();
  else if (isObject(error))
    records.note(`The turn ended with an error: ${asText(fieldsOf(data)['message']) ?? asText(name) ?? ''}`);
}

function readCall(records: AgentRecords, answer: string, { id, callID, tool, state }: Fields): void {
  const callId = asText(callID) ?? '';
  const { status, input, output, error } = fieldsOf(state);
  records.call(answer, { callId, name: asText(tool) ?? '', input, id });
  const isError = status === 'error';
  if (status !== 'completed' && !isError) return;
  const words = asText(error) ?? '';
  const isDenied = isError && /rejected permission|rule which prevents you/.test(words);
  const resultId = hasText(id) ? `${id}-result` : undefined;
  records.result({
    callId,
    output: isError ? words : output,
    isError,
    reason: isDenied ? 'denied' : undefined,
    id: resultId,
  });
}

/** The program counts the cache separately from the input; the total reveals whether the output includes thoughts. */
function toOpencodeUsage(model: unknown, provider: unknown, tokens: Fields, cost: unknown) {
  const { read, write } = fieldsOf(tokens['cache']);
  const [cached, reasoning] = [countOf(read), countOf(tokens['reasoning'])];
  const input = countOf(tokens['input']) + cached + countOf(write);
  const [said, total] = [countOf(tokens['output']), countOf(tokens['total'])];
  return toUsage(
    model,
    provider,
    { input, output: Math.max(said, total > 0 ? total - input : said + reasoning), cached, reasoning },
    cost,
  );
}
