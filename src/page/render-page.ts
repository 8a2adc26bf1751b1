/**
 * Renders a session's page as one file: the same values produce the same bytes, and reading the page needs no script or
 * request.
 */
import { countOf, formatDuration, describeSpending } from '../session/spending/describe-spending.ts';
import { formatCount } from '../session/text/format-count.ts';
import type { Hash } from '../ports/project.ts';
import { renderNumbers } from './charts.ts';
import { html, markup, renderTime, type Html } from './html.ts';
import css from './page.css?raw';
import script from './page-script.js?raw';
import type { PageCommit, PageTurn, SessionPage, PageComparison, PagePlan } from './session-page.ts';
import { describeCommit, renderTimeline } from './timeline.ts';
import { renderTurn, renderVerdict, revisedPlan, titleOf } from './turn.ts';
import { renderPatch as comparePlans } from '../plan/match/diff.ts';
import { renderFile, renderPatch, renderSum } from './diff.ts';
import { renderFiles } from './files.ts';
import { renderMarkdown } from './markdown.ts';
import { findApproval, findOutcome, findTests } from './summary.ts';
import { toTurnState } from './turn-state.ts';

/** The parts that a `teddy serve` page has in addition to a page in a file. */
export interface LiveParts {
  /** Added at the end of the head. The server sends the content policy in a header. */
  head: Html;
  /** Added below all views. */
  controls: Html;
}

export const pageStyle = markup(`<style>${css}</style>`);

