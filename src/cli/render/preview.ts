/** Renders `teddy execute --dry-run`: each action with its effect, then one diff per file. */
import { equalBytes } from '../../session/text/bytes.ts';
import type { Effect, WriteEffect } from '../../plan/effects/effect.ts';
import type { EditMatch } from '../../plan/match/match.ts';
import type { Action } from '../../plan/plan.ts';
import { describeAction } from '../../plan/actions/actions.ts';
import type { PlanPreview, PreviewedAction, PreviewedMemo } from '../../workflow/run/preview-plan.ts';
import { colorDiff } from './color-diff.ts';
import { renderEffect } from './effect.ts';
import { showProblems } from './problems.ts';
import type { Terminal } from '../terminal.ts';
import { toVisible } from '../../session/text/visible-text.ts';
import { pairWords } from '../../plan/match/word-diff.ts';
import { groupBy } from '../../session/text/group-by.ts';

const maxShownLines = 10;

/** Renders the part for stdout. */
export function renderPreview(terminal: Terminal, preview: PlanPreview): string {
  const { session, turn, title, memos, actions, count, files } = preview;
  const sections = [
    terminal.style('bold', toVisible(`Turn ${turn} of ${session}: ${title}`)),
    ...(memos.length === 0 ? [] : [renderMemos(terminal, memos)]),
    ...actions.map((previewed) => renderAction(terminal, previewed, count)),
    ...files.map(({ diff }) => colorDiff(terminal, diff, 'stdout', pairWords)),
  ];
  return `${sections.join('\n\n')}\n`;
}

/** Reports on stderr the problems, the unknown facts, and what to do next. */
export function showFindings(terminal: Terminal, { problems, actions }: PlanPreview): void {
  showProblems(terminal, problems);
  const command = actions.findIndex(({ effect }) => effect?.kind === 'command');
  if (command !== -1 && actions.slice(command).some(({ effect }) => effect?.kind === 'write'))
    terminal.say(
      'teddy cannot predict what a command would change, so the actions after it are shown for the files as they are now.',
    );
  terminal.say(
    problems.length === 0
      ? 'Nothing was changed. To run it: teddy execute'
      : 'Nothing was changed. The plan is not valid: teddy execute would only record that in its report.',
  );
}

export function toPreviewJson({ session, line, turn, title, actions, memos, files, problems }: PlanPreview): object {
  const shown = actions.map(({ action, effect }) => ({
    index: action.index,
    type: action.type,
    description: action.description,
    effect: effect && toEffectJson(effect),
  }));
  return { session, line, turn, title, actions: shown, files, memos, problems };
}

/** Omits the contents of files, since the diffs have them. */
function toEffectJson(effect: Effect): object {
  if (effect.kind === 'write') {
    const matches = effect.matches.map(({ pair, kind, line }) => ({ pair, match: kind, line }));
    return { kind: effect.kind, path: effect.path, change: toChange(effect), matches };
  }
  const { action: _, ...shown } = effect;
  if (shown.kind !== 'command') return shown;
  const { timeoutMs, ...command } = shown;
  return { ...command, timeout_ms: timeoutMs };
}

function toChange({ before, after }: WriteEffect): 'added' | 'modified' | 'none' {
  if (before === null) return 'added';
  return equalBytes(before, after) ? 'none' : 'modified';
}

function renderMemos(terminal: Terminal, memos: readonly PreviewedMemo[]): string {
  const lines = memos.map(({ kind, fact, applies }) => {
    const [sign, color] = kind === 'add' ? (['+', 'green'] as const) : (['-', 'red'] as const);
    const note = applies ? '' : kind === 'add' ? ' (exists already)' : ' (no such memo)';
    return `${terminal.style(color, `  [${sign}] ${toVisible(fact)}`)}${note}`;
  });
  return [terminal.style('bold', 'Memos'), ...lines].join('\n');
}

function renderAction(terminal: Terminal, { action, effect }: PreviewedAction, count: number): string {
  const title = describeAction(action);
  const lines = [
    terminal.style('bold', `${action.index}/${count} ${toVisible(title)}`),
    ...(action.description === null ? [] : [terminal.style('dim', toVisible(action.description))]),
    effect === null ? terminal.style('red', '  cannot be done') : describeEffect(action, effect, title),
  ];
  return lines.filter((line) => line !== '').join('\n');
}

function describeEffect(action: Action, effect: Effect, title: string): string {
  if (effect.kind === 'write') return describeWrite(effect);
  if (effect.kind === 'ask') return indent(toVisible(effect.text.trim()));
  if (action.type !== 'EXECUTE') return renderEffect(effect, title);
  const limits = [
    ...(action.timeoutMs === null ? [] : [`  at most ${action.timeoutMs / 1000} s`]),
    ...(action.allowFailure ? ['  a failure does not stop the run'] : []),
  ];
  return [...limits, renderEffect(effect, title)].join('\n');
}

function describeWrite(effect: WriteEffect): string {
  const change = toChange(effect);
  if (change === 'added') return '  a new file';
  if (change === 'none') return '  the file already has this content';
  if (effect.matches.length === 0) return '  the whole file is replaced';
  return groupByPair(effect.matches)
    .map((matches) => `  ${describeMatches(matches)}`)
    .join('\n');
}

function groupByPair(matches: readonly EditMatch[]): EditMatch[][] {
  return [...groupBy(matches, ({ pair }) => pair).values()];
}

const matchNotes: Record<EditMatch['kind'], string> = {
  file: '',
  lines: '',
  part: '',
  'trailing-space': ', where white space at the ends of lines differs',
  indentation: ', where the indentation differs',
};

/** Describes the places that match one pair, all found in the same way. */
function describeMatches(matches: readonly EditMatch[]): string {
  const kind = matches[0]?.kind ?? 'file';
  if (kind === 'file') return 'the whole file is replaced';
  const numbers = [...new Set(matches.map(({ line }) => line))];
  const more = numbers.length > maxShownLines ? ` and ${numbers.length - maxShownLines} more` : '';
  const shown = numbers.slice(0, maxShownLines).join(', ');
  return `at line${numbers.length === 1 ? '' : 's'} ${shown}${more}${matchNotes[kind]}`;
}

function indent(text: string): string {
  return text
    .split('\n')
    .map((line) => `  ${line}`.trimEnd())
    .join('\n');
}
