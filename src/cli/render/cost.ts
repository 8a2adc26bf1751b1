/** Renders tables of tokens and money, for the user. */
import { formatCount } from '../../session/text/format-count.ts';
import type { BudgetPart, LineCost, Tokens } from '../../workflow/review/count-cost.ts';
import type { Spending } from '../../session/spending/spending.ts';
import { cutToWidth, padTo, widthOf } from './cut-to-width.ts';
import { countOf, formatCost } from '../../session/spending/describe-spending.ts';
import type { Terminal } from '../terminal.ts';
import { toVisible } from '../../session/text/visible-text.ts';

/** Ends with a newline. */
export function renderCost(terminal: Terminal, cost: LineCost): string {
  const hasCached = cost.spent.cachedTokens !== undefined;
  const turns = cost.turns.map(({ turn, models, spent, estimated, title }) => [
    turn,
    ...toCells(spent, estimated, hasCached),
    models.length === 0 ? '' : cutToWidth(toVisible(models.join(', ')), 20),
    toVisible(title),
  ]);
  const models = cost.models.map(({ model, spent }) => [
    cutToWidth(toVisible(model), 30),
    ...toCells(spent, null, hasCached),
    countOf(spent.answers, 'answer'),
  ]);
  const parts = [
    terminal.style('bold', toVisible(`${cost.session} (${cost.line})`)),
    cost.turns.length === 0
      ? 'There are no turns yet.'
      : renderTable(terminal, ['turn', ...toHeads(hasCached), 'model', ''], turns, [
          'total',
          ...toCells(cost.spent, null, hasCached),
        ]),
    ...(cost.models.length > 1 ? [renderTable(terminal, ['model', ...toHeads(hasCached), ''], models, null)] : []),
    [
      ...describeParts(cost.spent),
      ...describePrices(cost),
      ...describeEstimate(cost.estimated, cost.spent),
      ...describeBudget(cost.budget),
    ].join('\n'),
  ];
  return `${parts.join('\n\n')}\n`;
}

function toHeads(hasCached: boolean): string[] {
  return ['in>', ...(hasCached ? ['cached>'] : []), 'out>', 'cost>'];
}

/** Reported numbers have no mark; `~` marks an estimate, and `-` an unknown number. */
function toCells(
  { answers, unreported, inputTokens, outputTokens, cachedTokens = 0, costUsd, estimatedUsd }: Spending,
  guess: Tokens | null,
  hasCached: boolean,
): string[] {
  const isKnown = answers > unreported;
  const cell = (known: number, guessed: number | undefined) =>
    isKnown
      ? `${formatCount(known)}${unreported > 0 ? '+' : ''}`
      : guessed === undefined || answers === 0
        ? '-'
        : `~${formatCount(guessed)}`;
  return [
    cell(inputTokens, guess?.inputTokens),
    ...(hasCached ? [isKnown ? toShare(cachedTokens, inputTokens) : '-'] : []),
    cell(outputTokens, guess?.outputTokens),
    costUsd === null && estimatedUsd === undefined
      ? '-'
      : `${estimatedUsd === undefined ? '' : '~'}${formatCost((costUsd ?? 0) + (estimatedUsd ?? 0))}`,
  ];
}

/** Returns, for example, `9,000 (82 %)`. */
function toShare(part: number, whole: number): string {
  return whole === 0 ? formatCount(part) : `${formatCount(part)} (${Math.floor((100 * part) / whole)} %)`;
}

/** Describes how well the endpoints used their caches, and how much reasoning there was. */
function describeParts({ inputTokens, outputTokens, cachedTokens, reasoningTokens }: Spending): string[] {
  return [
    ...(cachedTokens === undefined
      ? []
      : [`Read from caches: ${toShare(cachedTokens, inputTokens)} of ${formatCount(inputTokens)} tokens in.`]),
    ...(reasoningTokens === undefined
      ? []
      : [`Reasoning: ${toShare(reasoningTokens, outputTokens)} of ${formatCount(outputTokens)} tokens out.`]),
  ];
}

/** Names the models without a known price, because teddy never counts an unknown cost as zero. */
function describePrices({ spent, unpriced }: LineCost): string[] {
  const estimated = spent.estimatedUsd === undefined ? [] : ["~ marks a cost estimated from the models' prices."];
  const [model] = unpriced;
  if (model === undefined) return estimated;
  const key = toVisible(`teddy.model.${model}.price`);
  return [
    ...estimated,
    `No price is known for ${toVisible(unpriced.join(', '))}: \`teddy models update\`, or \`git config ${key} <in>/<out>\`.`,
  ];
}

function describeEstimate(estimated: Tokens | null, { unreported }: Spending): string[] {
  if (estimated === null) return [];
  const answers = unreported === 1 ? 'One answer reports' : `${formatCount(unreported)} answers report`;
  const { inputTokens, outputTokens } = estimated;
  return [`${answers} no tokens; estimated: ~${formatCount(inputTokens)} in, ~${formatCount(outputTokens)} out.`];
}

function describeBudget({ maxTurns, maxTokens }: LineCost['budget']): string[] {
  const turns = describePart('turns', maxTurns);
  const tokens = describePart('tokens', maxTokens);
  const known = [...turns, ...tokens];
  if (known.length > 0) return [`Budget: ${known.join(', ')} spent.`];
  return ['No budget is set (teddy.maxTurns, teddy.maxTokens).'];
}

function describePart(what: string, { limit, spent }: BudgetPart): string[] {
  if (limit === null) return [];
  const share = limit === 0 ? '' : ` (${Math.round((100 * spent) / limit)} %)`;
  return [`${formatCount(spent)} of ${formatCount(limit)} ${what}${share}`];
}

const gap = '  ';

/**
 * Renders rows of cells below their heads, and cuts the last column to fit the terminal. A `>` at the end of a head
 * aligns its column to the right. `total` is the last row. The result has no final newline.
 */
function renderTable(
  terminal: Terminal,
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  total: readonly string[] | null,
): string {
  const names = heads.map((head) => head.replace(/>$/, ''));
  const all = [names, ...rows, ...(total === null ? [] : [total])];
  const widths = heads.map((_, column) => Math.max(...all.map((row) => widthOf(row[column] ?? ''))));
  const render = (row: readonly string[]) => {
    const cells = row.map((cell, column) => {
      const width = widths[column] ?? 0;
      return heads[column]?.endsWith('>') ? cell.padStart(width) : padTo(cell, width);
    });
    return cutToWidth(cells.join(gap).trimEnd(), terminal.columns);
  };
  return [
    terminal.style('dim', render(names)),
    ...rows.map(render),
    ...(total === null ? [] : [terminal.style('bold', render(total))]),
  ].join('\n');
}
