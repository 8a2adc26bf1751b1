/** Renders the result of `verify`: one row per line, and one row per fault. */
import { countOf } from '../../session/spending/describe-spending.ts';
import { formatCount } from '../../session/text/format-count.ts';
import type { VerifiedLine, Violation } from '../../session/entries/violation.ts';
import { toVisible } from '../../session/text/visible-text.ts';
import type { VerifiedSessions } from '../../workflow/verify/session.ts';
import type { Terminal } from '../terminal.ts';

export function isClean({ lines, change, fsck }: VerifiedSessions): boolean {
  const isWell = lines.every(({ violations, isWhole }) => isWhole && violations.length === 0);
  return isWell && (change?.violations ?? []).length === 0 && (fsck ?? []).length === 0;
}

export function renderVerified(terminal: Terminal, { lines, change, fsck }: VerifiedSessions): string {
  const faults = change?.violations ?? [];
  const isEmpty = lines.length === 0 && faults.length === 0;
  const blocks = isEmpty ? ['There is no session here.\n'] : lines.map((line) => renderLine(terminal, line));
  if (faults.length > 0)
    blocks.push(
      `session files in the change: ${terminal.style('red', countOf(faults.length, 'fault'))}\n`,
      ...faults.map(renderViolation),
    );
  const said = (fsck ?? []).map((row) => `  ${toRow(row)}\n`);
  const summary = said.length === 0 ? 'no fault' : terminal.style('red', countOf(said.length, 'fault'));
  return [...blocks, ...(fsck === null ? [] : [`git fsck: ${summary}\n`, ...said])].join('');
}

function renderLine(terminal: Terminal, line: VerifiedLine): string {
  const { line: name, entries, turns, derived, attested, violations, isWhole, notes } = line;
  const looked = `${countOf(entries, 'entry', 'entries')} in ${countOf(turns, 'turn')}`;
  const checks = [
    ...(derived === 0 ? [] : [`${countOf(derived, 'log section')} checked against the commits`]),
    ...(attested === 0 ? [] : [`${formatCount(attested)} could not be checked`]),
    ...(line.signed === null ? [] : [`${formatCount(line.signed)} signed`]),
  ];
  const checked = checks.length === 0 ? '' : ` (${checks.join(', ')})`;
  const verdict =
    violations.length > 0
      ? terminal.style('red', countOf(violations.length, 'fault'))
      : isWhole
        ? terminal.style('green', 'no fault')
        : terminal.style('yellow', 'not verified');
  const rows = violations.map(renderViolation);
  return [
    `${toVisible(name)}: ${looked}: ${verdict}${checked}\n`,
    ...rows,
    ...notes.map((note) => `  ${toVisible(note)}\n`),
  ].join('');
}

function renderViolation({ rule, commit, turn, path, message }: Violation): string {
  const place = [
    commit.slice(0, 10),
    ...(turn === null ? [] : [`turn ${turn}`]),
    rule,
    ...(path === null ? [] : [path]),
  ];
  return `  ${toRow(`${place.join(' ')}: ${message}`)}\n`;
}

/** Makes sure that text from a repository cannot begin a new line. */
function toRow(text: string): string {
  return toVisible(text)
    .split('\n')
    .map((row) => row.trim())
    .join(' ');
}
