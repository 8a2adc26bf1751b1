/** The session page as a person uses it, in a browser: three recorded sessions, and a hostile one. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { renderSessionPage } from '../../src/page/render-page.ts';
import { findPageSource, readPage } from '../../src/workflow/page/read-page.ts';
import { given } from '../support/given.ts';
import { hasChromium, openChromium, type OpenedPage, type TestBrowser } from '../support/chromium.ts';
import { type MemoryProject } from '../support/memory-repository.ts';
import type { TurnName } from '../../src/names.ts';
import { pageFile, pageTurn, sessionPage, sha256, whole } from '../support/page-values.ts';
import { recordedSession } from '../support/recorded-session.ts';
import { teddyPath } from '../support/teddy-path.ts';
import { scriptedModel } from '../support/scripted-model.ts';
import { command, create, planOf, run, say } from '../support/turns.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let browser: TestBrowser;
let directory: string;
/** The demo's page, as written by the built executable. */
let demo: string;
/** Every kind of entry. */
let recorded: string;
/** A conversation with tools. */
let hostile: string;
const sessions = () => [demo, recorded, hostile];

const nasty = [
  '<script>document.title = "owned"; alert(1)</script>',
  '<img src="http://127.0.0.1:9/x.png" onerror="alert(2)">',
  '![x](http://127.0.0.1:9/y.png) [y](javascript:alert(3)) <style>* { display: none }</style>',
  '</pre></details></article></main><iframe srcdoc="<script>alert(4)</script>"></iframe>',
  '\u001b[31mred\u001b]8;;http://127.0.0.1:9/\u0007link\u202e gpj.exe \u2066\u200b',
  '" onmouseover="alert(5)" autofocus onfocus="alert(6)',
].join('\n');

beforeAll(async () => {
  if (!hasChromium) return;
  browser = await openChromium();
  directory = await mkdtemp(join(tmpdir(), 'teddy-pages-'));
  [demo, recorded, hostile] = await Promise.all([
    playDemo(),
    recordedSession().then((project) => render('recorded', project)),
    hostileSession().then((project) => render('hostile', project)),
  ]);
});

afterAll(async () => {
  await browser?.close();
  if (directory !== undefined) await rm(directory, { recursive: true, force: true });
});

/** In a directory of its own: nothing is shared with the demo's own test. */
async function playDemo(): Promise<string> {
  const env = { ...process.env, TMPDIR: directory, TZ: 'UTC' };
  const { stdout } = await promisify(execFile)(process.execPath, [teddyPath, 'demo'], { env });
  return /^(file:\/\/\S+\.html)$/m.exec(stdout)?.[1] ?? '';
}

async function render(name: string, project: MemoryProject): Promise<string> {
  const page = await readPage(project, await findPageSource(project, undefined), { version: '0.1.0', checks: true });
  return writePage(name, renderSessionPage(page, sha256));
}

async function writePage(name: string, html: string): Promise<string> {
  const file = join(directory, `${name}.html`);
  await writeFile(file, html);
  return `file://${file}`;
}

async function hostileSession(): Promise<MemoryProject> {
  const project = await given.session({ 'README.md': nasty });
  project.command.run = async () => ({ stdout: `${nasty}\n`.repeat(20), stderr: nasty });
  const plan = `# ${nasty.split('\n')[0]}\n\n## Rationale\n\n${nasty}\n\n${planOf([
    create('a "><script>alert(7)</script>.txt', nasty),
    command(nasty.split('\n')[1] ?? ''),
  ])
    .split('\n')
    .slice(2)
    .join('\n')}`;
  await say(project, nasty, plan);
  await run(project);
  await say(project, nasty, nasty);
  await project.commit(`${nasty.split('\n')[4]} <script>alert(8)</script>\n`, { 'own.txt': nasty });
  // This is more than anybody reads, and the page does not contain it.
  await project.commit('Something large\n', { 'large.txt': 'x'.repeat(50_000_000) });
  await say(project, 'And something long', scriptedModel(`${nasty}${'<b>x</b>'.repeat(1_200_000)}`));
  return project;
}

