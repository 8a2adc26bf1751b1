/** Renders one of a review's turns, folded so that readers can open the parts they want to see. */
import { countWhole } from '../../session/text/clip-line.ts';
import { formatCount } from '../../session/text/format-count.ts';
import { describePromise } from '../../plan/report/promise.ts';
import type { ChangedFile, ReviewedAction, ReviewedTurn, TurnLabel } from '../../workflow/review/turn.ts';
import { countOf, describeSpending, formatDuration } from '../../session/spending/describe-spending.ts';
import type { Answerer, Decision } from '../../workflow/review/who.ts';
import type { Oid } from '../../names.ts';
import type { CommitAuthor } from '../../session/entries/logged-entry.ts';
import { describeAsides, describeCut } from './turn.ts';
import { escapeHtml, escapeMarkdown, quoteMarkdown, toCode, toCodeCell } from './escape-markdown.ts';

const maxMessage = 2_000;
const maxActions = 50;
const maxFiles = 50;
const maxComments = 20;

/** Returns the words after the name of whoever decided in this entry. */
export type DescribeSignature = (commit: Oid) => string;

export function renderTurnDetails(
  turn: ReviewedTurn,
  session: string,
  describeSignature: DescribeSignature = () => '',
): string {
  const { planTitle, actions, files, answeredBy, spent, error, commits, cut } = turn;
  const message = turn.messages.join('\n\n');
  const cost = describeSpending(spent);
  const asides = describeAsides(turn.asides, session);
  const facts = [
    ...(answeredBy.length === 0 ? [] : [answeredBy.map(describeAnswerer).join(', ')]),
    ...(cost === null ? [] : [escapeMarkdown(cost)]),
    `commits ${shorten(commits.map((commit) => toCode(commit.slice(0, 10)))).join(', ')}`,
  ];
  const title = cutTo(message.trim().split('\n')[0] ?? '', 100);
  return [
    `<details>\n<summary>Turn ${turn.turn}: ${escapeHtml(title)} (${toOutcome(turn)})</summary>`,
    ...(message.trim() === '' ? [] : [quoteMarkdown(cutTo(message, maxMessage)) + noteLong(message, turn, session)]),
    ...(planTitle === null ? [] : [`Plan: ${escapeMarkdown(cutTo(planTitle, 300))}`]),
    ...turn.verdicts.map((verdict) => renderVerdict(verdict, describeSignature(verdict.commit))),
    ...turn.decisions.map((decision) => renderDecision(decision, describeSignature(decision.commit))),
    ...(error === null ? [] : [`Not finished: ${escapeMarkdown(cutTo(error, maxMessage))}`]),
    ...(actions.length === 0 ? [] : [renderActions(actions)]),
    ...(turn.promise === null ? [] : [`Promise: ${escapeMarkdown(cutTo(describePromise(turn.promise), 300))}.`]),
    ...(files.length === 0 ? [] : [renderFiles(files, maxFiles)]),
    ...(asides === null ? [] : [`Not shown: ${asides}.`]),
    ...cut.map((one) => `Left out: ${describeCut(one)}.`),
    `${facts.join('; ')}.`,
    '</details>',
  ].join('\n\n');
}

export function toOutcome(turn: TurnLabel | ReviewedTurn): string {
  const { outcome, planTitle, undoneBy, partlyUndoneBy, isAnswered, verdict, isAgentPlan } = turn;
  const words = ['plan', ...(verdict === null ? [] : [verdict]), ...(isAgentPlan ? [] : ['not run'])].join(', ');
  const told = outcome ?? (planTitle === null ? (isAnswered ? 'answer' : 'message') : words);
  const isPartly =
    outcome === 'SUCCESS' && 'actions' in turn && turn.actions.some(({ status }) => status === 'SKIPPED');
  return [
    told,
    ...(isPartly ? ['in part'] : []),
    ...(undoneBy !== null ? ['undone'] : partlyUndoneBy !== null ? ['partly undone'] : []),
  ].join(', ');
}

