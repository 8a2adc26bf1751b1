/** Follows Qwen Code's sessions: lines in Claude Code's form, with messages in Gemini's. */
import { addToHead, type AgentContext, type OpenAgentLines } from '../../conversation/logs/agent-reader.ts';
import { recordsOf } from '../../conversation/logs/agent-records.ts';
import {
  addGeminiResult,
  geminiCalls,
  geminiResponses,
  geminiText,
  geminiThoughts,
  toQwenUsage,
} from '../google-parts.ts';
import type { SourcePosition } from '../../conversation/records/import-ids.ts';
import { asText, fieldsOf, hasText, setOf } from '../../conversation/records/import-values.ts';
import type { AgentLogFormat } from '../agent.ts';
import { isQwenLine, isTreeLine } from '../tree-lines.ts';

export const qwenLog: AgentLogFormat = {
  isRecord: (line) => isTreeLine(line) && !('content' in fieldsOf(line['message'])),
  isMark: isQwenLine,
  open: (context, state) => openLines(context, state),
};

type Fields = Record<string, unknown>;

const systemLines = setOf('attribution_snapshot ui_telemetry slash_command at_command chat_compression custom_title');

const openLines: OpenAgentLines = (context) => ({
  read: (object, place) => {
    const { uuid, parentUuid, type, subtype } = object;
    const isKnown = type === 'system' ? systemLines.has(asText(subtype) ?? '') : readers.has(asText(type) ?? '');
    const parent = parentUuid === null ? null : asText(parentUuid);
    if (!context.branches.begin({ uuid: asText(uuid), parent })) {
      context.log.leaveOut('repeated lines');
      return isKnown;
    }
    const { sessionId, cwd, version, timestamp } = object;
    addToHead(context.head, { id: sessionId, cwd, version, startedAt: timestamp });
    const read = readers.get(asText(subtype === 'chat_compression' ? subtype : type) ?? '');
    if (read !== undefined) read(context, object, place);
    else if (isKnown) context.log.leaveOut('lines of bookkeeping');
    context.branches.end();
    return isKnown;
  },
});

const readers = new Map([
  ['user', readUser],
  ['assistant', readAnswer],
  ['tool_result', readResults],
  ['chat_compression', readSummary],
]);

function readUser(context: AgentContext, object: Fields, place: SourcePosition): void {
  const { parts } = fieldsOf(object['message']);
  const { uuid, timestamp } = object;
  recordsOf(context, place, timestamp).message(geminiText(parts, context.log), uuid);
  if (geminiResponses(parts).length > 0) readResults(context, object, place);
}

function readAnswer(context: AgentContext, object: Fields, place: SourcePosition): void {
  const { parts } = fieldsOf(object['message']);
  const { uuid, timestamp, model, usageMetadata } = object;
  const records = recordsOf(context, place, timestamp);
  const answer = asText(uuid) ?? '';
  const [thoughts, text] = [geminiThoughts(parts), geminiText(parts, context.log)];
  if (hasText(thoughts)) records.think(answer, thoughts, hasText(text) ? undefined : uuid);
  if (hasText(text)) records.say(answer, text, uuid);
  for (const { id, name, args } of geminiCalls(parts))
    records.call(answer, {
      callId: asText(id) ?? '',
      name: asText(name) ?? '',
      input: args,
      id: hasText(text) ? undefined : uuid,
      plan: name === 'exit_plan_mode' ? asText(fieldsOf(args)['plan']) : undefined,
    });
  context.units.usage(answer, toQwenUsage(model, fieldsOf(usageMetadata)));
}

function readResults(context: AgentContext, object: Fields, place: SourcePosition): void {
  const { uuid, timestamp, toolCallResult } = object;
  const { status, errorType } = fieldsOf(toolCallResult);
  const records = recordsOf(context, place, timestamp);
  for (const response of geminiResponses(fieldsOf(object['message'])['parts']))
    addGeminiResult(records, response, { status, errorType, id: uuid });
}

/** Reads the summary that begins the new history, which replaces everything before it. */
function readSummary(context: AgentContext, { uuid, timestamp, systemPayload }: Fields, place: SourcePosition): void {
  const { compressedHistory: history } = fieldsOf(systemPayload);
  const { parts } = fieldsOf(Array.isArray(history) ? history[0] : undefined);
  recordsOf(context, place, timestamp).summary(geminiText(parts, context.log), uuid);
}
