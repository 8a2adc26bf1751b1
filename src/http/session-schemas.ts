/** Requests and answers for the calls about sessions, with records as clients send them. */
import { unitKinds } from '../conversation/logs/importer.ts';
import { z } from '@hono/zod-openapi';
import { historyFormats } from '../conversation/history/history.ts';
import { resultReasons } from '../conversation/records/record.ts';
import { commit, describedSession, line, session } from '../view/schemas.ts';

const sources = ['text', 'voice_transcription', 'voice_response'] as const;
const maxRecords = 1000;

const base = {
  id: z
    .string()
    .regex(/^[\x21-\x7e]{1,200}$/, { error: 'must be 1 to 200 visible ASCII characters' })
    .optional()
    .openapi({
      description:
        'Unique in the session, e.g. a UUID. Use the same id when you send a record again. Without an id, the same words at the same time get the same id.',
    }),
  timestamp: z.iso
    .datetime({ offset: true, error: 'must be a time in ISO 8601, with a time zone' })
    .optional()
    .openapi({ description: 'ISO 8601; defaults to the time of the call.' }),
};
const source = z.enum(sources).optional().openapi({ description: 'Defaults to `text`.' });
const words = z.string().refine((text) => text.trim() !== '', { error: 'must not be empty' });
/** The content blocks of Anthropic's API; calls and results among them become separate records. */
const blocks = z.array(z.looseObject({ type: z.string() })).min(1);
const callId = z.string().min(1).max(200);

function said<Role extends 'user' | 'assistant'>(role: Role) {
  return z.strictObject({
    role: z.literal(role),
    content: z.union([words, blocks], { error: 'must be a text or a list of blocks, and not empty' }),
  });
}

const userRecord = z.strictObject({ type: z.literal('user'), ...base, message: said('user'), source });
const assistantRecord = z.strictObject({ type: z.literal('assistant'), ...base, message: said('assistant'), source });
const partialRecord = z
  .strictObject({ type: z.literal('assistant_partial'), ...base, message: said('assistant'), source })
  .openapi({ description: 'The part of an interrupted answer that arrived.' });
const interruptedRecord = z
  .looseObject({ type: z.literal('voice_interrupted'), ...base })
  .openapi({ description: 'The user interrupted an answer by speaking. Other fields are kept.' });
const metaRecord = z
  .looseObject({ type: z.literal('orchestrator_meta'), ...base })
  .openapi({ description: 'Data that a front end stores about itself. Other fields are kept.' });
const noteRecord = z.strictObject({ type: z.literal('note'), ...base, text: words });
const toolUseRecord = z.strictObject({
  type: z.literal('tool_use'),
  ...base,
  tool_call_id: callId,
  tool_name: words,
  tool_input: z.unknown().optional().openapi({ description: 'The arguments, as an object.' }),
});
const toolResultRecord = z.strictObject({
  type: z.literal('tool_result'),
  ...base,
  tool_call_id: callId,
  output: z.unknown().optional().openapi({ description: 'Text, content blocks, an object, or nothing.' }),
  is_error: z.boolean().optional(),
  reason: z.enum(resultReasons).optional(),
});

/** One transcript record, as a client sends it. */
export const sentRecord = z
  .discriminatedUnion('type', [
    userRecord,
    assistantRecord,
    partialRecord,
    interruptedRecord,
    metaRecord,
    noteRecord,
    toolUseRecord,
    toolResultRecord,
  ])
  .openapi('TranscriptRecord');

export const sentRecords = z.array(sentRecord).min(1).max(maxRecords).openapi('TranscriptUnit', {
  description: 'Calls with all of their results, and any text by the assistant before them.',
});

export const entryRequest = z.union([sentRecord, sentRecords]).openapi('EntryRequest');

export const entryAnswer = z
  .object({
    session,
    line,
    turn: z.string().openapi({ example: '02' }),
    commit,
    entry: z.enum(unitKinds).exclude(['plan']),
    isNew: z.boolean().openapi({ description: 'False when it was already stored with the same content.' }),
  })
  .openapi('EntryAnswer');

const listedSession = describedSession
  .extend({ current: z.boolean().openapi({ description: 'Whether HEAD is on its branch.' }) })
  .openapi('ListedSession');

export const sessionsAnswer = z.object({ sessions: z.array(listedSession) }).openapi('SessionsAnswer');

const repair = z
  .object({ kind: z.string(), turn: z.string().optional(), line: z.int().optional(), text: z.string() })
  .openapi('Repair', { description: 'What had to be repaired to make the history valid.' });

export const historyAnswer = z
  .object({
    session,
    commit,
    format: z.enum(historyFormats),
    messages: z.union([z.array(z.unknown()), z.string()]).openapi({ description: 'Text for jsonl and markdown.' }),
    repairs: z.array(repair),
  })
  .openapi('HistoryAnswer');

const oid = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, { error: 'must be a full commit id' });

export const historyQuery = z.strictObject({
  format: z.enum(historyFormats).optional().openapi({ description: 'Defaults to `openai`.' }),
  from: z.string().optional().openapi({ description: 'The turn that the history begins with.', example: '03' }),
  commit: oid
    .optional()
    .openapi({ description: 'The history as of this commit in the session; by default, the newest.' }),
});

const position = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})(?::\d{1,9})?$/, {
  error: 'must be a commit or an event id',
});

export const eventsQuery = z.strictObject({
  since: position.optional().openapi({ description: 'Start after this commit, or after the event with this id.' }),
});

export const eventsHeaders = z.object({
  'Last-Event-ID': position.optional().openapi({ description: 'Like `since`, but takes precedence.' }),
});

export const eventData = z
  .object({
    session,
    line,
    turn: z.string().nullable(),
    commit,
    entry: z.string().openapi({ description: 'The kind of commit: message, exchange, plan, reply, report, ...' }),
    record: z.looseObject({ type: z.string() }).optional().openapi({ description: 'With the event `record`.' }),
    title: z.string().optional().openapi({ description: 'With the event `entry`.' }),
  })
  .openapi('EventData');
