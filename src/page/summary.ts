/** Answers a reviewer's first questions about the requested line: how it ended, whether the tests ran, who approved. */
import { isTest } from '../plan/report/promise.ts';
import { countOf } from '../session/spending/describe-spending.ts';
import { formatCount } from '../session/text/format-count.ts';
import { parseObject } from '../session/text/parse-object.ts';
import { listStanding } from './files.ts';
import { firstLine, html, type Html } from './html.ts';
import type { PageTurn, SessionPage } from './session-page.ts';
import { isRejected, isUnrun, toTurnState, type TurnState } from './turn-state.ts';

export interface Answer extends TurnState {
  note: Html | null;
}

/** A landing counts until another turn follows it. */
export function findOutcome({ turns, shown, others, source }: SessionPage): Answer {
  const last = turns.findLast(({ turn }) => shown.includes(turn));
  if (last === undefined) return { tone: 'quiet', word: 'no turns yet', note: null };
  const landing = others.findLast(({ kind, line }) => kind === 'landing' && line === source.line);
  const state = toTurnState(last);
  const link = html`<a href="#t${last.turn}">turn ${last.turn}</a>`;
  const waits = state.tone === 'wait' ? '' : '; nothing waits for a decision';
  if (landing === undefined) return { ...state, note: html`${link}, not landed${waits}` };
  const { after, commit } = landing;
  const at = html`<a href="#o-${commit.slice(0, 10)}">${commit.slice(0, 10)}</a>`;
  if (after === last.turn) return { tone: 'good', word: 'landed', note: html`as ${at}` };
  return { ...state, note: html`${link}, not landed; ${at} landed before` };
}

interface TestRun {
  turn: PageTurn;
  /** The action's index; null for another agent's call. */
  action: number | null;
  command: string;
  isPassed: boolean;
}

/** Judges the line's last command that looks like a test. */
export function findTests(page: SessionPage): Answer {
  const turns = listStanding(page);
  const run = turns.flatMap(listTests).at(-1);
  if (run === undefined) return { tone: 'quiet', word: 'none ran', note: null };
  const { turn, action, command, isPassed } = run;
  // Its last command decides a script's exit code: of a test in a pipe, nothing is known.
  const isCertain =
    !isPassed ||
    isTest(
      command
        .trim()
        .split(/[|;\n]+/)
        .at(-1) ?? '',
    );
  const later = turns
    .slice(turns.indexOf(turn))
    .flatMap((one) =>
      one.files.filter((file) => one !== turn || (file.action ?? 0) > (action ?? Infinity)).map(({ path }) => path),
    );
  const [first] = later;
  const changed =
    first === undefined ? '' : `; ${later.length > 1 ? countOf(new Set(later).size, 'file') : first} changed later`;
  return {
    tone: isPassed ? (isCertain && changed === '' ? 'good' : 'warn') : 'bad',
    word: isPassed ? (isCertain ? 'passed' : 'ran') : 'failed',
    note: html`<code>${firstLine(command, 40)}</code> in
      <a href="#t${turn.turn}${action === null ? '' : `-a${action}`}">turn ${turn.turn}</a
      >${isCertain ? '' : '; its exit code may be another command’s'}${changed}`,
  };
}

function listTests(turn: PageTurn): TestRun[] {
  const called = turn.parts.flatMap((part): TestRun[] => {
    if (part.kind !== 'call' || part.result === null) return [];
    const { command: given, cmd, script } = parseObject(part.input.text) ?? {};
    const command = [given, cmd, script]
      .flat()
      .filter((word) => typeof word === 'string')
      .join(' ');
    const { isError, reason } = part.result;
    return isTest(command) ? [{ turn, action: null, command, isPassed: !isError && reason === null }] : [];
  });
  const planned = (turn.report?.report.action_logs ?? []).flatMap((log): TestRun[] => {
    const command = String(log.params['command'] ?? '').trim();
    const hasRun = log.action_type === 'EXECUTE' && log.status !== 'SKIPPED';
    return hasRun && isTest(command) ? [{ turn, action: log.index, command, isPassed: log.status === 'SUCCESS' }] : [];
  });
  return [...called, ...planned];
}

/** Adds up who said yes, and what was refused, over all of the line's turns. */
export function findApproval({ turns, shown }: SessionPage): Answer {
  const own = turns.filter(({ turn }) => shown.includes(turn));
  const verdicts = own.flatMap((turn) => turn.verdicts.filter(({ verdict }) => verdict !== 'none'));
  const ran = own.flatMap(({ report }) => (report !== null && !isUnrun(report.report) ? [report] : []));
  const logs = ran.flatMap(({ report }) => report.action_logs);
  const by = (who: string) => logs.filter((log) => log.approved_by === who && log.status !== 'SKIPPED').length;
  const refused = new Set([
    ...own.filter((turn) => turn.verdicts.at(-1)?.verdict === 'rejected').map(({ turn }) => turn),
    ...own.filter(({ report }) => report !== null && isRejected(report.report)).map(({ turn }) => turn),
  ]);
  const names = new Set([
    ...verdicts.flatMap(({ verdict, author }) => (verdict === 'approved' ? [author] : [])),
    ...(by('user') + by('flag') > 0 ? ran.map(({ author }) => author) : []),
  ]);
  const approved = verdicts.filter(({ verdict }) => verdict === 'approved').length;
  const facts = [
    ...(approved > 0 ? [`${countOf(approved, 'plan')} approved`] : []),
    ...(by('user') > 0 ? [`${countOf(by('user'), 'action')} by hand`] : []),
    ...(by('flag') > 0 ? [`${countOf(by('flag'), 'action')} in advance, with -y`] : []),
    refused.size > 0 ? `${countOf(refused.size, 'plan')} rejected` : 'nothing rejected',
  ];
  const word = names.size === 0 ? 'nobody on record' : [...names].slice(0, 2).join(', ');
  const more = names.size > 2 ? ` and ${formatCount(names.size - 2)} more` : '';
  return { tone: 'quiet', word: `${word}${more}`, note: html`${facts.join(', ')}` };
}
