/**
 * Charts the turns' tokens, cost and time as inline SVG, with a table of the numbers. Each series is one path, so that
 * even a thousand turns stay small.
 */
import { countOf, formatCost, formatDuration } from '../session/spending/describe-spending.ts';
import { formatCount } from '../session/text/format-count.ts';
import { html, type Html } from './html.ts';
import type { PageTurn, SessionPage } from './session-page.ts';

interface TurnNumbers {
  turn: string;
  /** The request's tokens, in stacking order. */
  history: number;
  files: number;
  rest: number;
  answer: number;
  cached: number;
  costUsd: number;
  durationMs: number;
}

const height = 100;

/** Renders the numbers of the requested line's turns. */
export function renderNumbers({ turns, shown }: SessionPage): Html {
  const numbers = turns.filter(({ turn }) => shown.includes(turn)).map(countTurn);
  const most = maxOf(numbers.map(sumTokens));
  const cost = numbers.reduce((sum, { costUsd }) => sum + costUsd, 0);
  const longest = maxOf(numbers.map(({ durationMs }) => durationMs));
  return html`<section class="charts" id="numbers" data-view="numbers" aria-labelledby="numbers-title">
    <h2 id="numbers-title">Numbers</h2>
    <div class="grid">
      ${
        most === 0
          ? null
          : html`<figure>
              ${renderTokens(numbers, most)}
              <figcaption>
                Tokens per turn, at most ${formatCount(most)}
                <span class="key"
                  ><span class="history">history</span> <span class="files">files</span>
                  <span class="rest">prompt and message</span> <span class="answer">answer</span>
                  <span class="cached">of these, cached</span></span
                >
              </figcaption>
            </figure>`
      }
      ${
        cost === 0
          ? null
          : html`<figure>
              ${renderCost(numbers, cost)}
              <figcaption>Cumulative cost: ${formatCost(cost)}</figcaption>
            </figure>`
      }
      ${
        longest === 0
          ? null
          : html`<figure>
              ${chart(
                'Time per turn',
                numbers.length,
                html`<path
                  class="time"
                  d="${toBars(
                    numbers.map(({ durationMs }) => [0, durationMs]),
                    longest,
                  )}"
                ></path>`,
              )}
              <figcaption>Time per turn, at most ${formatDuration(longest)}</figcaption>
            </figure>`
      }
    </div>
    <details class="fold">
      <summary>
        As a table
        <span class="muted">${countOf(numbers.length, 'turn')}; history, files, prompt and message are estimates</span>
      </summary>
      ${renderTable(numbers)}
    </details>
  </section>`;
}

/** The request's sections are estimates; the endpoint counted the answer and the cached tokens. */
function countTurn({ turn, request, spent, startedAt, endedAt }: PageTurn): TurnNumbers {
  const sum = (name: string) =>
    (request?.sections ?? []).reduce((all, section) => all + (section.name === name ? section.tokens : 0), 0);
  const [history, files] = [sum('history'), sum('file')];
  const all = Math.max(request?.tokens ?? 0, history + files, spent.answers > spent.unreported ? spent.inputTokens : 0);
  const durationMs = Math.max(Date.parse(endedAt) - Date.parse(startedAt), 0) || 0;
  const cached = Math.min(spent.cachedTokens ?? 0, all);
  return {
    turn,
    history,
    files,
    rest: all - history - files,
    answer: spent.outputTokens,
    cached,
    costUsd: spent.costUsd ?? spent.estimatedUsd ?? 0,
    durationMs,
  };
}

function sumTokens({ history, files, rest, answer }: TurnNumbers): number {
  return history + files + rest + answer;
}

function renderTokens(numbers: readonly TurnNumbers[], most: number): Html {
  const series = ['history', 'files', 'rest', 'answer'] as const;
  const bars = series.map((name, at) => {
    const below = (one: TurnNumbers) => series.slice(0, at).reduce((sum, other) => sum + one[other], 0);
    return html`<path
      class="${name}"
      d="${toBars(
        numbers.map((one) => [below(one), below(one) + one[name]]),
        most,
      )}"
    ></path>`;
  });
  const cached = html`<path
    class="cached"
    d="${toBars(
      numbers.map((one) => [0, one.cached]),
      most,
    )}"
  ></path>`;
  return chart('Tokens per turn', numbers.length, html`${bars}${cached}`);
}

function renderCost(numbers: readonly TurnNumbers[], total: number): Html {
  let sum = 0;
  const steps = numbers.map(({ costUsd }, at) => {
    sum += costUsd;
    return `L${at} ${toY(sum, total)}H${at + 1}`;
  });
  return chart(
    'Cumulative cost',
    numbers.length,
    html`<path class="cost" d="M0 ${height}${steps.join('')}V${height}Z"></path>`,
  );
}

function chart(title: string, count: number, body: Html): Html {
  return html`<svg
    class="chart"
    viewBox="0 0 ${Math.max(count, 1)} ${height}"
    preserveAspectRatio="none"
    role="img"
    aria-label="${title}, ${countOf(count, 'turn')}"
  >
    ${body}
  </svg>`;
}

/** Draws a bar for each turn, from one value to another. */
function toBars(values: readonly (readonly [from: number, to: number])[], most: number): string {
  const gap = values.length > 150 ? 0 : 0.15;
  return values
    .map(([from, to], at) => {
      const [bottom, top] = [toY(from, most), toY(to, most)];
      return top === bottom ? '' : `M${at + gap} ${bottom}V${top}h${1 - 2 * gap}V${bottom}z`;
    })
    .join('');
}

function toY(value: number, most: number): number {
  return most === 0 ? height : Math.round((height - (value / most) * height) * 10) / 10;
}

function renderTable(numbers: readonly TurnNumbers[]): Html {
  const heads = ['Turn', 'History', 'Files', 'Prompt and message', 'Cached', 'Answer', 'Cost', 'Time, with waiting'];
  const rows = numbers.map(
    (one) =>
      html`<tr>
        <th scope="row"><a href="#t${one.turn}">${one.turn}</a></th>
        ${[one.history, one.files, one.rest, one.cached, one.answer].map((count) => html`<td>${ifAny(count, formatCount)}</td>`)}
        <td>${ifAny(one.costUsd, formatCost)}</td>
        <td>${ifAny(one.durationMs, formatDuration)}</td>
      </tr>`,
  );
  return html`<div class="scroll" tabindex="0">
    <table class="numbers">
      <thead>
        <tr>
          ${heads.map((head) => html`<th scope="col">${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;
}

/** Nothing, or nothing that anybody has counted. */
function ifAny(count: number, format: (count: number) => string): string {
  return count === 0 ? '–' : format(count);
}

/** `Math.max(...)` puts its arguments on the stack, which a very long session would overflow. */
function maxOf(numbers: readonly number[]): number {
  return numbers.reduce((most, one) => Math.max(most, one), 0);
}
