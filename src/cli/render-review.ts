/** A review as Markdown. What does not fit is left out from the oldest turn on, and that is said. */
import { formatCount } from '../session/format-count.ts';
import type { Review, ReviewedTurn } from '../workflow/review/review-session.ts';
import { countOf, describeSpending } from './describe-spending.ts';
import { escapeMarkdown, toCode } from './escape-markdown.ts';
import { cutTo, renderFiles, renderTurnDetails, toOutcome } from './render-review-turn.ts';

/** GitHub takes 65,536; some forges count what they make of it. */
const maxCharacters = 65_000;
const maxTableCharacters = 20_000;
const maxFiles = 200;

/** Ends with a newline. */
export function renderReview(review: Review): string {
  const table = renderTable(review);
  const rest = [renderTotals(review), renderCommands(review)];
  const around = [renderHead(review), table, ...rest].join('\n\n').length;
  const details = renderDetails(review, maxCharacters - around - 10);
  return `${[renderHead(review), table, details, ...rest].filter((part) => part !== '').join('\n\n')}\n`;
}

function renderHead({ session, line, tip, base, baseBranch, turns, files, spent }: Review): string {
  const ran = turns.filter(({ outcome }) => outcome !== null);
  const failed = ran.filter(({ outcome }) => outcome !== 'SUCCESS').length;
  const from =
    base === null ? '' : `, from ${baseBranch === null ? '' : `${toCode(baseBranch)} at `}${toCode(base.slice(0, 10))}`;
  const runs =
    ran.length === 0
      ? 'no plan was run'
      : `${countOf(ran.length, 'plan')} ${ran.length === 1 ? 'was' : 'were'} run${failed === 0 ? '' : `, ${failed} of them without success`}`;
  const cost = describeSpending(spent);
  return [
    `# Session ${session}`,
    '',
    `${countOf(turns.length, 'turn')} on ${toCode(line)} up to ${toCode(tip.slice(0, 10))}${from}: ${runs}; ${describeChange(files)}${cost === null ? '' : `; ${cost}`}.`,
  ].join('\n');
}

function describeChange(files: Review['files']): string {
  const [added, removed] = [sum(files, 'added'), sum(files, 'removed')];
  return `${countOf(files.length, 'file')} changed, +${formatCount(added)} -${formatCount(removed)}`;
}

function sum(files: Review['files'], key: 'added' | 'removed'): number {
  return files.reduce((total, file) => total + file[key], 0);
}

/** The user's own commits stand where they came. */
function renderTable({ turns, commits }: Review): string {
  const own = (after: ReviewedTurn['turn'] | null) =>
    commits
      .filter((commit) => commit.after === after)
      .map(
        ({ commit, subject }) =>
          `| | ${escapeMarkdown(cutTo(subject, 100))} | | own commit ${toCode(commit.slice(0, 10))} |`,
      );
  const rows = [...own(null), ...turns.flatMap((turn) => [renderRow(turn), ...own(turn.turn)])];
  const { kept, leftOut } = keepNewest(rows, maxTableCharacters);
  const note = leftOut === 0 ? [] : [`| | ${countOf(leftOut, 'older row')} left out for length | | |`];
  return ['| turn | message | plan | outcome |', '| --- | --- | --- | --- |', ...note, ...kept].join('\n');
}

function renderRow(turn: ReviewedTurn): string {
  const message = escapeMarkdown(cutTo(turn.message.trim().split('\n')[0] ?? '', 100));
  const plan = turn.plan === null ? '' : escapeMarkdown(cutTo(turn.plan, 100));
  return `| ${turn.turn} | ${message} | ${plan} | ${toOutcome(turn)} |`;
}

function renderDetails({ session, turns }: Review, room: number): string {
  const { kept, leftOut } = keepNewest(
    turns.map((turn) => renderTurnDetails(turn, session)),
    room - 300,
  );
  const last = turns[leftOut - 1]?.turn;
  const names = leftOut === 1 ? `turn ${last}` : `turns ${turns[0]?.turn} to ${last}`;
  const note =
    leftOut === 0
      ? []
      : [
          `The details of ${names} are left out for length. They are in the session: \`teddy session show ${last} -s ${session}\`.`,
        ];
  return turns.length === 0 ? '' : ['## Turns', ...note, ...kept].join('\n\n');
}

/** The last ones, as many as there is room for with two line ends after each. */
function keepNewest(parts: readonly string[], room: number): { kept: string[]; leftOut: number } {
  let used = 0;
  let from = parts.length;
  while (from > 0 && used + (parts[from - 1]?.length ?? 0) + 2 <= room) {
    from -= 1;
    used += (parts[from]?.length ?? 0) + 2;
  }
  return { kept: parts.slice(from), leftOut: from };
}

function renderTotals({ files }: Review): string {
  if (files.length === 0) return '';
  return `## Changed files\n\n${renderFiles(files, maxFiles)}`;
}

function renderCommands({ session, line, turns }: Review): string {
  const last = turns.at(-1)?.turn ?? '01';
  const name = /^[\w./-]+$/.test(line) ? line : session;
  return [
    '## Look closer',
    '',
    'Every step is a commit of this branch; nothing but git is needed to read it. With `teddy`:',
    '',
    '```sh',
    `teddy session log ${session} --graph      # all steps, and the branches of the session`,
    `teddy session show ${last} -s ${name}`,
    `teddy session diff ${last} -s ${name}      # against the turn before`,
    `teddy session verify ${name}      # is what is recorded whole and consistent?`,
    `teddy session replay ${name}      # does running the plans again give the same code?`,
    '```',
  ].join('\n');
}