/** `hash` returns a sha256 in hex. */
export function renderSessionPage(page: SessionPage, hash: Hash, live: LiveParts | null = null): string {
  const policy = `default-src 'none'; style-src '${toSource(hash(css))}'; script-src '${toSource(hash(script))}'; base-uri 'none'; form-action 'none'`;
  const shown = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        ${live === null ? html`<meta http-equiv="Content-Security-Policy" content="${markup(policy)}" />` : null}
        <meta name="referrer" content="no-referrer" />
        <meta name="color-scheme" content="light dark" />
        <meta name="generator" content="git-teddy ${page.version}" />
        <meta name="teddy-source" content="${toPlainJson(page.source)}" />
        <title>${page.title} · teddy</title>
        ${pageStyle} ${live?.head ?? null}
      </head>
      <body>
        <a class="skip" href="#main">Skip to the turns</a>
        ${renderHead(page)}
        <div class="layout">
          ${renderTimeline(page)}
          <main id="main" tabindex="-1">
            ${renderTools(page)}
            <section id="stream" data-view="stream" aria-label="Turns">
              ${renderStream(page)} ${renderComparisons(page)}
            </section>
            ${renderFiles(page)} ${renderNumbers(page)} ${live?.controls ?? null}
          </main>
        </div>
        ${renderFoot(page)} ${markup(`<script>${script}</script>`)}
      </body>
    </html> `;
  return `${shown.markup.trim()}\n`;
}

/**
 * Escapes characters that would otherwise become visible text, because a reader must be able to restore branch names
 * exactly.
 */
function toPlainJson(value: object): string {
  return JSON.stringify(value).replace(/[^ -~]/g, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Returns a style sheet's or script's source expression for a content policy. */
export function toSource(sha256: string): string {
  const bytes = sha256.match(/../g)?.map((pair) => Number.parseInt(pair, 16)) ?? [];
  return `sha256-${btoa(String.fromCharCode(...bytes))}`;
}

/** Returns the sources of the style sheet and the script for a policy in a header. */
export function pageSources(hash: Hash): { style: string; script: string } {
  return { style: toSource(hash(css)), script: toSource(hash(script)) };
}

function renderHead(page: SessionPage): Html {
  const { source, title, base, authors, startedAt, endedAt, spent } = page;
  const tip = source.lines[0]?.tip ?? '';
  const took = startedAt === null || endedAt === null ? 0 : Date.parse(endedAt) - Date.parse(startedAt);
  const answers = { Outcome: findOutcome(page), Tests: findTests(page), Approved: findApproval(page) };
  return html`<header class="page">
    <p class="where">
      <bdi>${source.line}</bdi> at
      <code>${tip.slice(0, 10)}</code
      >${base === null ? null : html`, from <bdi>${base.branch ?? 'a commit'}</bdi> at <code>${base.commit.slice(0, 10)}</code>`}
    </p>
    <h1>${title}</h1>
    <p class="facts">
      ${authors.length === 0 ? null : html`<span>${authors.join(', ')}</span> `}${startedAt === null ? null : html`<span>${renderTime(startedAt)}${endedAt === null || endedAt.slice(0, 16) === startedAt.slice(0, 16) ? null : html` to ${renderTime(endedAt)}`}</span>`}
    </p>
    ${renderBadges(page)}
    <dl class="tiles">
      ${Object.entries(answers).map(([name, { tone, word, note }]) => tile(name, html`<span class="${tone}">${word}</span>`, note))}
      ${tile('Files', html`<a href="#files">${formatCount(page.files.length)}</a> ${renderSum(page.files)}`, null)}
      ${tile('Cost', describeCost(page), html`${describeTokens(spent)}`)}
      ${tile('Time', took > 0 ? formatDuration(took) : '–', html`first to last entry`)}
    </dl>
  </header>`;
}

/** The views are links, so that they work without a script; a script shows one at a time, and adds search and keys. */
function renderTools({ shown, files }: SessionPage): Html {
  const tab = (view: string, name: string, count: number | null) =>
    html`<a href="#${view}">${name}${count === null ? null : html` <small>${formatCount(count)}</small>`}</a>`;
  return html`<div id="tools">
    <nav id="tabs" aria-label="Views">
      ${tab('stream', 'Turns', shown.length)} ${tab('files', 'Files', files.length)} ${tab('numbers', 'Numbers', null)}
    </nav>
  </div>`;
}

function describeTokens({
  answers,
  inputTokens,
  outputTokens,
  cachedTokens,
  unreported,
}: SessionPage['spent']): string {
  return [
    ...(answers === unreported ? [] : [countOf(inputTokens + outputTokens, 'token')]),
    ...(cachedTokens === undefined ? [] : [`${formatCount(cachedTokens)} cached`]),
    ...(unreported > 0 ? [`${countOf(unreported, 'answer')} without a count`] : []),
  ].join(', ');
}

function describeCost({ spent: { costUsd, estimatedUsd } }: SessionPage): string {
  const known = costUsd ?? estimatedUsd;
  return known === undefined || known === null ? '–' : `$${known.toFixed(known < 1 ? 4 : 2)}`;
}

function tile(name: string, value: string | Html, note: Html | null): Html {
  return html`<div>
    <dt>${name}</dt>
    <dd>${value}${note === null ? null : html` <small>${note}</small>`}</dd>
  </div>`;
}

/**
 * Renders badges that show which checks ran, and at which commit. The page has no clock, so the badges do not cover
 * later commits.
 */
function renderBadges({ checks, source: { lines } }: SessionPage): Html | null {
  if (checks === null) return null;
  const { verify, replay } = checks;
  const all = lines.length > 1 ? `on all ${countOf(lines.length, 'branch', 'branches')}, ` : '';
  const at = html` <span class="muted">${all}at <code>${lines[0]?.tip.slice(0, 10) ?? ''}</code></span>`;
  const verified =
    verify.faults.length > 0
      ? badge('bad', `Verify: ${countOf(verify.faults.length, 'fault')}`)
      : badge(
          verify.isWhole ? 'good' : 'warn',
          verify.isWhole
            ? `Verified: ${verify.entries === 1 ? '1 entry' : `${formatCount(verify.entries)} entries`}, no faults`
            : 'Not verified: this clone is incomplete',
        );
  const same = countOf(replay.same, 'turn');
  const open = replay.notCompared === 0 ? '' : `, ${formatCount(replay.notCompared)} not compared`;
  const replayed =
    replay.different > 0
      ? badge('bad', `Replay: ${countOf(replay.different, 'turn')} ${replay.different === 1 ? 'differs' : 'differ'}`)
      : replay.same + replay.notCompared === 0
        ? badge('quiet', 'Replay: nothing to compare')
        : badge(replay.notCompared > 0 ? 'warn' : 'good', `Replayed: ${same} the same${open}`);
  const faults = [...verify.faults, ...replay.faults];
  return html`<p class="badges">${verified} ${replayed}${at}</p>
    ${
      faults.length === 0
        ? null
        : html`<ul class="faults">
            ${faults.map((fault) => html`<li>${fault}</li>`)}
          </ul>`
    }`;
}

function badge(tone: string, words: string): Html {
  return html`<span class="pill ${tone}">${words}</span>`;
}

/** Renders the turns, and between them the commits that do not belong to a turn. */
function renderStream(page: SessionPage): Html {
  const rows = (after: PageTurn | null) =>
    page.others
      .filter((commit) =>
        after === null ? commit.after === null : commit.after === after.turn && commit.line === after.line,
      )
      .map(renderCommit);
  if (page.turns.length === 0)
    return html`${rows(null)}
      <p class="empty">This session has no turns yet. Start the first with <code>teddy plan -m "..."</code>.</p>`;
  return html`${rows(null)}${page.turns.map((turn) => html`${renderTurn(turn, page)}${rows(turn)}`)}`;
}

function renderCommit(other: PageCommit): Html {
  const { commit, kind, author, time, files, omitted } = other;
  const { word, subject } = describeCommit(other);
  const id = `o-${commit.slice(0, 10)}`;
  return html`<div class="between ${kind}" id="${id}">
    <p>
      <span class="type">${word}</span> ${subject}
      <span class="muted">${author}, ${renderTime(time)}, <code>${commit.slice(0, 10)}</code></span>
    </p>
    ${
      files.length + omitted === 0
        ? null
        : html`<details class="fold">
            <summary>${countOf(files.length + omitted, 'file')} ${omitted === 0 && renderSum(files)}</summary>
            ${files.map((file, at) => renderFile(file, `${id}-f${at + 1}`))}
            ${omitted === 0 ? null : html`<p class="cut">${countOf(omitted, 'more file')}: <code>git show ${commit.slice(0, 10)}</code></p>`}
          </details>`
    }
  </div>`;
}

function renderFoot({ source, version }: SessionPage): Html {
  return html`<footer>
    <p>
      Session <code>${source.session}</code>, rendered by teddy ${version} from
      ${source.lines.map(({ name, tip }, at) => html`${at === 0 ? '' : ', '}<bdi>${name}</bdi> at <code>${tip.slice(0, 10)}</code>`)}.
      Secrets are masked. <code>teddy verify --page FILE</code>, in a clone of the repository, renders it again and
      compares.
    </p>
  </footer>`;
}

/** Renders attempts next to each other: two turns at the same step, and a thread's successive plans. */
function renderComparisons(page: SessionPage): Html | null {
  const find = (name: string | null) => page.turns.find(({ turn }) => turn === name) ?? null;
  const revisions = page.turns.flatMap((turn) => {
    const before = find(turn.parent);
    const old = revisedPlan(before, turn);
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
    <summary><h3>Plan of turn ${before.turn}, and the next one, of turn ${turn.turn}</h3></summary>
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
    <p class="label">The code, from the end of turn ${one.turn} to the end of turn ${other.turn}</p>
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

/** With more changed lines, nobody reads a comparison, and finding the shortest one takes long. */
const maxChangedLines = 2_000;

function renderPlans(old: PagePlan, plan: PagePlan, id: string): Html {
  const patch = comparePlans(old.source.text, plan.source.text, { context: 3, maxChangedLines });
  if (patch === null) return html`<p class="muted">They have nothing in common.</p>`;
  return patch === '' ? html`<p class="muted">The same plan.</p>` : renderPatch(patch, `${id}-p`);
}
