/** A replay for GitHub Actions: workflow commands on the job's log, and a table for the summary of the step. */
import type { Difference, ReplayedLine } from '../workflow/replay/replayed.ts';
import { describeActions, describePlace, outcomeTexts, summarise } from './render-replay.ts';
import { toVisible } from './terminal.ts';

/** A runner shows ten of a step. */
const maxAnnotations = 10;
const maxSummaryRows = 200;

/** One line each: `::error file=src/a.ts,title=...::...`; empty when nothing differs. */
export function renderAnnotations({ turns }: ReplayedLine): string {
  const all = turns.flatMap(({ differences }) => differences);
  const more = all.length - maxAnnotations;
  const shown = more > 0 ? all.slice(0, maxAnnotations - 1) : all;
  const rest = more > 0 ? [`::error title=teddy session replay::${all.length - shown.length} more differences`] : [];
  return [...shown.map(renderAnnotation), ...rest].map((line) => `${line}\n`).join('');
}

function renderAnnotation(difference: Difference): string {
  const file = difference.path === null ? '' : `file=${escapeProperty(difference.path)},`;
  const title = escapeProperty(toVisible(`replay: ${describePlace({ ...difference, path: null })}`));
  return `::error ${file}title=${title}::${escapeData(toVisible(difference.message))}`;
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}

/** The runner obeys nothing between the two lines. `token`: nobody else can know it. */
export function fenceOutput(text: string, token: string): string {
  return `::stop-commands::${token}\n${text.endsWith('\n') ? text : `${text}\n`}::${token}::\n`;
}

/** Markdown. */
export function renderStepSummary(line: ReplayedLine): string {
  const { session, name, turns } = line;
  const order = { different: 0, not_compared: 1, same: 2, nothing_to_compare: 3 };
  // Of a long session what differs is shown in any case.
  const rows = turns.length > maxSummaryRows ? turns.toSorted((a, b) => order[a.outcome] - order[b.outcome]) : turns;
  const all = turns.flatMap(({ differences }) => differences);
  return [
    `### Replay of ${toCell(session)} (${toCell(name)})`,
    '',
    '| turn | recorded | outcome | actions |',
    '| --- | --- | --- | --- |',
    ...rows
      .slice(0, maxSummaryRows)
      .map(
        (turn) =>
          `| ${turn.turn} | ${turn.status ?? '-'} | ${outcomeTexts[turn.outcome]} | ${toCell(describeActions(turn))} |`,
      ),
    ...(rows.length > maxSummaryRows ? ['', `${rows.length - maxSummaryRows} more turns.`] : []),
    '',
    ...(all.length === 0 ? [] : ['| where | what |', '| --- | --- |']),
    ...all.slice(0, maxSummaryRows).map((one) => `| ${toCell(describePlace(one))} | ${toCell(one.message)} |`),
    ...(all.length === 0 ? [] : ['']),
    toCell(summarise(line)),
    '',
    '',
  ].join('\n');
}

/** On one line, and nothing of it is markup. */
function toCell(text: string): string {
  return toVisible(text)
    .replace(/\s+/g, ' ')
    .replace(/[\\`*_{}[\]()<>#|~!&@:]/g, (mark) => `&#${mark.codePointAt(0)};`);
}
