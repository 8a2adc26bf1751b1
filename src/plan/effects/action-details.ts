/** The part of a report about one action: its parameters and its outcome. */
import type { RepoPath } from '../../names.ts';
import { boolean, either, integer, list, number, object, optional, record, text } from './fields.ts';
import type { ValueOf } from './fields.ts';

const position = integer(1);
const count = integer(0);
const paths = list(text<RepoPath>());

/** `result`: the first lines of the command's output; `stderr`: its last lines, only if the command failed. */
const search = object({
  query: text(),
  return_code: integer(),
  result: text(),
  stderr: optional(text()),
  timed_out: optional(boolean),
  truncated: optional(boolean),
});
export type ReportedSearch = ValueOf<typeof search>;

/** An action has only the fields that apply to it. */
export const actionDetails = object({
  /** Why the action was skipped, failed or aborted. */
  reason: optional(text()),
  /** The user's words when rejecting the action. */
  comment: optional(text()),
  /** EDIT: how the first place was found, and its line (from 1); `matches` is set when there were several places. */
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
  /** Advice, when the output reveals the cause. */
  note: optional(text()),
  /** RESEARCH: the executed queries, in order. */
  searches: optional(list(search)),
  /** EXECUTE and RESEARCH: the path of the full output, relative to the turn. */
  output_file: optional(text()),
  /** Files of `.teddy/` that the command changed and teddy restored. */
  restored: optional(paths),
  /** READ of a URL: the requested URL, and the final URL after redirects if it differs. */
  url: optional(text()),
  final_url: optional(text()),
  content_type: optional(text()),
  /** The stored page's size; `masked` is the number of masked secrets in the page. */
  bytes: optional(count),
  masked: optional(count),
  /** The page's path, relative to the turn. */
  page_file: optional(text()),
  /** CHAT_WITH_USER and PROMPT. */
  answer: optional(text()),
});
export type ActionDetails = ValueOf<typeof actionDetails>;

/** A parameter's value. */
export const param = either(text(), number(), boolean, record(text()));
export type ReportedParam = ValueOf<typeof param>;

/** The fields that teddy adds to an action's log after performing the action. */
export interface Performed {
  /** SKIPPED: an unanswered question. */
  status: 'SUCCESS' | 'FAILURE' | 'SKIPPED' | 'ABORTED';
  details?: ActionDetails;
}
