/** Shows below a plan's actions how far the turn kept to the plan. */
import { countOf } from '../session/spending/describe-spending.ts';
import { html, type Html } from './html.ts';
import type { PageTurn } from './session-page.ts';

type PagePromise = NonNullable<PageTurn['promise']>;

const words: Record<PagePromise['paths'][number]['state'] | PagePromise['commands'][number]['state'], string> = {
  kept: 'changed as named',
  beyond: 'changed, but named by no action',
  allowed: 'changed by itself, as the project expects',
  missed: 'named, but unchanged',
  skipped: 'skipped',
  failed: 'failed',
  aborted: 'aborted',
  ran: 'succeeded',
  unchecked: 'a test that did not pass',
};

/** Lists only what the plan did not lead to expect. Returns null when nothing was carried out. */
export function renderPromise({ turn, promise }: PageTurn): Html | null {
  if (promise === null) return null;
  const { verdict, isProse, paths, commands } = promise;
  const told = paths.filter(({ state }) => state !== 'kept');
  const open = commands.filter(({ state }) => state !== 'ran');
  const kept = paths.length - told.length;
  const tone = { kept: 'good', short: 'warn', beyond: 'bad' }[verdict];
  const row = (what: Html, state: string, action: number | null) =>
    html`<tr>
      <td>${what}</td>
      <td>${state}</td>
      <td>${action === null ? null : html`<a href="#t${turn}-a${action}">${action}</a>`}</td>
    </tr>`;
  return html`<section class="promise" id="t${turn}-promise">
    <h3>
      Promise
      <span class="pill ${tone}"
        >${verdict === 'kept' ? 'kept' : verdict === 'short' ? 'kept in part' : 'beyond the plan'}</span
      >
    </h3>
    ${isProse ? html`<p class="muted">The names are read from prose, so they say which files, not what happens to them.</p>` : null}
    ${kept === 0 ? null : html`<p>${countOf(kept, 'file')} changed as the plan says.</p>`}
    ${
      told.length + open.length === 0
        ? null
        : html`<table>
            <thead>
              <tr>
                <th scope="col">file or command</th>
                <th scope="col">what happened</th>
                <th scope="col">action</th>
              </tr>
            </thead>
            <tbody>
              ${told.map(({ path, state, action }) => row(html`<bdi>${path}</bdi>`, words[state], action))}
              ${open.map(({ command, state, action }) => row(html`<code>${command}</code>`, words[state], action))}
            </tbody>
          </table>`
    }
  </section>`;
}
