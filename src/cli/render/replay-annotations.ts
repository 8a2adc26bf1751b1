/** Shows a replay on GitHub Actions: workflow commands for the job's log, and a table for the step summary. */
import { appendFile } from 'node:fs/promises';
import type { Difference, ReplayedLine, UnprovenPath } from '../../workflow/replay/replayed.ts';
import { describeActions, describePlace, describeProof, outcomeTexts, summarise } from './replay.ts';
import { toVisible } from '../../session/text/visible-text.ts';
import { resolvePath } from '../context.ts';
import type { Terminal } from '../terminal.ts';

/** A runner shows at most ten errors and ten warnings per step. */
const maxAnnotations = 10;
const maxSummaryRows = 200;

/**
 * Writes the annotations on GitHub Actions; does nothing elsewhere. With `json`, stdout is one document, so the
 * annotations go to stderr, which the runner also reads.
 */
export async function annotate(terminal: Terminal, replayed: ReplayedLine, json: boolean): Promise<void> {
  const { context } = terminal;
  if (context.env['GITHUB_ACTIONS'] !== 'true') return;
  const text = renderAnnotations(replayed);
  if (text !== '' && json) terminal.say(text.trimEnd());
  else terminal.print(text);
  const summary = context.env['GITHUB_STEP_SUMMARY'];
  if (summary === undefined || summary === '') return;
  await appendFile(resolvePath(context, summary), renderStepSummary(replayed)).catch((error: Error) =>
    terminal.say(`warning: The step summary could not be written: ${toVisible(error.message)}`),
  );
}

/**
 * Renders one line each: `::error file=src/a.ts,title=...::...` for a difference, and `::warning` for a path that is
 * not proven; empty when there is neither.
 */
export function renderAnnotations({ turns }: ReplayedLine): string {
  const differences = turns.flatMap((turn) => turn.differences);
  const open = turns.flatMap(({ unproven }) => unproven);
  const lines = [
    ...cut(differences, renderAnnotation, (rest) => `::error title=teddy replay::${rest} more differences`),
    ...cut(open, renderWarning, (rest) => `::warning title=teddy replay::${rest} more paths are not proven`),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

function cut<Item>(all: Item[], render: (item: Item) => string, renderRest: (count: number) => string): string[] {
  if (all.length <= maxAnnotations) return all.map(render);
  const shown = all.slice(0, maxAnnotations - 1);
  return [...shown.map(render), renderRest(all.length - shown.length)];
}

function renderWarning({ turn, path, reason }: UnprovenPath): string {
  const title = escapeProperty(toVisible(`replay: turn ${turn} is not proven`));
  return `::warning file=${escapeProperty(path)},title=${title}::${escapeData(toVisible(reason))}`;
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

/** Fences the output between two lines that make the runner ignore commands. Nobody else can guess `token`. */
export function fenceOutput(text: string, token: string): string {
  return `::stop-commands::${token}\n${text.endsWith('\n') ? text : `${text}\n`}::${token}::\n`;
}

/** Returns Markdown. */
export function renderStepSummary(line: ReplayedLine): string {
  const { session, line: name, turns } = line;
  const order = { different: 0, not_compared: 1, same: 2, nothing_to_compare: 3 };
  // Always shows the turns that differ, even in a long session.
  const rows = turns.length > maxSummaryRows ? turns.toSorted((a, b) => order[a.outcome] - order[b.outcome]) : turns;
  const all = [
    ...turns.flatMap(({ differences }) => differences).map((one) => [describePlace(one), one.message] as const),
    ...turns
      .flatMap(({ unproven }) => unproven)
      .map((one) => [`turn ${one.turn}, ${one.path}`, `Not proven: ${one.reason}.`] as const),
  ];
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
    ...all.slice(0, maxSummaryRows).map(([place, message]) => `| ${toCell(place)} | ${toCell(message)} |`),
    ...(all.length === 0 ? [] : ['']),
    toCell(summarise(line)),
    '',
    toCell(describeProof(line)),
    '',
    '',
  ].join('\n');
}

/** Returns one line without markup. */
function toCell(text: string): string {
  return toVisible(text)
    .replace(/\s+/g, ' ')
    .replace(/[\\`*_{}[\]()<>#|~!&@:]/g, (mark) => `&#${mark.codePointAt(0)};`);
}
