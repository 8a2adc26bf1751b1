/** One approved action: what it changes, and what came of it. */
import { TeddyError } from '../../errors.ts';
import type { Action, ExecuteAction, ReadAction, ResearchAction } from '../../plan/plan.ts';
import type { ActionDetails, ReportedSearch } from '../../plan/report.ts';
import type { Effect, FetchEffect } from '../../plan/effect.ts';
import { toEffect } from '../../plan/validate-action.ts';
import type { CommandResult, ProjectFiles } from '../../ports/disk.ts';
import type { RepoPath } from '../../names.ts';
import { noteResult } from '../../plan/note-result.ts';
import { equalBytes } from '../line/guard-session-files.ts';
import { keepFile } from './keep-before.ts';
import { noteWrite } from './left-files.ts';
import { shownLines, renderOutput, takeLast, takeFirst } from '../../plan/cut-output.ts';
import { runScripts, toReason } from './scripts.ts';
import type { Performed, Run, Runner } from './run.ts';
import { noSearchCommand, searchCommandHint } from '../../plan/validate-research.ts';
import { countBytes } from '../../session/count-bytes.ts';

type WriteEffect = Extract<Effect, { kind: 'write' }>;

/** Does what was approved. A failure is an outcome; only a defect is thrown. SKIPPED: a question that nobody has answered. */
export async function performAction(runner: Runner, action: Action, effect: Effect): Promise<Performed> {
  try {
    if (effect.kind === 'write') return await performWrite(runner, action, effect);
    if (effect.kind === 'command' && action.type === 'EXECUTE') return await performCommand(runner, action);
    if (effect.kind === 'search' && action.type === 'RESEARCH') return await searchWeb(runner, action);
    // A question without an answer has not begun: it is asked again.
    const answer = effect.kind === 'ask' ? await runner.approver.answer(effect.text) : null;
    await runner.log.begin(action, { kind: 'none' });
    if (effect.kind === 'fetch' && action.type === 'READ') return await fetchPage(runner, action, effect);
    return { status: 'SUCCESS', ...(answer === null ? {} : { details: { answer } }) };
  } catch (error) {
    // A full disk or a missing permission is an outcome of this action; the report has to say it.
    if (!(error instanceof TeddyError)) throw error;
    if (error.code === 'INTERRUPTED' && effect.kind === 'ask') return { status: 'SKIPPED' };
    if (error.code === 'INTERRUPTED') return { status: 'ABORTED', details: { reason: 'interrupted' } };
    return { status: 'FAILURE', details: { reason: `${error.message} [${error.code}]` } };
  }
}

async function performWrite(runner: Runner, action: Action, effect: WriteEffect): Promise<Performed> {
  const { files, run, log, place } = runner;
  const path = await findFile(files, effect.path);
  const sha256 = place.project.hash(effect.after);
  await log.begin(action, await keepFile(files, log.journal, path, sha256));
  if (!(await isAsShown(files, action, effect))) {
    const reason = `${effect.path} was changed while the approval was asked for; nothing was written`;
    return { status: 'FAILURE', details: { reason } };
  }
  // Noted before: an install that fails in its last step has changed the file all the same.
  run.changed.set(path, effect.action);
  run.left.set(path, `sha256:${sha256}`);
  run.files.set(effect.action, null);
  await files.install(effect.path, effect.after);
  run.files.set(effect.action, [await noteWrite(place.project.repository.store, path, effect)]);
  const [first] = effect.matches;
  if (!first) return { status: 'SUCCESS' };
  const matches =
    effect.matches.length > 1
      ? { matches: effect.matches.map(({ pair, kind, line }) => ({ pair, match: kind, line })) }
      : {};
  return { status: 'SUCCESS', details: { match: first.kind, line: first.line, ...matches } };
}

/** Where it lies: git knows nothing beyond a link. */
async function findFile(files: ProjectFiles, path: RepoPath): Promise<RepoPath> {
  const target = await files.inspect(path);
  return target.kind === 'file' || target.kind === 'absent' ? (target.real ?? path) : path;
}

/** Somebody may have edited the file in the meantime: what they see on the screen is what is written, or nothing. */
async function isAsShown(files: ProjectFiles, action: Action, shown: WriteEffect): Promise<boolean> {
  const outcome = await toEffect(action, { inspect: files.inspect });
  return 'effect' in outcome && outcome.effect.kind === 'write' && equalBytes(outcome.effect.before, shown.before);
}

async function performCommand(runner: Runner, action: ExecuteAction): Promise<Performed> {
  const { run, settings } = runner;
  const { cwd, env, script } = action;
  const timeoutMs = action.timeoutMs ?? settings.timeoutMs;
  const { value, restored, failure } = await runScripts(runner, action, (start) =>
    start(script, { cwd, env, timeoutMs }),
  );
  const details = toCommandDetails(action, value, run);
  if (failure !== null) return { status: 'FAILURE', details: { ...details, reason: toReason(failure) } };
  const status = value.aborted ? 'ABORTED' : value.exitCode === 0 ? 'SUCCESS' : 'FAILURE';
  return { status, details: { ...details, ...(restored.length === 0 ? {} : { restored }) } };
}

