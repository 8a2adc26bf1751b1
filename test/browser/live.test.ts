import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeEach, describe, expect } from 'vitest';
import { hasChromium, openChromium, type OpenedPage, type TestBrowser } from '../support/chromium.ts';
import type { RunningTeddy } from '../support/run-teddy.ts';
import type { ServerAnswer } from '../support/model-server.ts';
import { slowTest } from '../support/slow-test.ts';
import { createAction, executeAction, openTeddyProject, planOf, type TeddyProject } from '../support/teddy-project.ts';

let browser: TestBrowser | null = null;
let project: TeddyProject;
let session: string;
/** The first one: it serves the pages. */
let running: RunningTeddy | null = null;

afterAll(async () => browser?.close());

beforeEach(() => void (running = null));

async function visit(url: string): Promise<OpenedPage> {
  browser ??= await openChromium();
  return browser.open(url);
}

afterEach(async () => {
  running?.kill('SIGINT');
  await running?.result;
  await project?.close();
});

async function open(answers: ServerAnswer[], chunkDelayMs = 0): Promise<void> {
  project = await openTeddyProject({ answers, chunkSize: 8, chunkDelayMs });
  session = await project.begin('live');
}

/** The link printed by `teddy view`. */
async function view(...args: string[]): Promise<string> {
  const run = project.start(['session', 'view', '--no-open', ...args], { timeoutMs: 170_000 });
  running ??= run;
  await run.waitForOutput(/The link works once/);
  return /^http:\S+/m.exec(run.output())?.[0] ?? '';
}

