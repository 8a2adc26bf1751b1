/** Renders a review as Markdown. If the review does not fit, omits the oldest turns and mentions this. */
import type { TurnName } from '../../names.ts';
import { groupBy } from '../../session/text/group-by.ts';
import { formatCount } from '../../session/text/format-count.ts';
import type { ChangedFile, ReviewedTurn, TurnLabel } from '../../workflow/review/turn.ts';
import { countOf, describeSpending } from '../../session/spending/describe-spending.ts';
import { sum } from './comparison.ts';
import { escapeMarkdown, toCode } from './escape-markdown.ts';
import { cutTo, describeAnswerer, describePerson, renderFiles, renderTurnDetails, toOutcome } from './review-turn.ts';
import { listApprovers, type Worker, type Decided } from '../../workflow/review/who.ts';
import type { ReviewedLine } from '../../workflow/review/review.ts';

/** GitHub accepts 65,536; some forges count the characters after rendering. */
const maxCharacters = 65_000;
const maxTableCharacters = 20_000;
const maxFiles = 200;

/** Space reserved for the lines around the turns' details. */
const maxNote = 310;

/** The part of a turn that a row of the table shows. */
type Row = TurnLabel | ReviewedTurn;

/** Ends with a newline. Reads only the turns that fit. */
export async function renderReview(review: ReviewedLine): Promise<string> {
  const rest = [renderTotals(review), renderCommands(review)];
  const read = await readShown(review, maxCharacters - rest.join('').length);
  const byName = new Map(read.map(({ turn }) => [turn.turn, turn]));
  const rows = review.turns.map((label) => byName.get(label.turn) ?? label);
  const people = renderPeople(review, read);
  const [head, table] = [`${renderHead(review, rows)}\n\n${people}`.trimEnd(), renderTable(review, rows)];
  const around = [head, table, ...rest].join('\n\n').length;
  const details = renderDetails(review, read, maxCharacters - around - maxNote);
  return `${[head, table, details, ...rest].filter((part) => part !== '').join('\n\n')}\n`;
}

interface ShownTurn {
  turn: ReviewedTurn;
  details: string;
}

/** Returns the oldest turn first; one more turn than fits may be included. */
async function readShown(review: ReviewedLine, room: number): Promise<ShownTurn[]> {
  const read: ShownTurn[] = [];
  let used = 0;
  for await (const turn of review.readTurns()) {
    const details = renderTurnDetails(turn, toTarget(review));
    read.unshift({ turn, details });
    used += details.length + 2;
    if (used > room) break;
  }
  return read;
}

/** Returns the session's ID for its main line. Commands never use a name that needs quotes. */
function toTarget({ session, line }: ReviewedLine): string {
  return line !== `teddy/${session}` && /^[\w./-]+$/.test(line) ? line : session;
}

/** Returns true if any part of the plan ran. The label of a turn that was not read contains less information. */
function hasRun(row: Row): boolean {
  if (row.outcome === null || row.outcome === 'VALIDATION_FAILED' || row.outcome === 'SKIPPED') return false;
  if (!('actions' in row)) return row.verdict !== 'rejected';
  return row.outcome === 'SUCCESS' || row.actions.some(({ status }) => status !== 'SKIPPED');
}

function renderHead(
  { session, line, tip, base, baseBranch, baseSession, files, spent }: ReviewedLine,
  rows: readonly Row[],
): string {
  const ran = rows.filter(hasRun);
  const failed = ran.filter(({ outcome }) => outcome !== 'SUCCESS').length;
  const start = baseSession ?? baseBranch;
  const below = baseSession === null ? '' : ' (a session that is not landed)';
  const from =
    base === null ? '' : `, from ${start === null ? '' : `${toCode(start)} at `}${toCode(base.slice(0, 10))}${below}`;
  const runs =
    ran.length === 0
      ? 'no plan was run'
      : `${countOf(ran.length, 'plan')} ${ran.length === 1 ? 'was' : 'were'} run${failed === 0 ? '' : `, ${failed} of them without success`}`;
  const cost = describeSpending(spent);
  return [
    `# Session ${session}`,
    '',
    `${countOf(rows.length, 'turn')} on ${toCode(line)} up to ${toCode(tip.slice(0, 10))}${from}: ${runs}; ${describeChange(files)}${cost === null ? '' : `; ${cost}`}.`,
  ].join('\n');
}

const maxListed = 20;

/** Names who answered, decided and worked. teddy has the decisions only for the turns that it read. */
function renderPeople({ models, people, turns }: ReviewedLine, read: readonly ShownTurn[]): string {
  const approvers = listApprovers(read.map(({ turn }) => turn));
  const all = turns.map(({ turn }) => turn);
  const some = read.length === turns.length ? '' : `, of the newest ${countOf(read.length, 'turn')}`;
  const told = (key: Decided) =>
    approvers.flatMap((one) => (one[key].length === 0 ? [] : [`${describePerson(one)} (${nameTurns(one[key], all)})`]));
  const rows: [what: string, who: string[]][] = [
    ['Models', models.map((one) => `${describeAnswerer(one)}, ${countOf(one.answers, 'answer')}`)],
    [`Approved${some}`, told('approved')],
    [`Approved by flag (\`-y\`)${some}`, told('byFlag')],
    [`Rejected${some}`, told('rejected')],
    ['Own work on the line', people.map((one) => `${describePerson(one)} (${countWork(one)})`)],
  ];
  return rows.flatMap(([what, who]) => (who.length === 0 ? [] : [`- ${what}: ${shorten(who, maxListed)}`])).join('\n');
}

