/** RESEARCH: searches the web with the user's own search command. */
import type { CommandResult } from '../../ports/files.ts';
import type { ActionDetails, Performed, ReportedSearch } from '../effects/action-details.ts';
import { renderOutput, shownLines, takeFirst, takeLast } from '../effects/command-output.ts';
import type { SearchEffect } from '../effects/effect.ts';
import { described, refuse, toFirstLine, type ActionBase, type ActionHandler, type ActionType } from './action.ts';
import { description } from './spec.ts';
import type { ActionWorld } from './world.ts';

export interface ResearchAction extends ActionBase {
  type: 'RESEARCH';
  /** At least one query, without surrounding white space. */
  queries: string[];
}

const noCommand = 'no search command configured';
const commandHint = '`git config teddy.searchCommand <command>`';

export const research: ActionType<ResearchAction> = {
  type: 'RESEARCH',
  purpose: "searches the web with the user's own search command, and reports what it prints",
  parameters: [description],
  body: 'queries',
  bodyExample: '```\nnode 20 stream backpressure\n```',

  read(from) {
    const queries = from.body.queries();
    return queries === null ? null : { queries };
  },

  target: ({ queries }) => toFirstLine(queries.join('\n')),
  show: ({ queries }) => ({ kind: 'queries', queries }),
};

export const researchHandler: ActionHandler<ResearchAction, SearchEffect> = {
  runs: 'a search',
  params: (action) => ({ queries: action.queries.join('\n'), ...described(action) }),
  looksAt: () => 'settings',

  check(action, { canSearch }) {
    const { index, queries } = action;
    if (canSearch === false)
      return refuse(action, `RESEARCH: ${noCommand}.`, `Leave it out, or configure one: ${commandHint}.`);
    const option = queries.find((query) => query.startsWith('-'));
    if (option !== undefined)
      return refuse(
        action,
        `RESEARCH: the query "${option.slice(0, 60)}" begins with \`-\`, and a command takes that for an option.`,
        'Begin each query with a word; it is one query a line, without a list.',
      );
    return { effect: { kind: 'search', action: index, queries } };
  },

  async perform({ queries }, _effect, world) {
    const command = await world.searchCommand();
    if (command === undefined)
      return { status: 'FAILURE', details: { reason: noCommand, note: `Configure one: ${commandHint}.` } };
    const { value, restored, failure } = await world.run(async (start) => {
      const searches: Search[] = [];
      // Stops after the first query whose command fails.
      for (const query of queries) {
        // The command receives the query through its environment, so that no shell ever parses the query.
        const options = { cwd: '.', env: { TEDDY_QUERY: query }, timeoutMs: null };
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
        ...keepSearches(value, world),
        ...(restored.length === 0 ? {} : { restored }),
      },
    };
  },
};

interface Search {
  query: string;
  result: CommandResult;
}

function toOutcome(searches: Search[], failure: string | null): { status: Performed['status']; reason: string | null } {
  const last = searches.at(-1);
  if (failure !== null) return { status: 'FAILURE', reason: failure };
  if (last?.result.aborted) return { status: 'ABORTED', reason: 'interrupted' };
  if (last === undefined || last.result.exitCode === 0) return { status: 'SUCCESS', reason: null };
  const how = last.result.timedOut ? 'took too long' : `failed with exit code ${last.result.exitCode}`;
  return { status: 'FAILURE', reason: `the search command ${how} for query ${searches.length}: ${last.query}` };
}

/** Returns the part for the report; stores the whole output separately when that part is shorter. */
function keepSearches(found: Search[], world: ActionWorld): Pick<ActionDetails, 'searches' | 'output_file'> {
  const searches = found.map(toReported);
  const isCut = found.some(
    ({ result }, at) =>
      searches[at]?.result !== result.stdout || (searches[at]?.stderr ?? result.stderr) !== result.stderr,
  );
  if (!isCut) return { searches };
  const text = found.map(({ query, result }) => `--- query: ${query}\n${renderOutput(result)}`).join('');
  return { searches, output_file: world.keepOutput(text) };
}

/** A search lists the best results first; an error comes last. */
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
