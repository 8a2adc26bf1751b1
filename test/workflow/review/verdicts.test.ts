/** Verdicts on plans, in every view of a session. */
import { describe, expect, test } from 'vitest';
import { renderGraph } from '../../../src/cli/render/graph.ts';
import { renderTurnDetails, toOutcome } from '../../../src/cli/render/review-turn.ts';
import { renderSessions } from '../../../src/cli/render/sessions.ts';
import { renderTurn } from '../../../src/cli/render/turn.ts';
import { describeLogged, styleVerdict } from '../../../src/cli/render/verdict.ts';
import type { Terminal } from '../../../src/cli/terminal.ts';
import { listRecentCaptures } from '../../../src/workflow/capture/capture.ts';
import { graphSession } from '../../../src/workflow/review/log-graph.ts';
import { listSessions } from '../../../src/workflow/review/list-sessions.ts';
import { logSession } from '../../../src/workflow/review/log-session.ts';
import { readStatus } from '../../../src/workflow/review/read-status.ts';
import { openReview, reviewSession } from '../../../src/workflow/review/session.ts';
import { showTurn } from '../../../src/workflow/review/show-turn.ts';
import { findNextStep } from '../../../src/workflow/turn/find-next-step.ts';
import { readLine } from '../../../src/view/view.ts';
import { giveVerdict } from '../../../src/workflow/run/give-verdict.ts';
import { given } from '../../support/given.ts';
import { claudePlanWaits } from '../../support/followed-log.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { create, line, planOf, run, say, session } from '../../support/turns.ts';

const plain = { style: (_: unknown, text: string) => text, columns: 120 } as unknown as Terminal;
const marked = { style: (style: string, text: string) => `<${style}>${text}</>`, columns: 120 } as unknown as Terminal;

/** One of teddy's plans, with two verdicts. */
async function withVerdicts(): Promise<MemoryProject> {
  const project = await given.session();
  await say(project, 'Make it', planOf([create('a.txt')]));
  await giveVerdict(project, {
    verdict: 'approved',
    text: 'Go on, but see below.',
    comments: [{ line: 1, text: 'A better title?' }],
  });
  return project;
}

describe('a verdict on one of teddy’s plans', () => {
  test('is shown with its author and the comments on each line', async () => {
    const project = await withVerdicts();
    const { author } = await project.repository.store.ident();
    const who = author.slice(0, author.indexOf('>') + 1);
    const shown = await showTurn(project, { turn: '01' });
    expect(shown.verdicts).toMatchObject([{ verdict: 'approved', comments: [{ line: 1, text: 'A better title?' }] }]);
    const text = renderTurn(plain, shown);
    expect(text).toContain(`\nVerdict\n  approved by ${who} 2026-`);
    expect(text).toContain('\n    Go on, but see below.\n    line 1: A better title?\n');
  });

  test('is a row in the log and in the graph, with its author’s name', async () => {
    const project = await withVerdicts();
    const name = (await project.repository.store.ident()).author.split(' <')[0] ?? '';
    const { entries } = await logSession(project, undefined);
    const [first] = entries;
    if (first?.entry == null) throw new Error('The last entry is the verdict.');
    expect(describeLogged(first)).toMatch(new RegExp(`^turn 01 approval: approved .* \\(${name}\\)$`));
    expect(styleVerdict(marked, first.entry, describeLogged(first))).toContain(': <green>approved</> ');
    expect(renderGraph(plain, await graphSession(project, undefined))).toMatch(
      new RegExp(`turn 01 approval: approved .* \\(${name}\\)\n`),
    );
  });

  test('is in a review, and in the line’s state', async () => {
    const project = await withVerdicts();
    const name = (await project.repository.store.ident()).author.split(' <')[0] ?? '';
    const [turn] = (await reviewSession(project, line)).turns;
    if (turn === undefined) throw new Error('The review has a turn.');
    expect(toOutcome(turn)).toBe('plan, approved, not run');
    expect(renderTurnDetails(turn, session)).toContain(
      `\n\nApproved by ${name}: Go on, but see below.\n\n- line 1: A better title?\n\n`,
    );
    expect(await readStatus(project)).toMatchObject({
      verdict: { verdict: 'approved', author: { name } },
      plan: { actions: 1 },
      handedIn: null,
    });
  });

  test('is masked in a review like everything that leaves the machine', async () => {
    const project = await withVerdicts();
    project.secrets.set('better title', 'password');
    const [turn] = (await reviewSession(project, line)).turns;
    expect(JSON.stringify(turn?.verdicts)).not.toContain('better title');
  });
});

