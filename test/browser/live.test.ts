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

    // Text appears as it arrives, before the answer is complete.
    await page.getByLabel('What do you want?').fill('Make two files');
    await page.getByRole('button', { name: 'Ask for a plan' }).click();
    await page.locator('#t01').getByText('Make two files').first().waitFor();
    await expect.poll(() => text.textContent()).toContain('## Rationale');
    await page.getByRole('button', { name: 'Run the ticked actions' }).waitFor();
    await expect.poll(() => page.locator('#live-act').isVisible()).toBe(false);

    // One of two actions.
    await page.getByLabel('1. CREATE a.txt').uncheck();
    await page.getByRole('button', { name: 'Run the ticked actions' }).click();
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
    await page.getByLabel('What do you want?').fill('Make c.txt');
    await page.getByRole('button', { name: 'Ask for a plan' }).click();
    await page.getByLabel('What should be different, or why not?').fill('Not needed');
    await page.getByRole('button', { name: 'Reject it' }).click();
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
    await page.getByLabel('1. CREATE d.txt').waitFor();
    expect(faults()).toEqual([]);
    expect((await project.subjects()).filter((subject) => subject.includes('report'))).toHaveLength(2);
  });

  slowTest('takes comments on a plan line by line, an approval, and a rejection of the next one', async () => {
    await open([twoActions, twoActions]);
    const { page, faults } = await visit(await view());
    const ask = async (message: string) => {
      await page.getByLabel('What do you want?').fill(message);
      await page.getByRole('button', { name: 'Ask for a plan' }).click();
      await page.getByText('Comment on its lines').click();
    };
    const comment = async (line: number, text: string) => {
      await page.getByRole('button', { name: `Comment on line ${line}:` }).click();
      await page.getByLabel(`Your comment on line ${line}`, { exact: true }).fill(text);
    };
    await ask('Make two files');
    await comment(3, 'Only here.');
    await comment(1, 'A better title?');
    await page.getByLabel('Your comment (required for a rejection)').fill('Go on.');
    await page.getByRole('button', { name: 'Approve the plan' }).click();
    await page.getByText('Turn 01: approved.').waitFor();
    const turn = page.locator('#t01');
    await expect.poll(() => turn.locator('.approval').textContent()).toContain('approved the plan');
    await turn.getByText('Source').first().click();
    expect(await turn.locator('.source .remark').allTextContents()).toEqual([
      expect.stringMatching(/: A better title\?$/),
      expect.stringMatching(/: Only here\.$/),
    ]);
    await page.getByRole('button', { name: 'Run the ticked actions' }).click();
    await page.getByText('Turn 01: SUCCESS').waitFor();

    await ask('Make them again');
    await comment(3, 'They are there.');
    await page.getByRole('button', { name: 'Reject it' }).click();
    await page.getByText('Turn 02: rejected').waitFor();
    await expect.poll(() => page.locator('#t02 .remark').allTextContents()).toHaveLength(1);
    expect((await project.report('02')).run_summary.error).toContain('line 3: They are there.');
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
    await page.getByLabel('What do you want?').fill('Wait');
    await page.getByRole('button', { name: 'Ask for a plan' }).click();
    await page.getByRole('button', { name: 'Run the ticked actions' }).click();
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
    await page.getByLabel('What do you want?').fill('Make a file');
    await page.getByRole('button', { name: 'Ask for a plan' }).click();
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
    await page.getByLabel('What do you want?').fill(hostile);
    await page.getByRole('button', { name: 'Ask for a plan' }).click();
    await page.getByRole('button', { name: 'Run the ticked actions' }).click();
    await expect.poll(() => page.locator('#live-question').textContent()).toContain('<script>alert(2)</script>');
    expect(await page.locator('#live-question').textContent()).toContain('<U+202E>');
    await page.getByLabel('Your answer').fill(hostile);
    await page.getByRole('button', { name: 'Answer', exact: true }).click();
    await page.getByText('Turn 01: SUCCESS').waitFor();
    await page.getByLabel('What do you want?').waitFor();
    // The only script in the stream is our own.
    expect(await page.locator('#stream script, #stream img, #stream style').count()).toBe(1);
    expect(faults()).toEqual([]);
  });
});
