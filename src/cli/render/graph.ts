/** Draws a session's lines side by side, one row per entry, as wide as the terminal. */
import type { GraphEntry, GraphLine, SessionGraph } from '../../workflow/review/log-graph.ts';
import { describeLogged, styleVerdict } from './verdict.ts';
import { cutToWidth, widthOf } from './cut-to-width.ts';
import type { Style, Terminal } from '../terminal.ts';
import { toVisible } from '../../session/text/visible-text.ts';

const laneStyles = ['cyan', 'magenta', 'blue', 'yellow'] as const;
const hashLength = 10;

interface Drawing {
  terminal: Terminal;
  lines: Map<string, GraphLine>;
  /** Indexed by depth: a lane runs from the tip of its line to the point where the line forks. */
  isOpen: boolean[];
}

/** Ends with a newline; returns an empty text without entries. */
export function renderGraph(terminal: Terminal, { lines, entries }: SessionGraph): string {
  const drawing: Drawing = { terminal, lines: new Map(lines.map((line) => [line.name, line])), isOpen: [] };
  const ends = new Map(entries.map((entry) => [entry.line, entry.commit]));
  const rows = entries.flatMap((entry, at) => {
    const line = drawing.lines.get(entry.line);
    if (line === undefined) return [];
    const isTip = entry.commit === line.tip;
    const above = drawing.lines.get(entries[at - 1]?.line ?? '');
    const gap = isTip && above !== undefined && line.depth === 0 && above.leaves?.commit !== entry.commit ? [''] : [];
    const title = isTip ? [drawTitle(drawing, line, entry)] : [];
    const row = drawEntry(drawing, line, entry, isTip);
    const end = ends.get(entry.line) === entry.commit ? drawEnd(drawing, line) : [];
    return [...gap, ...title, row, ...end];
  });
  return rows.length === 0 ? '' : `${rows.join('\n')}\n`;
}

function drawTitle(drawing: Drawing, line: GraphLine, { labels }: GraphEntry): string {
  const { terminal } = drawing;
  const place = line.kind === 'archived' ? ' (archived)' : line.remote === null ? '' : ` (only on ${line.remote})`;
  const others = labels.length === 0 ? '' : `, ${labels.join(', ')}`;
  const text = toVisible(`${line.isHead ? 'HEAD -> ' : ''}${line.name}${place}${others}`);
  const lanes = drawLanes(drawing, line.depth);
  const style: Style = line.isHead ? ['bold', 'green'] : 'bold';
  return `${lanes}  ${terminal.style(style, cutToWidth(text, terminal.columns - 2 * line.depth - 2))}`;
}

function drawEntry(drawing: Drawing, line: GraphLine, entry: GraphEntry, isTip: boolean): string {
  const { terminal } = drawing;
  drawing.isOpen[line.depth] = true;
  const lanes = `${drawLanes(drawing, line.depth)}${inLane(terminal, line.depth, '*')} `;
  const hash = terminal.style('yellow', entry.commit.slice(0, hashLength));
  const labels = isTip || entry.labels.length === 0 ? '' : `(${toVisible(entry.labels.join(', '))}) `;
  const room = terminal.columns - 2 * (line.depth + 1) - hashLength - 1;
  const shownLabels = cutToWidth(labels, room);
  const text = cutToWidth(describe(entry), room - widthOf(shownLabels));
  return `${lanes}${hash} ${terminal.style('green', shownLabels)}${styleEntry(terminal, entry, text)}`.trimEnd();
}

function describe(entry: GraphEntry): string {
  return toVisible(entry.entry === null ? `${entry.author.name}: ${entry.subject}` : describeLogged(entry));
}

/** Emphasizes messages and outcomes, because they begin and end a turn. */
function styleEntry(terminal: Terminal, { entry }: GraphEntry, text: string): string {
  if (entry === null) return terminal.style('dim', text);
  if (entry.kind === 'message') return terminal.style('bold', text);
  if (entry.kind === 'approval') return styleVerdict(terminal, entry, text);
  if (entry.kind !== 'report' || entry.status === undefined) return text;
  const style = entry.status === 'SUCCESS' ? 'green' : 'red';
  const at = text.indexOf(`: ${entry.status}`);
  if (at === -1) return text;
  const end = at + 2 + entry.status.length;
  return text.slice(0, at + 2) + terminal.style(style, text.slice(at + 2, end)) + text.slice(end);
}

/** Draws the point where a line forks; its parent is directly below. */
function drawEnd(drawing: Drawing, { depth, leaves }: GraphLine): string[] {
  drawing.isOpen[depth] = false;
  if (leaves === null) return [];
  const parent = drawing.isOpen[depth - 1] ? inLane(drawing.terminal, depth - 1, '|') : ' ';
  return [`${drawLanes(drawing, depth - 1)}${parent}${inLane(drawing.terminal, depth, '/')}`];
}

function drawLanes({ terminal, isOpen }: Drawing, count: number): string {
  const lanes = Array.from({ length: count }, (_, depth) => (isOpen[depth] ? inLane(terminal, depth, '|') : ' '));
  return lanes.map((lane) => `${lane} `).join('');
}

function inLane(terminal: Terminal, depth: number, text: string): string {
  return terminal.style(laneStyles[depth % laneStyles.length] ?? 'cyan', text);
}
