/**
 * Debian's chromium, driven by playwright, for tests of the pages. It is installed with `apt-get install chromium`.
 *
 *   const browser = await openChromium();
 *   const { page, faults } = await browser.open('http://127.0.0.1:5000/');
 *   expect(faults()).toEqual([]);
 */
import { existsSync } from 'node:fs';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

const path = '/usr/bin/chromium';
export const hasChromium = existsSync(path);
if (!hasChromium && process.env['TEST_ALL'] === '1')
  console.log(`There is no ${path}: the tests that need a browser are skipped.`);

export interface OpenedPage {
  page: Page;
  /** Console errors, content policy reports, failed requests and dialogs, if there were any. */
  faults(): string[];
}

export interface TestBrowser {
  browser: Browser;
  /** In a window without cookies. */
  open(url: string, options?: BrowserContextOptions): Promise<OpenedPage>;
  close(): Promise<void>;
}

export async function openChromium(): Promise<TestBrowser> {
  // Most test runs open none.
  const { chromium } = await import('playwright-core');
  const browser = await chromium.launch({ executablePath: path, args: ['--no-sandbox'] });
  return {
    browser,
    async open(url, options = {}) {
      const context = await browser.newContext(options);
      // The whole test has a minute: a step that waits in vain has to be named.
      context.setDefaultTimeout(20_000);
      const page = await context.newPage();
      const found: string[] = [];
      page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning') found.push(message.text());
      });
      page.on('response', (response) => {
        if (response.status() >= 400) found.push(`${response.status()} ${response.url()}`);
      });
      page.on('pageerror', (error) => found.push(String(error)));
      page.on('dialog', (dialog) => {
        found.push(`dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      page.on('request', (request) => {
        if (new URL(request.url()).origin !== new URL(url).origin) found.push(`request: ${request.url()}`);
      });
      const report = `addEventListener('securitypolicyviolation', (event) => console.error('policy: ' + event.violatedDirective))`;
      await page.addInitScript(report);
      await page.goto(url);
      return { page, faults: () => found };
    },
    close: () => browser.close(),
  };
}
