/** Renders the rows of `teddy list`: chooses, orders and sizes them. */
import type { SessionId } from '../../names.ts';
import type { WaitingPlan } from '../../workflow/review/inbox.ts';
import {
  describeState,
  nameEnd,
  type ListedSession,
  type SessionWorkTree,
} from '../../workflow/review/list-sessions.ts';
import type { Style, Terminal } from '../terminal.ts';
import { countOf } from '../../session/spending/describe-spending.ts';
import { toVisible } from '../../session/text/visible-text.ts';
import { cutToWidth, padTo, widthOf } from './cut-to-width.ts';
import { describeAge } from './time.ts';

/** The number of rows that fit on a terminal of the usual size. */
const firstPage = 20;

export function takeFirst(sessions: ListedSession[], limit: number): ListedSession[] {
  const at = sessions.findIndex(({ current }) => current);
  const current = sessions[at];
  if (limit === Number.POSITIVE_INFINITY || current === undefined || at < Math.min(limit, firstPage))
    return sessions.slice(0, limit);
  return [current, ...sessions.filter((one) => one !== current)].slice(0, limit);
}

const stateStyles: Partial<Record<string, Style>> = {
  pending: 'yellow',
  failed: 'red',
  aborted: 'yellow',
  skipped: 'yellow',
  landed: 'dim',
  committed: 'dim',
};
/**
 * Limits names, so that a few long ones do not push the other columns out of the terminal; in 80 columns, the titles
 * keep some room.
 */
const widestName = (columns: number) => Math.min(36, Math.floor(columns * 0.35));

/** `workTrees` lists the other work trees that have sessions checked out; omit it to hide this. */
export function renderSessions(
  terminal: Terminal,
  sessions: ListedSession[],
  nowMs: number,
  workTrees?: ReadonlyMap<SessionId, SessionWorkTree[]>,
): string {
  const rows = sessions.map((one) => ({
    one,
    cells: [one.session, countOf(one.turns, 'turn'), describeAge(one.updated, nowMs), describeState(one)],
  }));
  const widths = [0, 1, 2, 3].map((at) =>
    rows.reduce((most, { cells }) => Math.max(most, widthOf(cells[at] ?? '')), 0),
  );
  return rows
    .map(({ one, cells: [session = '', turns = '', age = '', state = ''] }) => {
      const widest = Math.min(widths[0] ?? 0, widestName(terminal.columns));
      const shown = toVisible(session);
      // In a pipe, names are never cut, because a program needs whole names.
      const name = padTo(Number.isFinite(terminal.columns) ? cutToWidth(shown, widest) : shown, widest);
      const shownTurns = turns.padEnd(widths[1] ?? 0);
      const shownAge = age.padEnd(widths[2] ?? 0);
      const shownState = state.padEnd(widths[3] ?? 0);
      const used = 2 + widthOf(name) + 2 + shownTurns.length + 2 + shownAge.length + 2 + shownState.length + 2;
      const room = Math.max(terminal.columns - used, 10);
      const [full, short] = [describeAgent(one), describeAgent({ ...one, model: null })].map(
        (agent) => `${agent}${describeBranches(one)}`,
      ) as [string, string];
      const branches = widthOf(toVisible(one.title)) + widthOf(full) > room ? short : full;
      const title = cutToWidth(toVisible(one.title), Math.max(room - widthOf(branches), 10));
      const text = cutToWidth(`${title}${branches}`, room);
      // A path is never cut, even if the terminal wraps it.
      const places = (workTrees?.get(one.session) ?? []).map((tree) => describeWorkTree(tree, one));
      const place = places.length === 0 ? '' : `  ${places.join(', ')}`;
      const style = stateStyles[one.awaitsVerdict ? 'pending' : nameEnd(one)];
      return `${one.current ? '*' : ' '} ${one.current ? terminal.style('green', name) : name}  ${shownTurns}  ${shownAge}  ${style === undefined ? shownState : terminal.style(style, shownState)}  ${text}${place}`.trimEnd();
    })
    .map((row) => `${row}\n`)
    .join('');
}

/** Names the branch when it differs from the row's own branch. */
function describeWorkTree({ path, branch }: SessionWorkTree, one: ListedSession): string {
  return `in ${toVisible(path)}${branch === one.line ? '' : ` (${toVisible(branch)})`}`;
}

function describeAgent({ agent, model }: ListedSession): string {
  return agent === null ? '' : ` [${toVisible(model === null ? agent : `${agent}, ${model}`)}]`;
}

/**
 * Describes the branches when the main line has another name, HEAD is on another line, or conversation branches exist;
 * names one with a pending step.
 */
function describeBranches({
  session,
  line: branch,
  conversationBranches,
  archived,
  remote,
  beside,
}: ListedSession): string {
  const isOther = !archived && remote === null && branch !== `teddy/${session}`;
  const count = conversationBranches.length;
  const branches =
    beside === null ? `+${count} ${count === 1 ? 'branch' : 'branches'}` : `${beside.has} on ${toVisible(beside.line)}`;
  return `${isOther ? ` on ${toVisible(branch)}` : ''}${count === 0 ? '' : ` (${branches})`}`;
}

/** Renders other people's plans that wait for an approval: two lines for each, with the command that shows it. */
export function renderWaiting(terminal: Terminal, waiting: readonly WaitingPlan[]): string {
  const rows = waiting.map(({ line, turn, title, from, show }) => {
    const by = from === null ? '' : `, by ${from}`;
    const name = terminal.style('bold', toVisible(line));
    return `${name}  turn ${turn}${toVisible(`${by}${title === null ? '' : `: ${title}`}`)}\n  ${toVisible(show)}\n`;
  });
  return rows.join('');
}
