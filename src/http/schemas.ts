/** Requests and answers for the calls about write sessions. These schemas check the requests and generate `/openapi.json`. */
import { z } from '@hono/zod-openapi';
import { phases, type Finding, statuses } from '../write/write.ts';
import { operations } from '../session/settings/write-limits.ts';

/** JSON can contain half of a surrogate pair, which is not a character and has no UTF-8 encoding. */
const text = z.string().refine((value) => !/\p{Surrogate}/u.test(value), {
  error: 'contains half of a surrogate pair; split content between characters',
});
const uuid = z.string().openapi({ description: 'A UUID v4.', example: '0b9d2f6e-3c1a-4f7e-9a55-6d2f8c1e7b40' });

export const beginRequest = z
  .strictObject({
    intent: text.openapi({ description: 'What the file is for, in a few words.' }),
    target_file: text
      .min(1)
      .openapi({ description: 'Relative to the root of the work tree.', example: 'docs/guide.md' }),
    operation: z.enum(operations),
    session: text
      .min(1)
      .optional()
      .openapi({ description: 'The session to commit to; by default the current branch.' }),
    own_end_marker: z
      .boolean()
      .optional()
      .openapi({ description: 'End the content with DONE-<8 hex> instead of DONE.' }),
  })
  .openapi('BeginRequest');

export const appendRequest = z
  .strictObject({
    session_id: uuid,
    offset: z.int().min(0).openapi({ description: 'Where `data` begins, in bytes of UTF-8.' }),
    data: text.openapi({ description: 'Taken literally: even the line DONE is content.' }),
  })
  .openapi('AppendRequest');

export const finalizeRequest = z
  .strictObject({
    session_id: uuid,
    content: text.optional().openapi({ description: 'The whole content; replaces what was appended.' }),
    force: z
      .boolean()
      .optional()
      .openapi({ description: 'Write the file even if a check fails; the commit records that.' }),
  })
  .openapi('FinalizeRequest');

const stage = z.enum([...phases, 'orphaned', 'damaged']);
const status = z.enum(statuses);
const finding = z
  .object({ check: z.string(), message: z.string(), line: z.int().optional(), column: z.int().optional() })
  .openapi('Finding', { description: 'Lines and columns count from 1.' });
const summary = z
  .object({
    passed: z.array(z.string()),
    failed: z.array(z.string()),
    skipped: z.array(z.object({ check: z.string(), reason: z.string() })),
  })
  .openapi('ValidationSummary');

export const beginAnswer = z
  .object({
    session_id: uuid,
    status,
    stage,
    target_file: z.string().openapi({ description: "The resolved path, relative to the project's root." }),
    session_dir: z.string().openapi({ description: 'Where the content is staged; absolute.' }),
    end_marker: z.string(),
    instructions: z.string(),
    warnings: z.array(z.string()),
  })
  .openapi('BeginAnswer');

export const appendAnswer = z
  .object({
    session_id: uuid,
    offset: z.int().openapi({ description: 'Where the next `data` begins.' }),
    added: z.int().openapi({ description: 'How many bytes were new.' }),
  })
  .openapi('AppendAnswer');

export const finalizeAnswer = z
  .object({
    session_id: uuid,
    success: z.literal(true),
    errors: z.array(z.string()),
    validation_summary: summary,
    written_path: z.string(),
    commit: z.string(),
    notes: z
      .array(z.string())
      .openapi({ description: 'What was changed in the content, or accepted in spite of a finding.' }),
  })
  .openapi('FinalizeAnswer');

export const statusAnswer = z
  .object({
    session_id: uuid,
    status,
    stage,
    created_at: z.string().nullable(),
    saved_at: z.string(),
    intent: z.string().nullable(),
    target_file: z.string().nullable(),
    operation: z.enum(operations).nullable(),
    end_marker: z.string().nullable(),
    size: z.int().openapi({ description: 'Bytes that are safe on disk.' }),
    unverified_bytes: z.int(),
    findings: z.array(finding),
    reason: z.string().nullable().openapi({ description: 'Why it failed.' }),
    written_path: z.string().nullable(),
    commit: z.string().nullable(),
  })
  .openapi('StatusAnswer');

export const listAnswer = z.object({ sessions: z.array(statusAnswer) }).openapi('ListAnswer');

export const cancelAnswer = z.object({ success: z.literal(true) }).openapi('CancelAnswer');

const error = { error: z.string(), code: z.string(), errors: z.array(z.string()) };

export const errorAnswer = z
  .object({ ...error, expected_offset: z.int().optional().openapi({ description: 'With OFFSET_MISMATCH.' }) })
  .openapi('ErrorAnswer');

export const rejectedAnswer = z
  .object({
    ...error,
    session_id: uuid,
    success: z.literal(false),
    findings: z.array(finding),
    validation_summary: summary,
    message: z
      .string()
      .openapi({ description: 'For the author of the content: the findings with the lines around them.' }),
    stage: z.enum(['needs_corrections', 'failed']).openapi({ description: 'failed: it can no longer be corrected.' }),
    reason: z.string().nullable(),
  })
  .openapi('RejectedAnswer');

export type BeginAnswer = z.infer<typeof beginAnswer>;
export type AppendAnswer = z.infer<typeof appendAnswer>;
export type FinalizeAnswer = z.infer<typeof finalizeAnswer>;
export type RejectedAnswer = WithFindings<z.infer<typeof rejectedAnswer>>;
export type StatusAnswer = WithFindings<z.infer<typeof statusAnswer>>;

/** Narrows `findings`, because zod also lets an optional field be undefined. */
type WithFindings<Answer> = Omit<Answer, 'findings'> & { findings: Finding[] };