/** Returns, for example, `turns 01, 03 to 07`. `all` are the line's turns, in order. */
export function nameTurns(turns: readonly TurnName[], all: readonly TurnName[]): string {
  const runs: TurnName[][] = [];
  for (const turn of turns) {
    const last = runs.at(-1)?.at(-1);
    if (last !== undefined && all.indexOf(last) + 1 === all.indexOf(turn)) runs.at(-1)?.push(turn);
    else runs.push([turn]);
  }
  const names = runs.flatMap((run) => (run.length > 2 ? [`${run[0]} to ${run.at(-1)}`] : run));
  return `${turns.length === 1 ? 'turn' : 'turns'} ${shorten(names, maxListed, ', ')}`;
}

function countWork({ snapshots, commits }: Worker): string {
  const parts = [
    ...(snapshots === 0 ? [] : [countOf(snapshots, 'snapshot')]),
    ...(commits === 0 ? [] : [countOf(commits, 'commit')]),
  ];
  return parts.join(', ');
}

function shorten(names: readonly string[], max: number, mark = '; '): string {
  const rest = names.length - max;
  return [...names.slice(0, max), ...(rest > 0 ? [`and ${formatCount(rest)} more`] : [])].join(mark);
}

function describeChange(files: readonly ChangedFile[]): string {
  const [added, removed] = [sum(files, 'added'), sum(files, 'removed')];
  return `${countOf(files.length, 'file')} changed, +${formatCount(added)} -${formatCount(removed)}`;
}

/** Places the user's own commits between the turns where the user made them. */
function renderTable({ commits, session }: ReviewedLine, turns: readonly Row[]): string {
  const own = groupBy(commits, ({ after }) => after);
  const ownRows = (after: Row['turn'] | null) =>
    (own.get(after) ?? []).map(
      ({ commit, subject }) =>
        `| | ${escapeMarkdown(cutTo(subject, 100))} | | own commit ${toCode(commit.slice(0, 10))} |`,
    );
  const rows = [...ownRows(null), ...turns.flatMap((turn) => [renderRow(turn), ...ownRows(turn.turn)])];
  const { kept, leftOut } = keepNewest(rows, maxTableCharacters);
  const note =
    leftOut === 0 ? [] : [`| | ${countOf(leftOut, 'older row')} omitted for length: \`teddy log ${session}\` | | |`];
  return ['| turn | message | plan | outcome |', '| --- | --- | --- | --- |', ...note, ...kept].join('\n');
}

function renderRow(turn: Row): string {
  const said = 'messages' in turn ? turn.messages.join('\n\n') : turn.title;
  const message = escapeMarkdown(cutTo(said.trim().split('\n')[0] ?? '', 100));
  const plan = turn.planTitle === null ? '' : escapeMarkdown(cutTo(turn.planTitle, 100));
  return `| ${turn.turn} | ${message} | ${plan} | ${toOutcome(turn)} |`;
}

function renderDetails(review: ReviewedLine, read: readonly ShownTurn[], room: number): string {
  const { kept } = keepNewest(
    read.map(({ details }) => details),
    room,
  );
  const { turns } = review;
  const leftOut = turns.length - kept.length;
  const last = turns[leftOut - 1]?.turn;
  const names = leftOut === 1 ? `turn ${last}` : `turns ${turns[0]?.turn} to ${last}`;
  const note =
    leftOut === 0
      ? []
      : [
          `The details of ${names} are omitted for length. They are in the session: \`teddy show ${last} -s ${toTarget(review)}\`.`,
        ];
  return turns.length === 0 ? '' : ['## Turns', ...note, ...kept].join('\n\n');
}

/** Returns as many of the last parts as fit, each followed by two newlines. */
function keepNewest(parts: readonly string[], room: number): { kept: string[]; leftOut: number } {
  let used = 0;
  let from = parts.length;
  while (from > 0 && used + (parts[from - 1]?.length ?? 0) + 2 <= room) {
    from -= 1;
    used += (parts[from]?.length ?? 0) + 2;
  }
  return { kept: parts.slice(from), leftOut: from };
}

function renderTotals({ files }: ReviewedLine): string {
  if (files.length === 0) return '';
  return `## Changed files\n\n${renderFiles(files, maxFiles)}`;
}

function renderCommands({ session, line, turns }: ReviewedLine): string {
  const last = turns.at(-1)?.turn ?? '01';
  const name = /^[\w./-]+$/.test(line) ? line : session;
  return [
    '## Look closer',
    '',
    'Every step is a commit on this branch; nothing but git is needed to read it. With `teddy`:',
    '',
    '```sh',
    `teddy log ${session} --graph      # all steps, and the session's branches`,
    `teddy show ${last} -s ${name}`,
    `teddy diff ${last} -s ${name}      # compared with the turn before`,
    `teddy verify ${name}      # is the record complete and consistent?`,
    `teddy replay ${name}      # does running the plans again give the same code?`,
    '```',
  ].join('\n');
}
