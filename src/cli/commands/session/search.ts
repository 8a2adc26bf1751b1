import { TeddyError } from '../../../errors.ts';
import { countOf } from '../../../session/spending/describe-spending.ts';
import { formatCount } from '../../../session/text/format-count.ts';
import { toShellWord } from '../../../session/text/shell-word.ts';
import {
  maxRepeatedLine,
  plainPattern,
  regexPattern,
  searchScopes,
  type SearchScope,
  type TextPattern,
} from '../../../session/text/text-pattern.ts';
import { toVisible } from '../../../session/text/visible-text.ts';
import type { Project } from '../../../ports/project.ts';
import type { FoundTurn, Search } from '../../../workflow/review/search-sessions.ts';
import { parseLimit, parseSince } from '../../arguments.ts';
import { renderFoundRows, renderFoundTurn } from '../../render/found.ts';
import { option, parameters, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';
import { withinTime } from './within-time.ts';

const onTerminal = 50;
const linesOnTerminal = 5;
/** The maximum length of a line in a pipe or in JSON, in characters. */
const maxWidth = 240;
/** How long an expression may take to search one text. */
const maxSeconds = 5;

export class SessionSearchCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Look',
    description: 'Find what was said, planned and run in any session.',
    details: `
      Searches every session: local ones, those only on a remote, and archived ones. The session with the newest step
      comes first, and within a session the newest turn. A turn that several branches share is shown once.

      The text is taken literally, as by \`git grep -F\`; several words are one phrase, separated by spaces. With -E
      it is a JavaScript regular expression with the flag u, which is matched against each line: \\d is a digit, \\b
      the edge of a word, and a backslash makes a character such as ( or . literal. An expression that repeats
      something, with *, +, ? or {2}, is not tried on lines of more than ${formatCount(maxRepeatedLine)} characters,
      and teddy reports how many lines those were; the search fails if one text takes more than ${maxSeconds} seconds.
      Secrets are masked before teddy searches.

      With --in, you name where to search: message (what you said, also with a verdict), plan, report (also the output
      of commands, and the calls of tools with their results), answer (of models), and code (lines that a step of the
      session added and that still exist at the tip of its branch). Without --in, teddy searches everything but the
      code.

      A terminal shows at most ${onTerminal} turns, and ${linesOnTerminal} lines of each. In a pipe, teddy prints one
      row per line: session, turn, branch, place, title and text, separated by tabs.

      Exit codes: 0 something was found; 1 nothing was, as with \`git grep\`, or the search failed; 2 wrong usage.
    `,
    examples: [
      ['A phrase', '$0 search "time zone"'],
      ['The same in short, ignoring case', '$0 search -i time zone'],
      ['What you asked for in the last two weeks', '$0 search --in message --since 2w login'],
      ['In commands and their output', '$0 search --in report -E "ENOENT|EACCES"'],
      ['Which session wrote this line', '$0 search --in code "export function ago"'],
    ],
  });

  words = parameters('text', { atLeast: 1 });
  in = option('--in', {
    value: '<places>',
    many: true,
    describe: `Where to search: ${searchScopes.join(', ')}; separate several with commas. Default: all but code.`,
  });
  since = option('--since', {
    value: '<time>',
    describe: 'Only turns since then: 30m, 12h, 7d, 4w, or a date such as 2026-11-01.',
  });
  isRegex = option('-E,--regexp', { describe: 'Treat the text as a JavaScript regular expression.' });
  ignoreCase = option('-i,--ignore-case', { describe: 'Ignore case.' });
  limit = option('--limit', {
    value: '<n>',
    parse: (text) => parseLimit(text, 'turns'),
    describe: `Show at most this many turns. Default on a terminal: ${onTerminal}.`,
    excludes: ['--all'],
  });
  all = option('--all', { describe: 'Show all turns, even on a terminal.' });

  protected override trustsHead = () => 'always' as const;

  protected run(terminal: Terminal): Promise<number> {
    const text = this.words.join(' ');
    if (text === '')
      throw new TeddyError('USAGE', 'There is no text to search for.', 'Pass it: teddy search "time zone".');
    const places = parsePlaces(this.in);
    const limit = this.readLimit(terminal);
    return this.withProject(terminal, async (project) => {
      const now = project.clock.now().getTime();
      const sinceMs = this.since === undefined ? null : parseSince(this.since, now);
      const pattern = this.readPattern(text);
      // Ctrl-C may end the process at any time, because a search changes nothing.
      const { signal } = new AbortController();
      const { searchSessions } = await import('../../../workflow/review/search-sessions.ts');
      const search = await searchSessions(project, { patterns: [pattern], places, sinceMs, width: maxWidth, signal });
      const found = await this.show(terminal, project, search, limit, now);
      if (found === 0 && !this.json) terminal.say(this.describeNone(search.lines, places));
      if (pattern.passedOver.size > 0) terminal.say(describePassedOver(pattern.passedOver.size));
      await this.sweepInBackground(project);
      return found === 0 ? 1 : 0;
    });
  }

  private readLimit(terminal: Terminal): number {
    const usual = terminal.isOutputTty && !this.all && !this.json ? onTerminal : Number.POSITIVE_INFINITY;
    return this.limit ?? usual;
  }

  private readPattern(text: string): TextPattern {
    const options = { ignoresCase: this.ignoreCase };
    if (!this.isRegex) return plainPattern(text, options);
    if (text.includes('\n'))
      throw new TeddyError('USAGE', 'An expression cannot span several lines.', 'Write a|b for either, or omit -E.');
    const limit = <T>(search: () => T): T => withinTime(maxSeconds * 1000, search, () => toTooSlow(text));
    return regexPattern(text, { ...options, limit });
  }

  /** Returns the number of turns found. In a pipe, prints each turn as soon as it is found. */
  private async show(
    terminal: Terminal,
    project: Project,
    { turns, lines }: Search,
    limit: number,
    now: number,
  ): Promise<number> {
    const kept: FoundTurn[] = [];
    let [count, first, hasMore]: [number, FoundTurn | null, boolean] = [0, null, false];
    for await (const turn of turns) {
      hasMore = count === limit;
      // The reader of the pipe has exited: `teddy search x | head`.
      if (hasMore || this.context.stdout.destroyed) break;
      count += 1;
      first ??= turn;
      if (this.json || terminal.isOutputTty) kept.push(turn);
      else terminal.print(renderFoundRows(turn));
    }
    if (this.json)
      this.printJson(terminal, 'session-search', { searched: lines, turns: kept.map(toDocument), more: hasMore });
    else if (terminal.isOutputTty)
      await this.page(
        terminal,
        project,
        kept.map((turn) => renderFoundTurn(terminal, turn, { nowMs: now, most: linesOnTerminal })).join('\n'),
      );
    if (first === null || this.json) return count;
    if (hasMore) terminal.say(`More than ${countOf(count, 'turn')} were found. All of them: ${this.toWholeCommand()}`);
    terminal.say(`Next: teddy show ${first.turn} -s ${toVisible(toShellWord(first.selector))}`);
    return count;
  }

  private toWholeCommand(): string {
    const words = this.context.words.filter(
      (word, at, all) => !word.startsWith('--limit') && all[at - 1] !== '--limit',
    );
    const end = words.indexOf('--');
    const at = end === -1 ? words.length : end;
    return toVisible(['teddy', ...words.slice(0, at), '--all', ...words.slice(at)].map(toShellWord).join(' '));
  }

  private describeNone(lines: number, places: readonly SearchScope[]): string {
    const where = lines === 1 ? '1 branch' : `${formatCount(lines)} branches`;
    const since = this.since === undefined ? '' : ` with steps since ${this.since}`;
    const ways = [
      ...(this.ignoreCase ? [] : ['-i ignores case']),
      ...(places.includes('code') ? [] : ['--in code searches the code']),
    ];
    const hint = ways.length === 0 ? '' : `; ${ways.join(', ')}`;
    if (lines > 0) return `Nothing was found in ${where} of sessions${since}${hint}.`;
    if (this.since !== undefined) return `No session has steps since ${this.since}.`;
    return 'There are no sessions yet. Start one: teddy new <name>';
  }
}

