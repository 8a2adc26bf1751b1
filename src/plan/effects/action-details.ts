/** The part of a report that tells of one action: its parameters, and what came of it. */
import type { RepoPath } from '../../names.ts';
import { boolean, either, integer, list, number, object, optional, record, text } from './fields.ts';
import type { ValueOf } from './fields.ts';

const position = integer(1);
const count = integer(0);
const paths = list(text<RepoPath>());

/** `result`: the first lines of what the command printed; `stderr`, its last lines, only where it failed. */
const search = object({
  query: text(),
  return_code: integer(),
  result: text(),
  stderr: optional(text()),
  timed_out: optional(boolean),
  truncated: optional(boolean),
});
export type ReportedSearch = ValueOf<typeof search>;

/** Each action has those that say something about it. */
export const actionDetails = object({
  /** Why it was skipped, failed or aborted. */
  reason: optional(text()),
  /** The user's words with their no. */
  comment: optional(text()),
  /** EDIT: how and at which line (from 1) the first place was found; `matches` when there was more than one. */
  match: optional(text()),
  line: optional(position),
  matches: optional(list(object({ pair: position, match: text(), line: position }))),
  /** EXECUTE. */
  return_code: optional(integer()),
  failed_command: optional(text()),
  failed_line: optional(position),
  stdout: optional(text()),
  stderr: optional(text()),
  timed_out: optional(boolean),
  truncated: optional(boolean),
  /** Advice, where the output tells the reason. */
  note: optional(text()),
  /** RESEARCH: the queries that were run, in order. */
  searches: optional(list(search)),
  /** EXECUTE and RESEARCH: where the whole output is, relative to the turn. */
  output_file: optional(text()),
  /** Files of `.teddy/` that the command changed, and that are as they were again. */
  restored: optional(paths),
  /** READ of a URL: as it was asked for, and where redirects led when that is another one. */
  url: optional(text()),
  final_url: optional(text()),
  content_type: optional(text()),
  /** The size of the stored page; `masked` is how many secrets of it are masked. */
  bytes: optional(count),
  masked: optional(count),
  /** Where the page is, relative to the turn. */
  page_file: optional(text()),
  /** CHAT_WITH_USER and PROMPT. */
  answer: optional(text()),
});
export type ActionDetails = ValueOf<typeof actionDetails>;

/** The value of a parameter. */
export const param = either(text(), number(), boolean, record(text()));
export type ReportedParam = ValueOf<typeof param>;

/** How an action's log goes on once it was done. */
export interface Performed {
  /** SKIPPED: a question that nobody has answered. */
  status: 'SUCCESS' | 'FAILURE' | 'SKIPPED' | 'ABORTED';
  details?: ActionDetails;
}
