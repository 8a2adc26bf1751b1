/** Renders a replay for a terminal: one row per turn, then the differences. */
import type {
  ActionOutcome,
  Difference,
  ReplayedLine,
  ReplayedTurn,
  UnprovenPath,
} from '../../workflow/replay/replayed.ts';
import { colorDiff } from './color-diff.ts';
import type { Style, Terminal } from '../terminal.ts';
import { toVisible } from '../../session/text/visible-text.ts';

export const outcomeTexts: Record<ReplayedTurn['outcome'], string> = {
  same: 'same',
  different: 'different',
  not_compared: 'not compared',
  nothing_to_compare: 'nothing to compare',
};

const actionTexts: Record<ActionOutcome, string> = {
  same: 'same',
  different: 'different',
  not_run: 'not run',
  edited_by_user: 'edited by the user',
  not_compared: 'not compared',
  skipped: 'skipped',
};

const colors: Record<ReplayedTurn['outcome'], Style> = {
  same: 'green',
  different: 'red',
  not_compared: 'yellow',
  nothing_to_compare: 'dim',
};

export function renderReplay(line: ReplayedLine, terminal: Terminal): string {
  const widths = { turn: Math.max(4, ...line.turns.map(({ turn }) => turn.length)), recorded: 17, outcome: 18 };
  const rows = line.turns.map((turn) => [
    turn.turn.padEnd(widths.turn),
    (turn.status ?? '-').padEnd(widths.recorded),
    terminal.style(colors[turn.outcome], outcomeTexts[turn.outcome].padEnd(widths.outcome)),
    describeActions(turn),
  ]);
  const heading = [
    'turn'.padEnd(widths.turn),
    'recorded'.padEnd(widths.recorded),
    'outcome'.padEnd(widths.outcome),
    'actions',
  ];
  const table = [terminal.style('bold', heading.join('  ')), ...rows.map((cells) => cells.join('  '))];
  const differences = line.turns.flatMap(({ differences }) => differences);
  const unsure = line.turns.flatMap(renderUnsure);
  const open = line.turns.flatMap(({ unproven }) => unproven);
  return [
    ...table,
    ...(unsure.length === 0 ? [] : ['', 'Not compared:', ...unsure]),
    ...(open.length === 0 ? [] : ['', 'Not proven:', ...open.map((one) => `  ${toVisible(describeOpen(one))}`)]),
    ...differences.flatMap((difference) => ['', ...renderDifference(difference, terminal)]),
    '',
    summarise(line),
    toVisible(describeProof(line)),
    '',
  ].join('\n');
}

/** Returns, for example, `3 same, 1 not run`; for a turn without actions, the reason. */
export function describeActions({ actions, note }: ReplayedTurn): string {
  if (actions.length === 0) return note ?? 'no actions';
  const counts = new Map<ActionOutcome, number>();
  for (const { outcome } of actions) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return [...counts].map(([outcome, count]) => `${count} ${actionTexts[outcome]}`).join(', ');
}

function renderUnsure({ turn, actions, note }: ReplayedTurn): string[] {
  const told = actions.filter(({ outcome, note: why }) => outcome === 'not_compared' && why !== null);
  return [
    ...(actions.length > 0 && note !== null ? [`  turn ${turn}: ${toVisible(note)}`] : []),
    ...told.map(({ index, type, note: why }) => `  turn ${turn}, action ${index} (${type}): ${toVisible(why ?? '')}`),
  ];
}

/** Returns, for example, `turn 02, action 3, src/a.ts`. */
export function describePlace({ turn, action, path }: Difference): string {
  return [`turn ${turn}`, ...(action === null ? [] : [`action ${action}`]), ...(path === null ? [] : [path])].join(
    ', ',
  );
}

function renderDifference(difference: Difference, terminal: Terminal): string[] {
  const { message, diff } = difference;
  const lines = diff === null ? [] : [colorDiff(terminal, diff, 'stdout')];
  return [
    `${terminal.style('red', 'differs:')} ${toVisible(describePlace(difference))}`,
    `  ${toVisible(message)}`,
    ...lines,
  ];
}

/** Returns, for example, `12 turns replayed: 11 the same, 1 different; 3 with nothing to compare.` */
export function summarise({ turns, derived, ranCommands }: ReplayedLine): string {
  const count = (outcome: ReplayedTurn['outcome']) => turns.filter((turn) => turn.outcome === outcome).length;
  const [same, different, nothing] = [count('same'), count('different'), count('nothing_to_compare')];
  const unproven = count('not_compared');
  const replayed = same + different + unproven;
  const notRun = turns.flatMap(({ actions }) => actions).filter(({ outcome }) => outcome === 'not_run').length;
  return [
    `${replayed} ${replayed === 1 ? 'turn' : 'turns'} replayed: ${same} the same, ${different} different`,
    unproven === 0 ? '' : `, ${unproven} not fully compared`,
    `; ${nothing} with nothing to compare`,
    derived === 0 ? '' : `; ${derived} log ${derived === 1 ? 'section' : 'sections'} checked against the commits`,
    notRun === 0 || ranCommands
      ? ''
      : `; ${notRun} ${notRun === 1 ? 'command' : 'commands'} not run (--run-commands runs them)`,
    '.',
  ].join('');
}

/** Returns, for example, `turn 01, src/app.ts: action 2, a command, changed it`, always on one line. */
export function describeOpen({ turn, path, reason }: UnprovenPath): string {
  return `turn ${turn}, ${path}: ${reason}`.replace(/\s+/g, ' ');
}

const shownPaths = 5;

/**
 * Returns one line about how much is proven: `proof: nothing differs; 3 paths proven, 1 not proven (turn 01,
 * src/app.ts: action 2, a command, changed it)`. The CI files find this line in the output by its first word.
 */
export function describeProof({ turns, unplanned }: ReplayedLine): string {
  const different = turns.filter(({ outcome }) => outcome === 'different').length;
  const proven = turns.reduce((sum, turn) => sum + turn.proven, 0);
  const open = turns.flatMap(({ unproven }) => unproven);
  const more = open.length > shownPaths ? [`and ${open.length - shownPaths} more`] : [];
  const why = [...open.slice(0, shownPaths).map(describeOpen), ...more].join('; ');
  return [
    `proof: ${different === 0 ? 'nothing differs' : count(different, 'turn differs', 'turns differ')}`,
    `; ${count(proven, 'path')} proven`,
    open.length === 0 ? '' : `, ${open.length} not proven (${why})`,
    unplanned.commits === 0
      ? ''
      : `; ${count(unplanned.paths, 'path')} changed in ${count(unplanned.commits, 'commit')} that no plan describes`,
  ].join('');
}

function count(amount: number, one: string, many = `${one}s`): string {
  return `${amount} ${amount === 1 ? one : many}`;
}