/** In the dark, only colours differ, so that only the rules on colours can find more. */
async function findViolations({ page }: OpenedPage, colorScheme: 'light' | 'dark'): Promise<string[]> {
  await page.evaluate(axe);
  const only = colorScheme === 'dark' ? `, runOnly: ['color-contrast', 'link-in-text-block']` : '';
  const results = await page.evaluate(`axe.run(document, { resultTypes: ['violations']${only} })`);
  const { violations } = results as {
    violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[];
  };
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.length} times, ${nodes[0]?.html} (${nodes[0]?.failureSummary})`,
  );
}

/** A browser's types differ from those in these tests. */
async function ask<Value>(page: Page, expression: string): Promise<Value> {
  return (await page.evaluate(expression)) as Value;
}

async function openAll(page: Page): Promise<void> {
  await page.evaluate(`document.querySelectorAll('[data-view]').forEach((view) => void (view.hidden = false))`);
  await page.evaluate(`document.querySelectorAll('details').forEach((fold) => void (fold.open = true))`);
}

describe.runIf(hasChromium)('the page', () => {
  test.each(['light', 'dark'] as const)(
    'of three sessions has no accessibility fault in %s, folded or open',
    async (colorScheme) => {
      for (const url of sessions())
        for (const viewport of [
          { width: 1280, height: 900 },
          { width: 390, height: 844 },
        ]) {
          const opened = await browser.open(url, { colorScheme, viewport });
          expect(await findViolations(opened, colorScheme), url).toEqual([]);
          await openAll(opened.page);
          expect(await findViolations(opened, colorScheme), url).toEqual([]);
          // Nothing of the page itself scrolls sideways.
          expect(
            await ask<number>(opened.page, 'document.documentElement.scrollWidth - innerWidth'),
            url,
          ).toBeLessThanOrEqual(0);
          expect(opened.faults(), url).toEqual([]);
          await opened.page.context().close();
        }
    },
  );

  test('renders in light, in dark and on paper', async () => {
    for (const url of sessions()) {
      const drawn = new Set<string>();
      for (const colorScheme of ['light', 'dark'] as const) {
        const { page } = await browser.open(url, { colorScheme });
        const picture = await page.screenshot();
        drawn.add(picture.toString('base64'));
        const light = async (name: string) => {
          const rgb = await ask<string>(page, `getComputedStyle(document.body).${name}`);
          return (rgb.match(/\d+/g) ?? []).slice(0, 3).reduce((sum, part) => sum + Number(part), 0);
        };
        expect((await light('color')) < (await light('backgroundColor'))).toBe(colorScheme === 'light');
        await page.context().close();
      }
      expect(drawn.size).toBe(2);
      const { page } = await browser.open(url, { colorScheme: 'dark' });
      await page.emulateMedia({ media: 'print' });
      expect(await page.locator('#timeline').isVisible()).toBe(false);
      expect(await page.locator('#tools').isVisible()).toBe(false);
      expect(await page.locator('.turn').first().isVisible()).toBe(true);
      expect(await ask(page, 'getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 255, 255)');
      // Even for a reader in dark mode, a printer prints dark text on white paper.
      expect(await ask(page, 'getComputedStyle(document.body).color')).toBe('rgb(28, 30, 33)');
      expect(await ask(page, `getComputedStyle(document.querySelector('.turn')).backgroundColor`)).toBe(
        'rgb(255, 255, 255)',
      );
      expect((await page.pdf()).subarray(0, 5).toString()).toBe('%PDF-');
      await page.context().close();
    }
  });

  test('can be read without a script: every part, and every fold and tab', async () => {
    const { page } = await browser.open(demo, { javaScriptEnabled: false });
    expect(await page.locator('#tools button, #tools input').count()).toBe(0);
    for (const view of ['Files', 'Numbers', 'Turns']) {
      await page.locator('#tabs').getByText(view).click();
      expect(await page.locator(new URL(page.url()).hash).isVisible(), view).toBe(true);
    }
    const first = page.locator('#t01');
    for (const words of [
      'One of the tests fails. Find out why, and fix it.',
      'approved in advance, with -y',
      'Take a unit that fits once',
    ])
      expect(await first.textContent()).toContain(words);
    await page.getByText('Source', { exact: true }).first().click();
    expect(await first.locator('.view.source').isVisible()).toBe(true);
    expect(await first.locator('.view.read').isVisible()).toBe(false);
    await page.locator('#t01-context > summary').click();
    await page.locator('#t01-r1 summary').click();
    expect(await page.locator('#t01-r1 pre').innerText()).toContain('teddy-context: 1');
    await page.locator('#timeline a').last().click();
    expect(new URL(page.url()).hash).toBe('#t04');
  });

  test('shows one view at a time, and leads from a hunk of the whole change to the action that made it', async () => {
    const { page, faults } = await browser.open(demo);
    const views = async () => {
      const all = ['stream', 'files', 'numbers'];
      const seen = await Promise.all(all.map((view) => page.locator(`#${view}`).isVisible()));
      return all.filter((_, at) => seen[at]);
    };
    expect(await views()).toEqual(['stream']);
    await page.getByRole('link', { name: /^Numbers/ }).click();
    await expect.poll(views).toEqual(['numbers']);
    await page.locator('.tiles').getByRole('link', { name: '3' }).click();
    await expect.poll(views).toEqual(['files']);
    expect(await page.locator('#tabs [aria-current=true]').textContent()).toContain('Files');
    await page.getByRole('button', { name: 'Side by side' }).click();
    const label = page.locator('#files table.diff a', { hasText: 'turn 04, action 1' }).first();
    await label.click();
    await expect.poll(views).toEqual(['stream']);
    await expect.poll(() => page.locator('#t04-a1').isVisible()).toBe(true);
    // A match may be in a view that is not open.
    await page.getByRole('searchbox').fill('turn 02-branch-01, action 2');
    await page.keyboard.press('Enter');
    await expect.poll(views).toEqual(['files']);
    await page.emulateMedia({ media: 'print' });
    await page.evaluate(`dispatchEvent(new Event('beforeprint'))`);
    expect(await views()).toEqual(['stream', 'files', 'numbers']);
    await page.evaluate(`dispatchEvent(new Event('afterprint'))`);
    expect(await views()).toEqual(['files']);
    expect(faults()).toEqual([]);
  });

  test('puts a long diff that a turn has too into the list of files', async () => {
    const text = 'a line that is long enough\n'.repeat(200);
    const file = pageFile('src/a.ts', null, text, 1);
    const by = [{ kind: 'turn' as const, turn: '01' as TurnName, action: 1 }];
    const whole = sessionPage([pageTurn('01', { files: [file] })], { files: [{ ...file, by, made: [by] }] });
    const { page, faults } = await browser.open(await writePage('same', renderSessionPage(whole, sha256)));
    expect(await page.locator('#files-1').textContent()).toContain('The diff of turn 01');
    await page.getByRole('link', { name: /^Files/ }).click();
    await expect.poll(() => page.locator('#files-1 .diff').isVisible()).toBe(true);
    expect((await page.locator('#files-1 ins').innerText()).split('\n')).toHaveLength(201);
    expect(await page.locator('[id="t01-f1-h1"]').count()).toBe(1);
    expect(faults()).toEqual([]);
  });

  test('shows the exact request: its sections are the log’s bytes', async () => {
    const { page } = await browser.open(demo);
    const repository = demo.replace(/^file:\/\/(.*)page\.html$/, '$1ago');
    const sections = await page.locator('#t01-context .request pre').allTextContents();
    const log = (await promisify(execFile)('git', ['show', 'HEAD:.teddy/sessions/'], { cwd: repository })).stdout;
    const [session = ''] = log.match(/\d{8}-[\w-]+/) ?? [];
    const { stdout } = await promisify(execFile)('git', ['show', `HEAD:.teddy/sessions/${session}/01/_context.log`], {
      cwd: repository,
    });
    expect(sections.join('')).toBe(stdout);
  });

  test('moves from turn to turn and from action to action by keys, and names each', async () => {
    const { page, faults } = await browser.open(demo, { viewport: { width: 1280, height: 700 } });
    const current = () => page.locator('#timeline [aria-current]').textContent();
    await page.keyboard.press('j');
    await expect.poll(current).toContain('01');
    await page.keyboard.press('j');
    await expect.poll(current).toContain('02');
    expect(new URL(page.url()).hash).toBe('#t02-branch-01');
    await page.keyboard.press(']');
    await expect.poll(() => new URL(page.url()).hash).toBe('#t02-branch-01-a1');
    await page.keyboard.press(']');
    await page.keyboard.press('[');
    await page.keyboard.press('k');
    await expect.poll(() => new URL(page.url()).hash).toMatch(/^#t0[12]/);
    await page.keyboard.press('?');
    expect(await page.getByRole('dialog').isVisible()).toBe(true);
    await page.keyboard.press('Escape');
    expect(await page.getByRole('dialog').isVisible()).toBe(false);
    expect(faults()).toEqual([]);
  });

  test('goes to the first match while one types, opens its folded parts, and moves to the next and back', async () => {
    const { page } = await browser.open(demo);
    const status = () => page.locator('#tools [role=status]').textContent();
    const first = page.locator('#t01-r1 pre');
    expect(await first.isVisible()).toBe(false);
    await page.keyboard.press('/');
    await page.keyboard.type('teddy-context: 1');
    await expect.poll(status).toBe('1 of 5');
    await expect
      .poll(() => ask<number>(page, `document.querySelector('#t01-r1 pre').getBoundingClientRect().top`))
      .toBeGreaterThan(0);
    expect(await first.isVisible()).toBe(true);
    // The field keeps the focus, so that n is a letter in it.
    await page.keyboard.type('n');
    await expect.poll(status).toBe('Nothing found');
    await page.keyboard.press('Backspace');
    await expect.poll(status).toBe('1 of 5');
    await page.keyboard.press('Enter');
    expect(await status()).toBe('2 of 5');
    expect(await page.locator('#t02-branch-01-r1 pre').isVisible()).toBe(true);
    await page.keyboard.press('Tab');
    await page.keyboard.press('n');
    expect(await status()).toBe('3 of 5');
    for (let times = 0; times < 3; times += 1) await page.keyboard.press('N');
    expect(await status()).toBe('5 of 5');
    // A word that is not sought yet is sought at once.
    await page.keyboard.press('/');
    await page.getByRole('searchbox').fill('teddy-context:');
    await page.keyboard.press('Enter');
    expect(await status()).toBe('1 of 5');
    await page.keyboard.press('Escape');
    expect(await page.getByRole('searchbox').inputValue()).toBe('');
    // A long text scrolls by itself, too.
    const longest = `[...document.querySelectorAll('#t01 pre')].reduce((one, other) => one.textContent.length > other.textContent.length ? one : other)`;
    const last = await ask<string>(page, `${longest}.textContent.trim().split('\\n').at(-1).slice(0, 30)`);
    await page.getByRole('searchbox').fill(last);
    await page.keyboard.press('Enter');
    const isInSight = `(() => {
      const [range] = CSS.highlights.get('current');
      const [hit, box] = [range, range.startContainer.parentElement.closest('pre')].map((one) => one.getBoundingClientRect());
      return box.height < 700 && hit.top > box.top && hit.bottom <= box.bottom && hit.top > 0 && hit.bottom < innerHeight;
    })()`;
    await expect.poll(() => ask<boolean>(page, isInSight), { timeout: 5000 }).toBe(true);
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    await page.keyboard.type('no such words anywhere');
    await expect.poll(() => page.locator('#tools [role=status]').textContent()).toBe('Nothing found');
  });

  test('opens the folded parts around a link to an action, a file, a hunk or a part of a request', async () => {
    for (const id of ['t03-a1', 't01-f1', 't01-f1-h1', 't03-r2', 'c-02-branch-01-02']) {
      const { page } = await browser.open(`${demo}#${id}`);
      const top = () => ask<number>(page, `document.getElementById('${id}').getBoundingClientRect().top`);
      await expect.poll(top, { message: id }).toBeGreaterThanOrEqual(0);
      expect(await page.locator(`[id="${id}"]`).isVisible(), id).toBe(true);
      await page.context().close();
    }
  });

  test('puts the sides of a diff side by side, and back, with every line in it', async () => {
    const { page } = await browser.open(demo);
    const file = page.locator('#t02-branch-01-f1');
    const lines = (await file.locator('pre.diff').innerText()).split('\n').filter((line) => /^[-+ ]/.test(line));
    await page.getByRole('button', { name: 'Side by side' }).click();
    expect(await file.locator('pre.diff').isVisible()).toBe(false);
    const column = async (name: string) => (await file.locator(`td.${name}`).allTextContents()).map((line) => line);
    expect(await column('del')).toEqual(lines.filter((line) => line.startsWith('-')).map((line) => line.slice(1)));
    expect(await column('ins')).toEqual(lines.filter((line) => line.startsWith('+')).map((line) => line.slice(1)));
    const [left] = await file.locator('tr:has(td.ins) td.n:first-child').allTextContents();
    expect(left).toBe('');
    await page.getByRole('button', { name: 'Side by side' }).click();
    expect(await file.locator('pre.diff').isVisible()).toBe(true);
    expect(await file.locator('table.diff').isVisible()).toBe(false);
  });

  test('compares the two attempts at turn 02: messages, plans, code', async () => {
    const { page } = await browser.open(demo);
    const compared = page.locator('.comparison').first();
    await compared.locator('summary').first().click();
    const text = await compared.innerText();
    for (const words of [
      'Say weeks as well.',
      'let Intl.RelativeTimeFormat write the words',
      'The plans',
      'src/ago.js',
    ])
      expect(text).toContain(words);
  });

  test('for a hostile session makes no request, opens no dialog, and changes nothing', async () => {
    const { page, faults } = await browser.open(hostile);
    await openAll(page);
    await page.getByRole('button', { name: 'Side by side' }).click();
    await page.keyboard.press('/');
    await page.keyboard.type('<script>');
    await expect.poll(() => page.locator('#tools [role=status]').textContent()).toMatch(/^1 of \d+$/);
    await page.mouse.move(600, 400);
    expect(await page.title()).not.toBe('owned');
    expect(await ask(page, `document.querySelectorAll('script, iframe, img, style, [onmouseover]').length`)).toBe(2);
    const addresses = await ask<string[]>(page, `[...document.querySelectorAll('a')].map(({ protocol }) => protocol)`);
    expect(new Set(addresses)).toEqual(new Set(['file:']));
    expect(await ask<string>(page, 'document.body.innerText')).not.toMatch(
      /(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u,
    );
    expect(faults()).toEqual([]);
    expect((await stat(fileURLToPath(hostile))).size).toBeLessThan(1_500_000);
  });

  test('has a style sheet and a script of at most 32 KB', async () => {
    const html = await readFile(fileURLToPath(demo), 'utf8');
    const own = [...html.matchAll(/<(style|script)>(.*?)<\/\1>/gs)].map(([, , text = '']) => Buffer.byteLength(text));
    expect(own).toHaveLength(2);
    expect(own.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(32 * 1024);
  });

  test('of a thousand turns appears immediately, and every key works in it', async () => {
    const turns = Array.from({ length: 1000 }, (_, at) => {
      const name = String(at + 1).padStart(2, '0');
      const parent = at === 0 ? null : String(at).padStart(2, '0');
      const text = whole(`Words of turn ${name}. `.repeat(50));
      return pageTurn(name, {
        parent: parent as never,
        startedAt: '2026-01-24T10:00:00.000Z',
        endedAt: '2026-01-24T10:00:09.000Z',
        parts: [{ kind: 'message', text, isSpoken: false, isPartial: false }],
      });
    });
    const url = await writePage('thousand', renderSessionPage(sessionPage(turns), sha256));
    const { page, faults } = await browser.open(`${url}#t1000`);
    await expect.poll(() => page.locator('#timeline [aria-current]').textContent()).toContain('1000');
    await page.keyboard.press('k');
    await expect.poll(() => new URL(page.url()).hash).toBe('#t999');
    expect(await page.locator('.turn').count()).toBe(1000);
    expect(faults()).toEqual([]);
  });

  test('looks like the picture in the README', async () => {
    const file = join(root, 'docs', 'page.png');
    const { page } = await browser.open(demo, { viewport: { width: 1280, height: 860 }, colorScheme: 'light' });
    const picture = await page.screenshot();
    if (process.env['UPDATE_PICTURE'] === '1') await writeFile(file, picture);
    const kept = await readFile(file);
    expect(kept.subarray(1, 4).toString()).toBe('PNG');
    expect([kept.readUInt32BE(16), kept.readUInt32BE(20)]).toEqual([1280, 860]);
    expect(kept.length).toBeLessThan(200_000);
    expect(await readFile(join(root, 'README.md'), 'utf8')).toContain('(docs/page.png)');
  });
});
