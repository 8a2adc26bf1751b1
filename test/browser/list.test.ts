/** The list of sessions as a person uses it, in a browser. */
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { renderList } from '../../src/page/render-list.ts';
import { hasChromium, openChromium, type TestBrowser } from '../support/chromium.ts';
import { listedRow } from '../support/page-values.ts';

const now = new Date(2026, 0, 24, 18, 30);
const at = (day: number, hour: number) => new Date(2026, 0, day, hour, 5).toISOString();
const spent = { answers: 2, unreported: 0, inputTokens: 41_200, outputTokens: 3_050, costUsd: 0.1834 };
const rows = [
  listedRow('here', {
    asked: 'Say how long ago something happened',
    state: 'open',
    current: true,
    updated: at(24, 18),
    changed: [2, 1204, 318],
    turns: 7,
    spent,
  }),
  listedRow('pay', {
    asked: 'Charge a card only once',
    state: 'pending',
    updated: at(24, 17),
    changed: [3, 41, 7],
    turns: 2,
    spent,
  }),
  listedRow('claude', {
    asked: 'Find out why the tests are slow',
    state: 'open',
    words: 'plan awaits verdict',
    awaitsVerdict: true,
    agent: 'claude-code',
    updated: at(24, 15),
  }),
  listedRow('theirs', {
    asked: 'Rename the table of users',
    state: 'pending',
    updated: at(23, 11),
    waiting: [
      {
        line: 'teddy/20260124-theirs',
        turn: '02',
        from: 'grace@example.org',
        show: 'teddy show 02 -s teddy/20260124-theirs',
      },
    ],
  }),
  listedRow('landed', {
    asked: 'Keep the words in a row whole, even on a phone',
    state: 'landed',
    updated: at(24, 9),
    changed: [12, 88, 90],
    spent,
  }),
  listedRow(`${'long-'.repeat(10)}name`, {
    asked: 'A step '.repeat(20),
    updated: at(24, 8),
    conversationBranches: ['a', 'b'],
    turns: 31,
  }),
  listedRow('failed', { asked: 'Upgrade the database', state: 'failed', updated: at(23, 17), changed: [1, 2, 0] }),
  listedRow('refused', {
    asked: 'Delete the old logs',
    state: 'failed',
    words: 'aborted',
    end: 'aborted',
    updated: at(23, 12),
    changed: [0, 0, 0],
  }),
  listedRow('codex', {
    asked: 'Write the docs of the API',
    state: 'committed',
    words: 'committed as 1a2b3c4',
    agent: 'codex',
    updated: at(23, 10),
    changed: [4, 210, 3],
  }),
  listedRow('far', {
    asked: 'Try another parser',
    state: 'remote',
    words: 'only on origin, backup',
    updated: at(22, 19),
  }),
  listedRow('noted', {
    asked: 'Sort by last use',
    state: 'landed',
    words: 'landed, by note',
    line: 'feature/sort',
    updated: at(22, 14),
    changed: [2, 30, 12],
    spent: { ...spent, costUsd: null },
  }),
  listedRow('new', { state: 'open', title: '', turns: 0, updated: at(22, 9) }),
];

let browser: TestBrowser;
let server: Server;
let url: string;

beforeAll(async () => {
  if (!hasChromium) return;
  server = createServer((request, response) => {
    const wanted = new URL(request.url ?? '/', 'http://127.0.0.1').searchParams;
    const filter = { query: wanted.get('q') ?? '', state: wanted.get('state') ?? '' };
    response.setHeader('Content-Type', 'text/html; charset=UTF-8');
    response.end(renderList(request.url === '/?empty' ? [] : rows, filter, now));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  browser = await openChromium();
});

afterAll(async () => {
  await browser?.close();
  server?.closeAllConnections();
  server?.close();
});

const count = (page: Page) => page.getByRole('status').textContent();
const shown = (page: Page) => page.locator('main li:visible a').allTextContents();
const headings = (page: Page) => page.locator('main h2:visible').allTextContents();

describe.runIf(hasChromium)('the list of sessions', () => {
  test.each(['light', 'dark'] as const)(
    'has no accessibility fault in %s, and fits any window',
    async (colorScheme) => {
      const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
      for (const width of [390, 768, 1280, 1920])
        for (const path of ['', '?empty']) {
          const { page, faults } = await browser.open(`${url}${path}`, {
            colorScheme,
            viewport: { width, height: 900 },
          });
          const wide = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
          expect(wide, String(width)).toBeLessThanOrEqual(0);
          // The words of a state stay together.
          const lines = `[...document.querySelectorAll('.pill')].filter((pill) => pill.getClientRects().length > 1 || pill.scrollWidth > pill.clientWidth).length`;
          expect(await page.evaluate(lines)).toBe(0);
          const pictures = process.env['PICTURES'];
          if (pictures)
            await page.screenshot({
              path: `${pictures}/list${path.slice(1)}-${width}-${colorScheme}.png`,
              fullPage: true,
            });
          await page.evaluate(axe);
          const { violations } = (await page.evaluate(`axe.run(document, { resultTypes: ['violations'] })`)) as {
            violations: { id: string; nodes: { html: string }[] }[];
          };
          expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
          expect(faults()).toEqual([]);
          await page.context().close();
        }
    },
  );

  test('filters while one types, keeps the address in step, and brings everything back', async () => {
    const { page, faults } = await browser.open(url);
    expect(await count(page)).toBe('12 sessions');
    expect(await headings(page)).toEqual(['Waiting for you', 'Today', 'Yesterday', 'Thursday, 22 January 2026']);
    await page.getByRole('searchbox').fill('the TESTS');
    expect(await shown(page)).toEqual(['Find out why the tests are slow']);
    expect([await count(page), await headings(page)]).toEqual(['1 of 12 sessions', ['Waiting for you']]);
    expect(page.url()).toBe(`${url}?q=the+TESTS`);
    await page.getByRole('searchbox').fill('');
    await page.getByLabel('State').selectOption('waiting');
    expect(page.url()).toBe(`${url}?state=waiting`);
    expect(await count(page)).toBe('3 of 12 sessions');
    // A copied address, and a reload, show the same; the rest is still there.
    await page.reload();
    expect([await count(page), (await shown(page)).length]).toEqual(['3 of 12 sessions', 3]);
    await page.getByLabel('State').selectOption('');
    expect([await count(page), page.url(), (await shown(page)).length]).toEqual(['12 sessions', url, 12]);
    expect(faults()).toEqual([]);
  });

  test('filters by its address without a script', async () => {
    const { page } = await browser.open(`${url}?q=parser`, { javaScriptEnabled: false });
    expect(await shown(page)).toEqual(['Try another parser']);
    await page.getByRole('searchbox').fill('');
    await page.getByLabel('State').selectOption('aborted');
    await page.getByRole('button', { name: 'Filter' }).click();
    expect(page.url()).toBe(`${url}?q=&state=aborted`);
    expect([await shown(page), await count(page)]).toEqual([['Delete the old logs'], '1 of 12 sessions']);
    expect(await headings(page)).toEqual(['Yesterday']);
  });
});
