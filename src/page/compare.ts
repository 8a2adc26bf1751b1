/** Attempts beside each other: two turns at the same step, and the plans of a thread one after the other. */
import { renderPatch as comparePlans } from '../plan/diff.ts';
import { describeSpending } from '../session/describe-spending.ts';
import { renderFile, renderPatch } from './diff.ts';
import { html, type Html } from './html.ts';
import { renderMarkdown } from './markdown.ts';
import type { PageComparison, PagePlan, PageTurn, SessionPage } from './session-page.ts';
import { renderVerdict, reviseOf, titleOf } from './turn.ts';
import { toTurnState } from './turn-state.ts';

export function renderComparisons(page: SessionPage): Html | null {
  const find = (name: string | null) => page.turns.find(({ turn }) => turn === name) ?? null;
  const revisions = page.turns.flatMap((turn) => {
    const before = find(turn.parent);
    const old = reviseOf(before, turn);
    return old === null || before === null || turn.plan === null ? [] : [renderRevision(before, old, turn, turn.plan)];
  });
  const attempts = page.comparisons.flatMap((comparison) => {
    const [one, other] = [find(comparison.one), find(comparison.other)];
    return one === null || other === null ? [] : [renderAttempts(one, other, comparison)];
  });
  if (attempts.length + revisions.length === 0) return null;
  return html`<section class="compare" id="compare">
    <h2>Compared</h2>
    ${attempts}${revisions}
  </section>`;
}

function renderRevision(before: PageTurn, old: PagePlan, turn: PageTurn, plan: PagePlan): Html {
  const id = `c-${before.turn}-${turn.turn}`;
  return html`<details class="comparison" id="${id}">
    <summary><h3>Plan of turn ${before.turn}, revised in turn ${turn.turn}</h3></summary>
    ${before.verdicts.map((verdict) => renderVerdict(verdict, old))}
    ${before.verdicts.length > 0 || before.report?.report.run_summary.error == null ? null : html`<blockquote class="comment"><p>${before.report.report.run_summary.error}</p></blockquote>`}
    ${renderPlans(old, plan, id)}
  </details>`;
}

function renderAttempts(one: PageTurn, other: PageTurn, { code }: PageComparison): Html {
  const id = `c-${one.turn}-${other.turn}`;
  return html`<details class="comparison" id="${id}">
    <summary>
      <h3>Turn ${one.turn} and turn ${other.turn}</h3>
      <span class="muted">two attempts at the same step</span>
    </summary>
    <div class="sides">${[one, other].map(renderSide)}</div>
    ${
      one.plan === null || other.plan === null
        ? null
        : html`<p class="label">The plans</p>
            ${renderPlans(one.plan, other.plan, id)}`
    }
    <p class="label">The code, from what turn ${one.turn} left to what turn ${other.turn} left</p>
    ${code.length === 0 ? html`<p class="muted">The same.</p>` : code.map((file, at) => renderFile(file, `${id}-f${at + 1}`))}
  </details>`;
}

function renderSide(turn: PageTurn): Html {
  const { tone, word } = toTurnState(turn);
  const message = turn.parts.find(({ kind }) => kind === 'message');
  return html`<section>
    <h4><a href="#t${turn.turn}">${turn.turn}</a> ${titleOf(turn)}</h4>
    <p class="facts">
      <span class="pill ${tone}">${word}</span> <span>${turn.model ?? ''}</span>
      <span>${describeSpending(turn.spent) ?? ''}</span>
    </p>
    ${message?.kind === 'message' ? renderMarkdown(message.text, 5) : null}
  </section>`;
}

/** Beyond this many changed lines nobody reads a comparison, and finding the shortest one takes long. */
const maxChangedLines = 2_000;

function renderPlans(old: PagePlan, plan: PagePlan, id: string): Html {
  const patch = comparePlans(old.source.text, plan.source.text, { context: 3, maxChangedLines });
  if (patch === null) return html`<p class="muted">They have nothing in common.</p>`;
  return patch === '' ? html`<p class="muted">The same plan.</p>` : renderPatch(patch, `${id}-p`);
}