describe('another agent’s plan', () => {
  test('waits for a verdict until there is one, or the agent continues', async () => {
    const project = await memoryProject();
    const { capture, line: captured } = await claudePlanWaits(project);
    const recent = () => listRecentCaptures(project, capture);
    expect(await recent()).toMatchObject([{ line: captured, awaitsVerdict: true }]);
    expect(await listSessions(project)).toMatchObject([{ state: 'open', awaitsVerdict: true }]);
    expect(renderSessions(plain, await listSessions(project), Date.now())).toContain('  plan awaits verdict  ');
    await project.switchTo(captured);
    const status = await readStatus(project);
    expect(status.handedIn).toEqual({ title: 'Add a login route' });
    expect(status.next[0]).toBe('teddy approve');
    await giveVerdict(project, { selector: captured, verdict: 'rejected', comments: [{ line: 4, text: 'No.' }] });
    expect(await listSessions(project)).toMatchObject([{ state: 'closed', awaitsVerdict: false }]);
    expect((await readStatus(project)).handedIn).toBeNull();
    expect(await recent()).toMatchObject([{ line: captured, awaitsVerdict: false }]);
  });

  test('is not a reason to ask one of teddy’s models again', async () => {
    const project = await memoryProject();
    const { line: captured } = await claudePlanWaits(project, 'toolu_2');
    await project.switchTo(captured);
    const { latest } = await readLine(project.repository.store, await project.tipOf(captured));
    expect(latest?.status).toBe('open');
    expect(await findNextStep(project, undefined)).toMatchObject({ kind: 'message' });
    // A verdict of `none` leaves the turn open, and the agent itself asks.
    await giveVerdict(project, { selector: captured, verdict: 'none' });
    const status = await readStatus(project);
    expect(status).toMatchObject({ turn: { status: 'open', isOfAgent: true }, handedIn: null });
    expect(status.next[0]).toBe('teddy plan -m "what you want"');
  });

  test('is not listed as waiting for a run', async () => {
    const project = await memoryProject();
    const { line: captured } = await claudePlanWaits(project);
    const outcomes = async () => (await openReview(project, captured)).turns.map(toOutcome);
    expect(await outcomes()).toEqual(['plan', 'plan']);
    await giveVerdict(project, { selector: captured, verdict: 'rejected', text: 'No.' });
    expect(await outcomes()).toEqual(['plan', 'plan, rejected']);
  });
});

test.each(['plan', 'ask', 'execute'])(
  '%s on the line of a plan that waits for a verdict suggests approve and reject',
  async (verb) => {
    const project = await memoryProject();
    const { line: captured } = await claudePlanWaits(project);
    const tip = await project.tipOf(captured);
    const asked =
      verb === 'execute'
        ? run(project, { selector: captured })
        : say(project, 'More', 'Fine.', { selector: captured, ...(verb === 'ask' ? { mode: 'ask' as const } : {}) });
    await expect(asked).rejects.toMatchObject({
      code: expect.stringMatching(/^(PLAN_PENDING|NO_PENDING_PLAN)$/),
      hint: expect.stringContaining(`\`teddy approve -s ${captured}\` or \`teddy reject -s ${captured}`),
    });
    expect(await project.tipOf(captured)).toBe(tip);
  },
);
