/** The part of a report that describes one action: its parameters and its outcome. */
import type { RepoPath } from '../../names.ts';
import { boolean, either, integer, list, number, object, optional, record, text } from './fields.ts';
import type { ValueOf } from './fields.ts';

const position = integer(1);
const count = integer(0);
const paths = list(text<RepoPath>());

/** `result`: the first lines of what the command printed; `stderr`: its last lines, only if it failed. */
const search = object({
  query: text(),
  return_code: integer(),
  result: text(),
  stderr: optional(text()),
  timed_out: optional(boolean),
  truncated: optional(boolean),
});
export type ReportedSearch = ValueOf<typeof search>;

/** An action only has the fields that apply to it. */
export const actionDetails = object({
  /** Why it was skipped, failed or aborted. */
  reason: optional(text()),
  /** The user's words when rejecting it. */
  comment: optional(text()),
  /** EDIT: how and at which line (from 1) the first place was found; `matches` is set when there were several. */
  match: optional(text()),
  line: optional(position),
  matches: optional(list(object({ pair: position, match: text(), line: position }))),
  /** EXECUTE only. */
  return_code: optional(integer()),
  failed_command: optional(text()),
  failed_line: optional(position),
  stdout: optional(text()),
  stderr: optional(text()),
  timed_out: optional(boolean),
  truncated: optional(boolean),
  /** Advice, when the output shows what went wrong. */
  note: optional(text()),
  /** RESEARCH: the queries that were run, in order. */
  searches: optional(list(search)),
  /** EXECUTE and RESEARCH: the path of the whole output, relative to the turn. */
  output_file: optional(text()),
  /** Files of `.teddy/` that the command changed and that were restored. */
  restored: optional(paths),
  /** READ of a URL: the requested URL, and the one that redirects led to if it differs. */
  url: optional(text()),
  final_url: optional(text()),
  content_type: optional(text()),
  /** The size of the stored page; `masked` is the number of secrets masked in it. */
  bytes: optional(count),
  masked: optional(count),
  /** The path of the page, relative to the turn. */
  page_file: optional(text()),
  /** CHAT_WITH_USER and PROMPT. */
  answer: optional(text()),
});
export type ActionDetails = ValueOf<typeof actionDetails>;

/** The value of a parameter. */
export const param = either(text(), number(), boolean, record(text()));
export type ReportedParam = ValueOf<typeof param>;

/** The fields that are added to an action's log once it was performed. */
export interface Performed {
  /** SKIPPED: a question that nobody has answered. */
  status: 'SUCCESS' | 'FAILURE' | 'SKIPPED' | 'ABORTED';
  details?: ActionDetails;
}
