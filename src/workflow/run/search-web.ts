/** RESEARCH: the user's own search command, once a query. */
import type { ResearchAction } from '../../plan/plan.ts';
import type { ReportedSearch } from '../../plan/report.ts';
import { noSearchCommand, searchCommandHint } from '../../plan/validate-research.ts';
import type { CommandResult } from '../../ports/disk.ts';
import { renderOutput, shownLines, takeFirst, takeLast } from '../../plan/cut-output.ts';
import type { Performed, Run, Runner } from './run.ts';
import { runScripts, toReason } from './scripts.ts';

interface Search {
  query: string;
  result: CommandResult;
}

/** The first query whose command fails is the last that is run. */
export async function searchWeb(runner: Runner, action: ResearchAction): Promise<Performed> {
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

/** What the report shows; the whole is kept beside it where that is less. */
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
