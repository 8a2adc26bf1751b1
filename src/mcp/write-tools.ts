/** The tools that write a large file: begin it, send it in pieces, check it, and commit it once. */
import * as z from 'zod';
import { TeddyError } from '../errors.ts';
import { toRejectedAnswer, type WriteApi } from '../http/write-api.ts';
import { operations, type Limits } from '../session/settings/write-limits.ts';
import { parseWriteId, toWriteBytes } from '../write/write.ts';
import type { InTurn } from './plan-tools.ts';
import { defineTool, givenText, sessionName, type Tool } from './tool.ts';

const writeId = z.string().max(100).describe('The `session_id` that write_begin returned.');
const summary = z.object({
  passed: z.array(z.string()),
  failed: z.array(z.string()),
  skipped: z.array(z.object({ check: z.string(), reason: z.string() })),
});

export function writeTools(writes: WriteApi, inTurn: InTurn, limits: Limits): Tool[] {
  return [beginTool(writes, inTurn, limits), appendTool(writes, inTurn, limits), finalizeTool(writes, inTurn, limits)];
}

function beginTool(writes: WriteApi, inTurn: InTurn, limits: Limits): Tool {
  return defineTool({
    name: 'write_begin',
    title: 'Begin a large file',
    description:
      'Begins to write one large file in the project. Send its content with write_append, then write_finalize checks it, ' +
      'puts it in place and commits it once. The path is relative to the root of the work tree.',
    input: z.strictObject({
      intent: givenText(2000, 0).describe('What the file is for, in a few words.'),
      target_file: givenText(4096).describe('Relative to the root of the work tree, such as docs/guide.md.'),
      operation: z.enum(operations),
      session: sessionName.optional().describe('The session to commit to; by default, the current branch.'),
    }),
    output: z.object({
      session_id: z.string(),
      target_file: z.string().describe('The resolved path, relative to the root of the work tree.'),
      warnings: z.array(z.string()),
      max_bytes: z.int().describe('The maximum size of the content, in bytes of UTF-8.'),
    }),
    kind: 'adds',
    async call({ target_file: target, ...request }) {
      const begun = await inTurn(() => writes.begin({ ...request, target, hasController: true }));
      const { session_id, target_file, warnings } = begun;
      return { session_id, target_file, warnings, max_bytes: limits.maxBytes };
    },
    render: ({ session_id: id, target_file, warnings }) =>
      [
        `Begun for ${target_file}: ${id}. Send the content: write_append { session_id, offset: 0, data }.`,
        ...warnings,
        '',
      ].join('\n'),
  });
}

function appendTool(writes: WriteApi, inTurn: InTurn, limits: Limits): Tool {
  return defineTool({
    name: 'write_append',
    title: 'Send a piece of a large file',
    description:
      'Adds to the content of a file that write_begin began. `offset` is where the piece begins, in bytes of UTF-8: a ' +
      'piece that is sent twice is added once.',
    input: z.strictObject({ session_id: writeId, offset: z.int().min(0), data: givenText(2_000_000, 0) }),
    output: z.object({
      session_id: z.string(),
      offset: z.int().describe('Where the next piece begins.'),
      added: z.int().describe('How many bytes were new.'),
    }),
    kind: 'adds',
    call: ({ session_id, offset, data }) =>
      inTurn(() => writes.append({ id: parseWriteId(session_id), offset, bytes: toWriteBytes(data, limits) })),
    render: ({ offset, added }) => `${added} bytes were added. The next piece begins at offset ${offset}.\n`,
  });
}

function finalizeTool(writes: WriteApi, inTurn: InTurn, limits: Limits): Tool {
  return defineTool({
    name: 'write_finalize',
    title: 'Check and commit a large file',
    description:
      'Checks the content of a file that was sent, puts the file in place and commits it once. If a check fails, nothing ' +
      'is written, and the answer says what to correct: send the whole content again as `content`.',
    input: z.strictObject({
      session_id: writeId,
      content: givenText(4_000_000, 0).optional().describe('The whole content, in place of what was sent before.'),
    }),
    output: z.object({
      session_id: z.string(),
      success: z.boolean(),
      message: z.string(),
      errors: z.array(z.string()),
      validation_summary: summary,
      written_path: z.string().nullable(),
      commit: z.string().nullable(),
      notes: z.array(z.string()),
    }),
    kind: 'replaces',
    async call({ session_id, content }) {
      const id = parseWriteId(session_id);
      const bytes = content === undefined ? undefined : toWriteBytes(content, limits);
      const answer = await inTurn(() => writes.finalize({ id, content: bytes })).catch((error: unknown) => {
        // teddy refuses empty content before any check runs.
        if (!(error instanceof TeddyError) || error.code !== 'VALIDATION_FAILED') throw error;
        const { message } = error;
        const none = { passed: [], failed: ['content'], skipped: [] };
        return toRejectedAnswer(id, {
          findings: [{ check: 'content', message }],
          summary: none,
          message,
          reason: null,
        });
      });
      const { success, errors, validation_summary } = answer;
      const common = { session_id: id, success, errors, validation_summary };
      if (!answer.success) return { ...common, message: answer.message, written_path: null, commit: null, notes: [] };
      const { written_path, commit, notes } = answer;
      return { ...common, message: `Written: ${written_path}`, written_path, commit, notes };
    },
    render: ({ message, commit, notes }) =>
      [message, ...(commit === null ? [] : [`Commit ${commit}.`]), ...notes, ''].join('\n'),
  });
}