/** The answer up to its actions, and the rest when `rest` resolves. */
function inTwoParts(answer: string, rest: Promise<void>): ServerAnswer {
  const at = answer.indexOf('## Action Plan');
  const toEvent = (content: string, reason: string | null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: reason }] })}\n\n`;
  return { raw: [toEvent(answer.slice(0, at), null), rest, toEvent(answer.slice(at), 'stop'), 'data: [DONE]\n\n'] };
}

/** Chooses an act in the bar, and sends it. */
async function decide(page: Page, act: string, words?: string): Promise<void> {
  await page.getByRole('radio', { name: act }).check({ force: true });
  if (words !== undefined) await page.getByLabel(/^Your words/).fill(words);
  await page.getByRole('button', { name: act, exact: true }).click();
}

async function ask(page: Page, message: string): Promise<void> {
  await page.getByLabel('What do you want?').fill(message);
  await page.getByRole('button', { name: 'Ask for a plan' }).click();
}

const twoActions = planOf(createAction('a.txt', 'A\n'), executeAction('echo working on it; echo done > b.txt'));

describe.runIf(hasChromium)('the live page', () => {
  slowTest('shows a new user the sessions, sends a message, streams the answer, and takes a decision', async () => {
    let sendRest = () => {};
    const rest = new Promise<void>((resolve) => (sendRest = resolve));
    const last = inTwoParts(planOf(createAction('d.txt', 'D\n')), rest);
    await open([twoActions, planOf(createAction('c.txt', 'C\n')), last], 15);
    const { page, faults } = await visit(await view('--list'));
    expect(new URL(page.url()).search).toBe('');
    await page.getByRole('searchbox').fill('nothing of the kind');
    await expect.poll(() => page.getByRole('status').textContent()).toBe('0 of 1 session');
    await page.getByRole('searchbox').fill('live');
    await page.getByRole('link', { name: session }).click();
    const text = page.locator('#live-text');
    await page.getByText('Connected.').waitFor();
    const carried = await page
      .locator('style, script')
      .evaluateAll((own: { textContent: string | null }[]) => own.map(({ textContent }) => textContent ?? ''));
    expect(carried).toHaveLength(4);
    expect(Buffer.byteLength(carried.join(''))).toBeLessThanOrEqual(32 * 1024);

    // Text appears as it arrives, before the answer is complete.
    await ask(page, 'Make two files');
    await page.locator('#t01').getByText('Make two files').first().waitFor();
    await expect.poll(() => text.textContent()).toContain('## Rationale');
    await page.getByRole('button', { name: 'Run 2 actions' }).waitFor();
    await expect.poll(() => page.locator('#live-act').isVisible()).toBe(false);

    // One of two actions.
    await page.getByText('Choose the actions to run').click();
    await page.getByLabel('1. CREATE a.txt').uncheck();
    await page.getByRole('button', { name: 'Run 1 action', exact: true }).click();
    await page.getByText('Turn 01: SUCCESS').waitFor();
    const turn = page.locator('#t01');
    await expect.poll(() => turn.textContent()).toContain('not selected');
    await expect.poll(() => page.locator('#timeline').textContent()).toContain('01');
    expect(await project.repo.read('b.txt')).toBe('done\n');
    const report = await project.report('01');
    expect(report.action_logs).toMatchObject([
      { status: 'SKIPPED', details: { reason: 'not selected' } },
      { status: 'SUCCESS', approved_by: 'user' },
    ]);

    // Another plan, which is not wanted.
    await ask(page, 'Make c.txt');
    await decide(page, 'Reject', 'Not needed');
    await page.getByText('Turn 02: rejected').waitFor();
    expect(await page.locator('#live h2').textContent()).toContain(`Continue teddy/${session}`);
    await expect.poll(() => page.locator('#t02').textContent()).toContain('Not needed');

    // A terminal works in the same session.
    const terminal = project.start(['session', 'plan', '-m', 'Make d.txt']);
    await page.getByText('gpt-test is answering pathfinder in another process').waitFor();
    await expect.poll(() => page.locator('#live-elsewhere pre').textContent()).toContain('# Try it');
    sendRest();
    await terminal.result;
    await page.locator('#t03').getByText('Make d.txt').first().waitFor();
    await page.getByRole('button', { name: 'Run 1 action' }).waitFor();
    expect((await project.subjects()).filter((subject) => subject.includes('report'))).toHaveLength(2);

    // It lands while the page is open.
    await project.ok('session', 'reject', '-m', 'Enough.');
    await expect.poll(() => page.locator('.tiles').textContent()).toContain('2 plans rejected');
    await project.ok('session', 'land', '--onto', 'main');
    await expect.poll(() => page.locator('.tiles').textContent(), { timeout: 20_000 }).toMatch(/Outcome\s*landed/);
    expect(faults()).toEqual([]);
  });

  slowTest('takes comments on a plan line by line, an approval, and a rejection of the next one', async () => {
    const next = planOf(createAction('c.txt', 'C\n'));
    await open([twoActions, next]);
    const { page, faults } = await visit(await view());
    const comment = async (line: string, text: string) => {
      await page.getByRole('dialog').getByText(line, { exact: true }).waitFor();
      await page.getByLabel('Your comment').fill(text);
      await page.getByRole('button', { name: 'Add' }).click();
    };
    // A key does nothing just after an update.
    const press = (key: string) =>
      expect
        .poll(async () => {
          await turn.locator('.source pre').focus();
          await page.keyboard.press(key);
          return page.getByRole('dialog').isVisible();
        })
        .toBe(true);
    const list = () => page.locator('#live-comments li').allTextContents();
    const turn = page.locator('#t01');
    await ask(page, 'Make two files');
    await page.getByRole('button', { name: 'Run 2 actions' }).waitFor();
    await turn.getByText('Source').first().click();
    // The third line, and, from there, the first one.
    await turn.locator('.source pre').click({ position: { x: 40, y: 58 } });
    await comment('line 3', 'Only here.');
    await press('c');
    await comment('line 1', 'A better title?');
    await press('c');
    await page.getByRole('button', { name: 'The line below' }).click();
    await comment('line 2', 'Not meant.');
    expect(await list()).toEqual(['line 3: Only here. ×', 'line 1: A better title? ×', 'line 2: Not meant. ×']);
    await page.getByRole('button', { name: 'Remove the comment on line 2' }).click();
    await decide(page, 'Approve', 'Go on.');
    await page.getByText('Turn 01: approved.').waitFor();
    await expect.poll(() => turn.locator('.approval').textContent()).toContain('approved the plan');
    expect(await turn.locator('.source .remark').allTextContents()).toEqual([
      expect.stringMatching(/: A better title\?$/),
      expect.stringMatching(/: Only here\.$/),
    ]);
    expect(await list()).toEqual([]);
    // A remark is not one of the plan's lines.
    await press('c');
    await page.getByRole('button', { name: 'The line below' }).click();
    await page.getByRole('dialog').getByText('line 2', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await decide(page, 'Run 2 actions');
    await page.getByText('Turn 01: SUCCESS').waitFor();

    await ask(page, 'Make another');
    const diff = page.locator('#t02 .action .file').filter({ hasText: 'c.txt' });
    await diff.locator('ins').click({ position: { x: 30, y: 8 } });
    await comment('c.txt:1', 'Why C?');
    await decide(page, 'Reject');
    await page.getByText('Turn 02: rejected').waitFor();
    await expect.poll(() => page.locator('#t02 .remark').allTextContents()).toHaveLength(1);
    expect((await project.report('02')).run_summary.error).toContain(
      `line ${next.split('\n').indexOf('C') + 1}: \`c.txt:1\`: Why C?`,
    );
    expect(faults()).toEqual([]);
    running?.kill('SIGINT');
    await page.getByText('rejected; none of its actions ran. No connection to teddy').waitFor();
  });

  slowTest('opens a second view on the running server, with a link that works once, until Ctrl-C ends it', async () => {
    await open([]);
    const link = await view();
    const second = await view(session);
    expect(new URL(second).origin).toBe(new URL(link).origin);
    const first = await visit(link);
    await first.page.getByText('This session has no turns yet').waitFor();
    await first.page.getByText('Connected.').waitFor();
    const { page } = await visit(link);
    expect(await page.textContent('body')).toContain('teddy view');
    running?.kill('SIGINT');
    expect(await running?.result).toMatchObject({ exitCode: 0 });
    await first.page.getByText('No connection to teddy').waitFor();
  });

  slowTest('can stop a command, and the report says so', async () => {
    await open([planOf(executeAction('echo started; sleep 600'), createAction('a.txt', 'A\n'))]);
    const { page, faults } = await visit(await view());
    await ask(page, 'Wait');
    await page.getByRole('button', { name: /^Run \d/ }).click();
    await expect.poll(() => page.locator('#live-text').textContent()).toBe('started\n');
    // A page that is opened now shows the running command.
    const late = await page.context().newPage();
    await late.goto(page.url());
    await expect.poll(() => late.locator('#live-text').textContent()).toBe('started\n');
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Turn 01: ABORTED').waitFor();
    await late.getByText('Turn 01: ABORTED').waitFor();
    expect((await project.report('01')).run_summary.status).toBe('ABORTED');
    expect(faults()).toEqual([]);
  });

  slowTest('does not offer a message again that became a turn, even without a model', async () => {
    await open([]);
    running = project.start(['session', 'view', '--no-open'], {
      env: { OPENAI_API_KEY: undefined, OPENAI_BASE_URL: undefined },
      timeoutMs: 170_000,
    });
    await running.waitForOutput(/The link works once/);
    const { page } = await visit(await view());
    await ask(page, 'Make a file');
    await page.getByRole('button', { name: 'Ask again about turn 01' }).waitFor();
    expect(await page.getByRole('alert').textContent()).toContain('NO_MODEL');
    await expect.poll(() => page.getByLabel('What do you want?').inputValue(), { timeout: 5_000 }).toBe('');
  });

  slowTest('is not affected by a hostile session’s texts', async () => {
    const image = '"><img src=http://example.org/x onerror=alert(1)>';
    const hostile = `${image}<script>alert(2)</script></textarea></main>\u202Etxt`;
    const plan = planOf(
      createAction('`a"><img src=x onerror=alert(3)>.txt`', `${hostile}\n`),
      executeAction(`printf '%s\\n' '<script>alert(4)</script><style>*{display:none}</style>'`),
      `### CHAT_WITH_USER\n\n${hostile}\n`,
    );
    await open([plan]);
    await project.repo.git('branch', '-m', `teddy/"><script>alert(5)</script>`);
    const { page, faults } = await visit(await view('--list'));
    await page.getByRole('link', { name: session }).click();
    await ask(page, hostile);
    await page.getByRole('button', { name: /^Run \d/ }).click();
    await expect.poll(() => page.locator('#live-question').textContent()).toContain('<script>alert(2)</script>');
    expect(await page.locator('#live-question').textContent()).toContain('<U+202E>');
    await page.getByLabel('Your answer').fill(hostile);
    await page.getByRole('button', { name: 'Answer', exact: true }).click();
    await page.getByText('Turn 01: SUCCESS').waitFor();
    await page.getByLabel('What do you want?').waitFor();
    // The only script in the stream is our own.
    expect(await page.locator('main script, main img, main style').count()).toBe(1);
    expect(faults()).toEqual([]);
  });
});
