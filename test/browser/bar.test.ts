/** The bar of the live page, against a server in memory: what it offers, what keys do, and how it survives. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import { hasChromium, openChromium, type OpenedPage, type TestBrowser } from '../support/chromium.ts';
import { claudePlanWaits } from '../support/followed-log.ts';
import { given } from '../support/given.ts';
import { openTestServer, type TestServer } from '../support/http-server.ts';
import { memoryProject, type MemoryProject } from '../support/memory-repository.ts';
import { scriptedModel } from '../support/scripted-model.ts';
import { slowTest } from '../support/slow-test.ts';
import { command, create, edit, line, planOf, say, session, storyOfLine } from '../support/turns.ts';
import { giveVerdict } from '../../src/workflow/run/give-verdict.ts';

describe.runIf(hasChromium)('the bar', () => {
  const path = `/sessions/${session}`;
  const options = { streamLimits: { lookMs: 10 } };
  let browser: TestBrowser;
  let server: TestServer;

  beforeAll(async () => void (browser = await openChromium()));
  afterEach(() => server?.stop());
  afterAll(() => browser?.close());

  async function enter(context?: BrowserContext, named: string = session): Promise<OpenedPage> {
    const { body } = await server.call('POST', '/api/page-links', { session: named });
    const opened = context && (await context.newPage());
    if (!opened) return browser.open(String(body['link']));
    await opened.goto(String(body['link']));
    return { page: opened, faults: () => [] };
  }

  const chosen = (page: Page) => page.locator('[name=act]:checked').getAttribute('value');

  slowTest('is chosen from by keys, which send nothing; Ctrl+Enter sends what is chosen', async () => {
    const project = await given.plannedTurn([create('a.txt')]);
    server = await openTestServer({ ...options, project });
    const { page, faults } = await enter();
    await page.getByText('Connected.').waitFor();
    await page.waitForTimeout(600);
    const before = await project.tipOf(line);
    const acts = [];
    for (const key of ['1', '2', '3', '4', '5', '6']) {
      await page.keyboard.press(key);
      acts.push(await chosen(page));
    }
    expect(acts).toEqual(['run', 'approve', 'instead', 'reject', 'ask', 'ask']);
    await page.keyboard.press('4');
    expect(await page.locator('#live-send').textContent()).toBe('Reject');
    await page.keyboard.press('Control+Enter');
    expect(await page.getByRole('alert').textContent()).toContain('Write a few words first');
    // In a field, a digit is a digit, and only the bar's own box sends.
    await page.keyboard.type('12');
    expect([await page.getByLabel(/^Your words/).inputValue(), await chosen(page)]).toEqual(['12', 'reject']);
    await page.getByRole('searchbox').press('Control+Enter');
    await page.getByRole('radio', { name: 'Reject' }).press('Enter');
    await page.keyboard.press('1');
    expect([await chosen(page), await project.tipOf(line)]).toEqual(['reject', before]);
    await page.getByRole('radio', { name: 'Run 1 action' }).check({ force: true });
    await page.locator('#live-send').click();
    expect(await page.getByRole('alert').textContent()).toContain('This choice sends no words');
    await page.getByRole('radio', { name: 'Reject' }).check({ force: true });
    await page.getByLabel(/^Your words/).press('Control+Enter');
    await page.getByText('Turn 01: rejected').waitFor();
    expect(await page.getByLabel('What do you want?').inputValue()).toBe('');
    expect(faults()).toEqual([]);
  });

  slowTest('ignores keys for half a second after the page has changed by itself', async () => {
    const project = await given.session();
    server = await openTestServer({ ...options, project });
    const { page } = await enter();
    await page.getByText('Connected.').waitFor();
    await page.evaluate(`void (globalThis.pressed = new Promise((resolve) => {
      const press = () => {
        document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '4', bubbles: true }));
        return document.querySelector('[name=act]:checked').value;
      };
      new MutationObserver(() => {
        if (document.querySelector('[name=act]:checked').value !== 'run') return;
        const soon = press();
        setTimeout(() => resolve([soon, press()]), 600);
      }).observe(document.getElementById('live'), { childList: true });
    }))`);
    await say(project, 'Do it', planOf([create('a.txt')]));
    expect(await page.evaluate('globalThis.pressed')).toEqual(['run', 'reject']);
  });

  slowTest('never sends what was meant for another plan, without a second look', async () => {
    const project = await given.plannedTurn([create('a.txt')]);
    server = await openTestServer({ ...options, project });
    const { page, faults } = await enter();
    await page.getByText('Connected.').waitFor();
    await page.waitForTimeout(600);
    await page.keyboard.press('4');
    const box = page.locator('#live-message');
    await box.fill('No, never.');
    const send = async () => {
      await page.waitForTimeout(600);
      await box.press('Control+Enter');
    };
    const alert = page.getByRole('alert');
    await giveVerdict(project, { verdict: 'rejected', text: 'Somebody was faster.' });
    await page.getByLabel('What do you want?').waitFor();
    const before = await project.tipOf(line);
    await send();
    expect(await alert.textContent()).toContain('has changed since you chose');
    expect([await project.tipOf(line), await box.inputValue()]).toEqual([before, 'No, never.']);
    await say(project, 'Again', planOf([create('b.txt')]));
    await page.getByRole('radio', { name: 'Run 1 action' }).waitFor({ state: 'attached' });
    const planned = await project.tipOf(line);
    await send();
    expect(await alert.textContent()).toContain('has changed since you chose');
    expect([await chosen(page), await project.tipOf(line)]).toEqual(['reject', planned]);
    // Twice in a row is once.
    await page.evaluate(`for (const key of ['Enter', 'Enter'])
      document.getElementById('live-message').dispatchEvent(new KeyboardEvent('keydown', { key, ctrlKey: true, bubbles: true }))`);
    await page.getByText('Turn 02: rejected').waitFor();
    await expect.poll(() => box.inputValue()).toBe('');
    expect([await alert.isVisible(), (await storyOfLine(project)).filter((one) => one === 'report 02')]).toEqual([
      false,
      ['report 02'],
    ]);
    // Without a word, too, nobody runs a plan that has just taken another one's place.
    await say(project, 'Make c', planOf([create('c.txt')]));
    await page.getByText('The plan of turn 03').waitFor();
    await giveVerdict(project, { verdict: 'rejected', text: 'Rather d.' });
    await say(project, 'Make d', planOf([create('d.txt')]));
    await page.getByText('The plan of turn 04').waitFor();
    const latest = await project.tipOf(line);
    await page.waitForTimeout(600);
    await page.locator('#live-send').click();
    expect([await alert.textContent(), await project.tipOf(line)]).toEqual([
      expect.stringContaining('has changed'),
      latest,
    ]);
    await page.locator('#live-send').click();
    await page.getByText('Turn 04: SUCCESS').waitFor();
    // An approval of one's own is none of the plan that comes after it.
    await say(project, 'Make e', planOf([create('e.txt')]));
    await page.getByText('The plan of turn 05').waitFor();
    await page.getByRole('radio', { name: 'Approve' }).check({ force: true });
    await page.locator('#live-send').click();
    await page.getByText('Turn 05: approved.').waitFor();
    await giveVerdict(project, { verdict: 'rejected', text: 'Rather f.' });
    await say(project, 'Make f', planOf([create('f.txt')]));
    await page.getByText('The plan of turn 06').waitFor();
    const newest = await project.tipOf(line);
    await page.waitForTimeout(600);
    await page.locator('#live-send').click();
    expect([await alert.textContent(), await project.tipOf(line)]).toEqual([
      expect.stringContaining('has changed'),
      newest,
    ]);
    expect(faults()).toEqual([]);
  });

  slowTest('leaves out the prepared words of a new request when another act is chosen', async () => {
    const project = await given.plannedTurn([edit('README.md', 'no such line', 'x')]);
    server = await openTestServer({ ...options, project });
    const { page } = await enter();
    await page.getByText('Connected.').waitFor();
    await page.waitForTimeout(600);
    const before = await project.tipOf(line);
    expect(await page.locator('#live-message').inputValue()).toContain('would not run');
    await page.getByRole('radio', { name: 'Reject' }).check({ force: true });
    await page.locator('#live-send').click();
    expect(await page.getByRole('alert').textContent()).toContain('Write a few words first');
    expect(await project.tipOf(line)).toBe(before);
  });

  slowTest('keeps a comment that Escape has closed, and adds it with Ctrl+Enter', async () => {
    const project = await given.plannedTurn([create('a.txt', 'one\ntwo\n')]);
    server = await openTestServer({ ...options, project });
    const { page, faults } = await enter();
    await page.getByText('Connected.').waitFor();
    const click = () =>
      page
        .locator('#t01 pre.diff ins')
        .first()
        .click({ position: { x: 20, y: 8 } });
    await click();
    await page.getByLabel('Your comment').fill('Why one?');
    await page.keyboard.press('Escape');
    await click();
    expect(await page.getByLabel('Your comment').inputValue()).toBe('Why one?');
    await page.keyboard.press('Control+Enter');
    expect(await page.locator('#live-comments').textContent()).toContain('Why one?');
    await click();
    expect(await page.getByLabel('Your comment').inputValue()).toBe('');
    await page.keyboard.press('Escape');
    // Leaving the page would lose it.
    expect(faults()).toEqual([]);
    await page.close({ runBeforeUnload: true });
    await expect.poll(faults).toEqual(['dialog: ']);
  });

  slowTest('hides nothing, and has no accessibility fault, whatever waits', async () => {
    const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    const foreign = await memoryProject();
    const { session: captured } = await claudePlanWaits(foreign);
    const waiting: [MemoryProject, string][] = [
      [await given.plannedTurn([create('a.txt'), command('ls')]), session],
      [await given.plannedTurn([edit('README.md', 'no such line', 'x')]), session],
      [await given.session(), session],
      [foreign, captured],
    ];
    for (const [project, named] of waiting) {
      server = await openTestServer({ ...options, project });
      const { page } = await enter(undefined, named);
      await page.getByText('Connected.').waitFor();
      for (const [width, colorScheme] of [
        [1280, 'light'],
        [390, 'dark'],
      ] as const) {
        await page.setViewportSize({ width, height: 844 });
        await page.emulateMedia({ colorScheme });
        await page.evaluate(axe);
        const faults = `axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html))`;
        expect(await page.evaluate(faults)).toEqual([]);
        const fits = `(() => {
          scrollTo(0, 1e6);
          const { top, height } = document.querySelector('#live').getBoundingClientRect();
          const { bottom } = document.querySelector('[data-view]:not([hidden])').getBoundingClientRect();
          return height <= innerHeight / 2 && bottom <= top && document.documentElement.scrollWidth <= innerWidth;
        })()`;
        await expect.poll(() => page.evaluate(fits), { timeout: 3000 }).toBe(true);
      }
      await page.context().close();
      await server.stop();
    }
  });

  slowTest('puts a comment on a diff that nobody waits for into the message, side by side or not', async () => {
    const project = await given.executedTurns({ 'Make it': [create('a.txt', 'one\ntwo\n')] });
    const model = scriptedModel(planOf([create('b.txt')]));
    const choice = { provider: 'recorded' as const, name: model.model, parameters: {}, model };
    server = await openTestServer({ ...options, project, pages: { choose: async () => choice } });
    const { page, faults } = await enter();
    const comment = async (text: string, words: string) => {
      await page.locator('#t01 .file').getByText(text, { exact: true }).last().click();
      await page.getByLabel('Your comment').fill(words);
      await page.getByRole('button', { name: 'Add' }).click();
    };
    await page.locator('#t01 .file ins').click({ position: { x: 20, y: 28 } });
    await page.getByRole('dialog').getByText('a.txt:2', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Side by side' }).click();
    await comment('two', 'Why two?');
    await page.getByRole('link', { name: /^Files/ }).click();
    await page.locator('#files td.ins', { hasText: 'one' }).click();
    await page.getByLabel('Your comment').fill('Why one?');
    await page.getByRole('button', { name: 'Add' }).click();
    await page.getByLabel('What do you want?').fill('Explain.');
    await page.getByRole('button', { name: 'Ask for a plan' }).click();
    await page.getByRole('radio', { name: 'Run 1 action' }).waitFor({ state: 'attached' });
    expect(model.requests.at(-1)?.messages.at(-1)?.content).toMatch(
      /Explain\.\n\n`a\.txt:2`: Why two\?\n\n`a\.txt:1`: Why one\?$/,
    );
    // The new parts look like the rest: the view stays open, and times are local.
    await expect.poll(() => page.locator('#tabs [aria-current=true]').textContent()).toMatch(/^Files/);
    await expect.poll(() => page.locator('header.page time[title]').count()).toBeGreaterThan(0);
    expect(faults()).toEqual([]);
  });

  slowTest('stops what another window has started, and both windows say so', async () => {
    const project = await given.plannedTurn([command('sleep'), create('b.txt')]);
    project.command.run = (_script, signal, onOutput) =>
      new Promise((resolve) => {
        onOutput?.('stdout', 'working\n');
        signal.addEventListener('abort', () => resolve({ ended: 'aborted' } as never));
      });
    server = await openTestServer({ ...options, project });
    const { page } = await enter();
    const { page: second } = await enter(page.context());
    await page.getByRole('button', { name: 'Run 2 actions' }).click();
    await expect.poll(() => second.locator('#live-text').textContent()).toBe('working\n');
    // Both show it wherever they have scrolled.
    await second.evaluate('scrollTo(0, 0)');
    expect((await second.getByRole('button', { name: 'Stop' }).boundingBox())?.y).toBeLessThan(720);
    await second.getByRole('button', { name: 'Stop' }).click();
    for (const one of [page, second]) {
      await one.getByText('Turn 01: ABORTED').waitFor();
      await one.getByLabel('What do you want?').waitFor();
    }
    expect(await project.read('b.txt')).toBeNull();
  });

  slowTest('goes on after a night: another server, another cookie, and the words still there', async () => {
    const project = await given.session();
    server = await openTestServer({ ...options, project });
    const { port } = server;
    const { page } = await enter();
    await page.getByText('Connected.').waitFor();
    await page.getByLabel('What do you want?').fill('Half a thought');
    await server.stop();
    await page.getByText('No connection to teddy').waitFor();
    await page.getByRole('button', { name: 'Ask for a plan' }).click();
    expect(await page.getByRole('alert').textContent()).toMatch(/start it again.*teddy view.*SERVER_UNREACHABLE/i);
    await say(project, 'Meanwhile, elsewhere', planOf([create('a.txt')]));
    server = await openTestServer({ ...options, project, port });
    await page.getByText('no longer recognizes this browser').waitFor();
    await page.getByRole('button', { name: 'Ask for a plan' }).click();
    await expect.poll(() => page.getByRole('alert').textContent()).toMatch(/Open its link again.*teddy view/);
    await enter(page.context());
    await page.locator('#t01').getByText('Meanwhile, elsewhere').first().waitFor();
    await page.getByRole('radio', { name: 'Run 1 action' }).waitFor({ state: 'attached' });
    expect(await page.getByLabel(/^Your words/).inputValue()).toBe('Half a thought');
    expect(page.url()).toContain(path);
  });
});
