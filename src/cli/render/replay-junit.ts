/** Renders a replay as JUnit XML, with one test case per turn. */
import type { Difference, ReplayedLine, ReplayedTurn } from '../../workflow/replay/replayed.ts';
import { describeActions, describeOpen, describePlace } from './replay.ts';

export function renderReplayJunit(lines: readonly ReplayedLine[]): string {
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="teddy replay" ${renderCounts(lines.flatMap(({ turns }) => turns))}>`,
    ...lines.flatMap(renderSuite),
    '</testsuites>',
    '',
  ].join('\n');
}

function renderSuite({ session, turns }: ReplayedLine): string[] {
  return [
    `  <testsuite name="${escapeXml(session)}" ${renderCounts(turns)}>`,
    ...turns.flatMap((turn) => renderCase(session, turn)),
    '  </testsuite>',
  ];
}

function renderCounts(turns: readonly ReplayedTurn[]): string {
  const count = (outcome: ReplayedTurn['outcome']) => turns.filter((turn) => turn.outcome === outcome).length;
  const totalMs = turns.reduce((sum, { durationMs }) => sum + durationMs, 0);
  return `tests="${turns.length}" failures="${count('different')}" errors="0" skipped="${count('nothing_to_compare') + count('not_compared')}" time="${toSeconds(totalMs)}"`;
}

function renderCase(session: string, turn: ReplayedTurn): string[] {
  const open = `    <testcase classname="${escapeXml(session)}" name="turn ${escapeXml(turn.turn)}" time="${toSeconds(turn.durationMs)}"`;
  if (turn.outcome === 'same') return [`${open}/>`];
  const why = [describeActions(turn), ...turn.unproven.map((one) => `not proven: ${describeOpen(one)}`)].join('; ');
  const inside = turn.outcome === 'different' ? renderFailure(turn) : `<skipped message="${escapeXml(why)}"/>`;
  return [`${open}>`, `      ${inside}`, '    </testcase>'];
}

function renderFailure({ differences }: ReplayedTurn): string {
  const [first] = differences;
  const more = differences.length > 1 ? ` (and ${differences.length - 1} more)` : '';
  const message = first === undefined ? '' : `${describePlace(first)}: ${first.message}${more}`;
  return `<failure type="different" message="${escapeXml(message)}">${escapeXml(differences.map(renderText).join('\n'))}</failure>`;
}

function renderText(difference: Difference): string {
  return `${describePlace(difference)}: ${difference.message}\n${difference.diff ?? ''}`;
}

function toSeconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

const names: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' };

/** Escapes text and attributes alike. Shows a character that XML 1.0 cannot represent as its code point: `\u{1b}`. */
function escapeXml(text: string): string {
  return text
    .replace(/[&<>"']/g, (mark) => names[mark] ?? mark)
    .replace(/[^\P{Cc}\t\n\r]|\p{Surrogate}|[\uFFFE\uFFFF]/gu, (bad) => `\\u{${bad.codePointAt(0)?.toString(16)}}`)
    .replace(/[\t\n\r]/g, (space) => `&#${space.codePointAt(0)};`);
}