function toCommandDetails(action: ExecuteAction, result: CommandResult, run: Run): ActionDetails {
  const lines = action.tail ?? shownLines;
  const stdout = takeLast(result.stdout, lines);
  const stderr = takeLast(result.stderr, lines);
  const isCut = stdout !== result.stdout || stderr !== result.stderr;
  if (isCut) run.outputs.push({ action: action.index, text: renderOutput(result) });
  const note = noteResult(result);
  return {
    return_code: result.exitCode,
    ...(result.failedCommand === null ? {} : { failed_command: result.failedCommand }),
    ...(result.failedLine === null ? {} : { failed_line: result.failedLine }),
    stdout,
    stderr,
    timed_out: result.timedOut,
    ...(result.truncated ? { truncated: true } : {}),
    ...(note === null ? {} : { note }),
    ...(isCut ? { output_file: `output/${action.index}.log` } : {}),
    ...(result.aborted ? { reason: 'interrupted' } : {}),
  };
}

/** READ of a URL: the page is masked before anything of it is kept, and stored with the turn. */
async function fetchPage(
  { pages, masker, settings, run }: Runner,
  { index, resource }: ReadAction,
  { url }: FetchEffect,
): Promise<Performed> {
  const page = await pages.fetch(url, settings.signal);
  // A redirect may carry a token in its query.
  const [text, finalUrl] = await Promise.all([masker.mask(page.text), masker.mask(page.url)]);
  run.pages.push({ action: index, text: text.text });
  return {
    status: 'SUCCESS',
    details: {
      url: resource.kind === 'url' ? resource.url : url,
      ...(page.url === url ? {} : { final_url: finalUrl.text }),
      content_type: page.contentType,
      bytes: countBytes(text.text),
      ...(text.count > 0 ? { masked: text.count } : {}),
      page_file: `pages/${index}.txt`,
    },
  };
}

/** RESEARCH: the user's own search command, once a query. */
interface Search {
  query: string;
  result: CommandResult;
}

/** The first query whose command fails is the last that is run. */
async function searchWeb(runner: Runner, action: ResearchAction): Promise<Performed> {
  const command = await runner.place.project.settings.get('searchCommand');
  if (command === undefined) {
    return { status: 'FAILURE', details: { reason: noSearchCommand, note: `Configure one: ${searchCommandHint}.` } };
  }
  const { timeoutMs } = runner.settings;
  const { value, restored, failure } = await runScripts(runner, action, async (start) => {
    const searches: Search[] = [];
    for (const query of action.queries) {
      // The query is an argument of the command by way of its environment: it is never read as shell text.
      const options = { cwd: '.', env: { TEDDY_QUERY: query }, timeoutMs };
      const result = await start(`${command} "$TEDDY_QUERY"`, options);
      searches.push({ query, result });
      if (result.exitCode !== 0 || result.aborted) break;
    }
    return searches;
  });
  const { status, reason } = toOutcome(value, failure);
  return {
    status,
    details: {
      ...(reason === null ? {} : { reason }),
      ...keepSearches(runner.run, action.index, value),
      ...(restored.length === 0 ? {} : { restored }),
    },
  };
}

function toOutcome(searches: Search[], failure: string | null): { status: Performed['status']; reason: string | null } {
  const last = searches.at(-1);
  if (failure !== null) return { status: 'FAILURE', reason: toReason(failure) };
  if (last?.result.aborted) return { status: 'ABORTED', reason: 'interrupted' };
  if (last === undefined || last.result.exitCode === 0) return { status: 'SUCCESS', reason: null };
  const how = last.result.timedOut ? 'took too long' : `failed with exit code ${last.result.exitCode}`;
  return { status: 'FAILURE', reason: `the search command ${how} for query ${searches.length}: ${last.query}` };
}

/** Returns the part that the report shows; the whole is kept beside it where that is less. */
function keepSearches(run: Run, index: number, found: Search[]): { searches: ReportedSearch[]; output_file?: string } {
  const searches = found.map(toReported);
  const isCut = found.some(
    ({ result }, at) =>
      searches[at]?.result !== result.stdout || (searches[at]?.stderr ?? result.stderr) !== result.stderr,
  );
  if (!isCut) return { searches };
  const text = found.map(({ query, result }) => `--- query: ${query}\n${renderOutput(result)}`).join('');
  run.outputs.push({ action: index, text });
  return { searches, output_file: `output/${index}.log` };
}

/** A search puts the best first; an error comes last. */
function toReported({ query, result }: Search): ReportedSearch {
  return {
    query,
    return_code: result.exitCode,
    result: takeFirst(result.stdout, shownLines),
    ...(result.exitCode === 0 ? {} : { stderr: takeLast(result.stderr, shownLines) }),
    ...(result.timedOut ? { timed_out: true } : {}),
    ...(result.truncated ? { truncated: true } : {}),
  };
}