/** Returns, for example, `Approved by Ada: Go on.`, with each comment on a single line. */
function renderVerdict({ verdict, author, text, comments }: ReviewedTurn['verdicts'][number], signed: string): string {
  const words = { approved: 'Approved by', rejected: 'Rejected by', none: 'No verdict' };
  const who = verdict === 'none' ? '' : ` ${describePerson(author)}${signed}`;
  const why = text === null ? '.' : `: ${escapeMarkdown(cutTo(text, 300))}`;
  const rows = comments
    .slice(0, maxComments)
    .map((comment) => `- line ${comment.line}: ${escapeMarkdown(cutTo(comment.text, 300))}`);
  const more = comments.length - rows.length;
  const rest = more > 0 ? [`- ... and ${formatCount(more)} more`] : [];
  return [`${words[verdict]}${who}${why}`, ...(rows.length === 0 ? [] : ['', ...rows, ...rest])].join('\n');
}

/** Returns, for example, `Approved by Ada, one by one: 3 actions.` */
function renderDecision({ decision, by, author, actions }: Decision, signed: string): string {
  const who = `${describePerson(author)}${signed}`;
  if (decision === 'rejected') return `Rejected by ${who}.`;
  const count = countOf(actions.length, 'action');
  return by === 'flag'
    ? `Approved by flag (\`-y\`): ${count}, run by ${who}.`
    : `Approved by ${who}, one by one: ${count}.`;
}

/** Returns, for example, `gpt-5 (openai)` or `claude-opus-5 (anthropic, for claude-code)`. */
export function describeAnswerer({ model, provider, agent }: Answerer): string {
  const more = [
    ...(provider === null || provider === model || model === null ? [] : [escapeMarkdown(cutTo(provider, 50))]),
    ...(agent === null ? [] : [`for ${escapeMarkdown(cutTo(agent, 50))}`]),
  ];
  return `${toCode(cutTo(model ?? provider ?? 'unknown', 100))}${more.length === 0 ? '' : ` (${more.join(', ')})`}`;
}

export function describePerson({ name }: CommitAuthor): string {
  return escapeMarkdown(cutTo(name, 100));
}

/** Cuts to a number of characters; `…` replaces the rest. */
export function cutTo(text: string, max: number): string {
  const characters = [...text];
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join('')}…`;
}

function noteLong(message: string, { turn }: ReviewedTurn, session: string): string {
  const more = countWhole(message) - message.length + [...message].length - maxMessage;
  if (more <= 0) return '';
  return `\n\n${formatCount(more)} more characters: \`teddy show ${turn} -s ${session}\`.`;
}

/** Returns lines such as `3. EXECUTE npm test: FAILURE, exit 1, 1.2 s (why)`. */
function renderActions(actions: readonly ReviewedAction[]): string {
  const rows = actions.slice(0, maxActions).map(({ index, type, target, status, exitCode, durationMs, reason }) => {
    const more = [
      ...(exitCode === null || exitCode === 0 ? [] : [`exit ${exitCode}`]),
      ...(durationMs === null ? [] : [formatDuration(durationMs)]),
      ...(reason === null ? [] : [escapeMarkdown(cutTo(reason, 300))]),
    ];
    const shown = target === '' ? '' : ` ${toCode(cutTo(target, 100))}`;
    return `${index}. ${escapeMarkdown(cutTo(type, 50))}${shown}: ${[status ?? 'not run', ...more].join(', ')}`;
  });
  const more = actions.length - rows.length;
  return [...rows, ...(more > 0 ? ['', `... and ${formatCount(more)} more actions.`] : [])].join('\n');
}

export function renderFiles(files: readonly ChangedFile[], max: number): string {
  const rows = files
    .slice(0, max)
    .map((file) => `| ${toCodeCell(cutTo(file.path, 200))} | ${file.change} | ${renderCounts(file)} |`);
  const more = files.length - rows.length;
  const note = more > 0 ? [`| ... and ${formatCount(more)} more files | | |`] : [];
  return ['| file | change | lines |', '| --- | --- | --- |', ...rows, ...note].join('\n');
}

function renderCounts({ kind, added, removed }: ChangedFile): string {
  return kind === 'text' ? `+${formatCount(added)} -${formatCount(removed)}` : kind;
}

function shorten(names: string[]): string[] {
  return names.length <= 8 ? names : [...names.slice(0, 7), `... ${names.length - 8} more ...`, ...names.slice(-1)];
}
