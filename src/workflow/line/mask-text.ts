/**
 * Masks secrets in texts that teddy itself writes (commit labels, reports, problems) and in all session data that
 * leaves the machine.
 */
import type { Problem } from '../../plan/match/problem.ts';
import type { ActionDetails } from '../../plan/effects/action-details.ts';
import type { Report, ReportedRollback } from '../../plan/report/report.ts';
import type { Masker, Project } from '../../ports/project.ts';
import type { Entry } from '../../session/entries/entry.ts';
import { cutText } from '../../session/text/clip-line.ts';
import type { RepoPath } from '../../names.ts';

/** Masks a label before cutting it, because teddy cannot recognize half a secret. */
export async function maskEntry(masker: Masker, entry: Entry): Promise<Entry> {
  const { text, count } = await masker.mask([entry.title, ...entry.details].join('\n'));
  const { write } = entry;
  const intent = write && { write: { ...write, intent: await maskString(masker, write.intent) } };
  if (count === 0) return { ...entry, ...intent };
  const [title = '', ...details] = text.split('\n');
  return { ...entry, title, details, ...intent };
}

/** A problem may quote file lines that do not match the plan. */
export async function maskProblems(masker: Masker, problems: Problem[]): Promise<Problem[]> {
  return Promise.all(
    problems.map(async (problem) => ({
      ...problem,
      message: await maskString(masker, problem.message),
      ...(problem.hint === undefined ? {} : { hint: await maskString(masker, problem.hint) }),
    })),
  );
}

/** Masks everything except the output, which teddy masks before cutting it. */
export async function maskDetails(masker: Masker, details: ActionDetails): Promise<ActionDetails> {
  const { reason, comment, failed_command, answer, restored } = details;
  return {
    ...details,
    ...(reason === undefined ? {} : { reason: await maskString(masker, reason) }),
    ...(comment === undefined ? {} : { comment: await maskString(masker, comment) }),
    ...(failed_command === undefined ? {} : { failed_command: await maskString(masker, failed_command) }),
    ...(answer === undefined ? {} : { answer: await maskString(masker, answer) }),
    ...(restored === undefined ? {} : { restored: await maskPaths(masker, restored) }),
  };
}

/** Masks a report. Does not change the parts copied from the plan; teddy masks actions when it logs them. */
export async function maskReport(masker: Masker, report: Report): Promise<Report> {
  const { error } = report.run_summary;
  const { rollback } = report;
  return {
    ...report,
    ...(rollback === undefined ? {} : { rollback: await maskRollback(masker, rollback) }),
    run_summary: { ...report.run_summary, error: error === null ? null : await maskString(masker, error) },
    validation_errors: await maskProblems(masker, report.validation_errors),
  };
}

async function maskRollback(
  masker: Masker,
  { restored, left, moved_aside }: ReportedRollback,
): Promise<ReportedRollback> {
  const [paths, texts] = [left.map(({ path }) => path), left.map(({ reason }) => reason)];
  const named = await maskPaths(masker, paths);
  return {
    restored: await maskPaths(masker, restored),
    left: named.map((path, at) => ({ path, reason: texts[at] ?? '' })),
    moved_aside: await maskPaths(masker, moved_aside),
  };
}

/** Masks paths that a command may have made. The result is only for display, because a masked path does not exist. */
export async function maskPaths(masker: Masker, paths: readonly RepoPath[]): Promise<RepoPath[]> {
  // Most paths have nothing to hide, so this first checks all of them together.
  if ((await masker.mask(paths.join('\n'))).count === 0) return [...paths];
  return Promise.all(paths.map(async (path) => (await maskString(masker, path)) as RepoPath));
}

/**
 * Masks each text of a plain value. Cuts a text with more than `most` characters to that length, and searches twice as
 * much, so that the text never ends with half a secret.
 */
export async function maskTexts<Value>(masker: Masker, value: Value, most = Infinity): Promise<Value> {
  const texts: string[] = [];
  await mapTexts(value, (text) => {
    texts.push(text);
    return text;
  });
  // Most values have no secret, and one check of all their texts together shows that.
  const isShort = texts.every((text) => text.length <= most);
  if (isShort && (await masker.mask(texts.join('\n\n'))).count === 0) return value;
  return mapTexts(value, async (text) => cutText(text, most, await maskString(masker, text.slice(0, 2 * most))));
}

/** Replaces each text of a plain value, one after the other. */
export async function mapTexts<Value>(value: Value, map: (text: string) => string | Promise<string>): Promise<Value> {
  const mapAny = async (any: unknown): Promise<unknown> => {
    if (typeof any === 'string') return any === '' ? '' : map(any);
    if (typeof any !== 'object' || any === null) return any;
    if (Array.isArray(any)) {
      const items: unknown[] = [];
      for (const item of any) items.push(await mapAny(item));
      return items;
    }
    const entries: [string, unknown][] = [];
    for (const [key, item] of Object.entries(any)) entries.push([key, await mapAny(item)]);
    return Object.fromEntries(entries);
  };
  return (await mapAny(value)) as Value;
}

export async function maskString(masker: Masker, text: string): Promise<string> {
  return (await masker.mask(text)).text;
}

/** Masks secrets in the user's message, so that they go no further. */
export async function maskMessage<Options extends { message?: string | undefined }>(
  project: Project,
  options: Options,
): Promise<Options> {
  if (options.message === undefined) return options;
  const { text, count } = await project.masker.mask(options.message);
  if (count > 0) {
    project.notices.warn(
      `${count} ${count === 1 ? 'secret in your message was' : 'secrets in your message were'} masked.`,
    );
  }
  return { ...options, message: text };
}