function describePassedOver(count: number): string {
  const lines = `${countOf(count, 'line')} of more than ${formatCount(maxRepeatedLine)} characters`;
  return `${lines} ${count === 1 ? 'was' : 'were'} not searched, because the expression repeats something.`;
}

function toTooSlow(expression: string): TeddyError {
  return new TeddyError(
    'ACTION_FAILED',
    `The expression ${expression} backtracks too much: one text took more than ${maxSeconds} seconds.`,
    'Avoid nested repetition such as (a+)+, or omit -E to search for plain text.',
  );
}

/** Reads the places that --in names. Throws USAGE. */
function parsePlaces(given: readonly string[]): SearchScope[] {
  if (given.length === 0) return searchScopes.filter((place) => place !== 'code');
  const words = given.flatMap((value) => value.split(',')).map((word) => word.trim());
  const unknown = words.find((word) => !searchScopes.some((place) => place === word));
  if (unknown === undefined) return searchScopes.filter((place) => words.includes(place));
  throw new TeddyError(
    'USAGE',
    `--in does not accept ${JSON.stringify(unknown)}.`,
    `Use ${searchScopes.slice(0, -1).join(', ')} and ${searchScopes.at(-1)}: --in message,plan.`,
  );
}

function toDocument({ line, lineName, selector, turn, title, at, matches }: FoundTurn): object {
  return {
    session: line.session,
    turn,
    line: lineName,
    archived: line.isArchived,
    remote: line.remote,
    title,
    at,
    show: `teddy show ${turn} -s ${toShellWord(selector)}`,
    matches: matches.map(({ place, title: part, ...match }) => ({ in: place, part, ...match })),
  };
}
