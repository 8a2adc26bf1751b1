/** Reads reports back. Apart from `report.ts`, so that writing a report does not load zod. */
import * as z from 'zod/mini';
import { TeddyError, toMessage } from '../errors.ts';
import { isSessionId, isTurnName } from '../names.ts';
import { readPlainYaml } from '../session/plain-yaml.ts';
import { parseReportYaml } from './report-logs.ts';
import { runStatuses, type Report } from './report.ts';

const text = z.string();
const texts = z.array(text);
const position = z.int().check(z.positive());
const count = z.int().check(z.nonnegative());
const milliseconds = z.number().check(z.nonnegative());
const id = text.check(z.regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/));
const oid = z.nullable(id);
const time = text.check(z.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/));

const search = z.object({
  query: text,
  return_code: z.int(),
  result: text,
  stderr: z.exactOptional(text),
  timed_out: z.exactOptional(z.boolean()),
  truncated: z.exactOptional(z.boolean()),
});

const details = z.object({
  reason: z.exactOptional(text),
  comment: z.exactOptional(text),
  match: z.exactOptional(text),
  line: z.exactOptional(position),
  matches: z.exactOptional(z.array(z.object({ pair: position, match: text, line: position }))),
  return_code: z.exactOptional(z.int()),
  failed_command: z.exactOptional(text),
  failed_line: z.exactOptional(position),
  stdout: z.exactOptional(text),
  stderr: z.exactOptional(text),
  timed_out: z.exactOptional(z.boolean()),
  truncated: z.exactOptional(z.boolean()),
  note: z.exactOptional(text),
  searches: z.exactOptional(z.array(search)),
  output_file: z.exactOptional(text),
  restored: z.exactOptional(texts),
  url: z.exactOptional(text),
  final_url: z.exactOptional(text),
  content_type: z.exactOptional(text),
  bytes: z.exactOptional(count),
  masked: z.exactOptional(count),
  page_file: z.exactOptional(text),
  answer: z.exactOptional(text),
});

const actionLog = z.object({
  index: position,
  action_type: z.enum(['CREATE', 'EDIT', 'READ', 'EXECUTE', 'CHAT_WITH_USER', 'PROMPT', 'PRUNE', 'INVOKE', 'RESEARCH']),
  status: z.enum(['SUCCESS', 'FAILURE', 'SKIPPED', 'ABORTED']),
  params: z.record(text, z.union([text, z.number(), z.boolean(), z.record(text, text)])),
  approved_by: z.exactOptional(z.enum(['user', 'flag', 'none'])),
  modified_by_user: z.exactOptional(z.boolean()),
  duration_ms: z.exactOptional(milliseconds),
  tree: z.exactOptional(id),
  details: z.exactOptional(details),
});

const reportSchema = z.object({
  version: z.literal(1),
  session: text.check(z.refine(isSessionId)),
  turn: text.check(z.refine(isTurnName)),
  plan: z.object({
    title: text,
    sha256: text.check(z.regex(/^[0-9a-f]{64}$/)),
    grammar: z.exactOptional(position),
    agent: z.nullable(text),
    model: z.nullable(text),
  }),
  run_summary: z.object({
    status: z.enum(runStatuses),
    start_time: time,
    end_time: time,
    error: z.nullable(text),
    not_run: z.exactOptional(z.array(position)),
  }),
  memos: z.object({ added: texts, removed: texts, rejected: texts, proposed: z.exactOptional(texts) }),
  action_logs: z.array(actionLog),
  rollback: z.exactOptional(
    z.object({ restored: texts, left: z.array(z.object({ path: text, reason: text })), moved_aside: texts }),
  ),
  changes: z.array(
    z.object({
      path: text,
      change: z.enum(['added', 'modified', 'deleted']),
      before: oid,
      after: oid,
      mode: z.exactOptional(z.enum(['100755', '120000', '160000'])),
      action: position,
    }),
  ),
  validation_errors: z.array(
    z.object({
      line: position,
      column: position,
      action: z.exactOptional(position),
      message: text,
      hint: z.exactOptional(text),
    }),
  ),
});

/** The inverse of `renderReport`. Keys that a later version may have added are left out. Throws `DAMAGED_SESSION`. */
export function parseReport(yaml: string): Report {
  return checkReport(parseYaml(yaml));
}

/** The same of a report in the YAML that teddy writes, without the parser of any YAML, which is large. */
export function parsePlainReport(yaml: string): Report {
  const plain = readPlainYaml(yaml);
  if (plain === null) throw damaged('it is not in the form that teddy writes');
  return checkReport(plain.value);
}

function checkReport(value: unknown): Report {
  const checked = reportSchema.safeParse(value);
  if (!checked.success) throw damaged(checked.error.issues.map(describeIssue).join('; '));
  return checked.data as Report;
}

/** JSON Schema (draft 2020-12) of `report.md`, read as YAML. */
export function reportJsonSchema(): object {
  return z.toJSONSchema(reportSchema, { io: 'input' });
}

function parseYaml(yaml: string): unknown {
  try {
    return parseReportYaml(yaml);
  } catch (error) {
    throw damaged(toMessage(error));
  }
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const place = issue.path.length === 0 ? 'the document' : issue.path.map(String).join('.');
  switch (issue.code) {
    case 'invalid_type':
      return `${place} is not of type ${issue.expected}`;
    case 'invalid_value':
      return `${place} is not ${issue.values.map(String).join(' or ')}`;
    default:
      return `${place} is not valid`;
  }
}

function damaged(reason: string): TeddyError {
  return new TeddyError(
    'DAMAGED_SESSION',
    `The report cannot be read: ${reason}.`,
    'It was changed after teddy wrote it. Restore `report.md` from the commit of its report entry.',
  );
}
