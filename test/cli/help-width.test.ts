/** Help on terminals of several widths: it wraps at words, and only a command to copy may be longer than the line. */
import { expect, test } from 'vitest';
import { helpWidth, renderCommandHelp } from '../../src/cli/command-help.ts';
import { findHelp, reflow } from '../../src/cli/commands/help.ts';
import { listCommands } from '../../src/cli/run-cli.ts';
import { teddyPath } from '../support/teddy-path.ts';
import { runInMemoryTerminal } from '../support/memory-terminal.ts';

test.each([60, 71, 100])('every help text fits into %i columns', async (width) => {
  const pages = await listCommands();
  const tooLong = (text: string) => text.split('\n').filter((line) => line.length > width);
  for (const page of pages) {
    const text = renderCommandHelp(page, (_style, plain) => plain, width);
    expect(tooLong(text.replace(/\nExamples\n[^]*$/, '')), page.path).toEqual([]);
    expect(text).not.toMatch(/ $/m);
    const examples = text.split('\nExamples\n')[1] ?? '';
    expect(tooLong(examples).filter((line) => line.startsWith('  #'))).toEqual([]);
  }
  const groups = [...new Set(pages.map(({ group }) => group))].filter((group) => group !== '');
  for (const name of ['', 'all', 'topics', ...groups]) {
    const words = name === '' ? [] : [name];
    const text = (await findHelp(words, { listCommands: async () => pages, main: teddyPath, width })) ?? '';
    expect(tooLong(text), name).toEqual([]);
    expect(text.length).toBeGreaterThan(100);
  }
});

test('help uses the width of the terminal between 60 and 100 columns, and 80 elsewhere', async () => {
  expect([20, 60, 72, 100, 300, Number.POSITIVE_INFINITY].map((columns) => helpWidth({ columns }))).toEqual([
    60, 60, 72, 100, 100, 80,
  ]);
  const run = runInMemoryTerminal({ words: ['help', 'plan'] });
  expect(await run.exitCode).toBe(0);
  const widest = Math.max(
    ...run
      .text()
      .split('\n')
      .map((line) => line.length),
  );
  expect(widest).toBeGreaterThan(80);
  expect(widest).toBeLessThanOrEqual(100);
});

test('a long text of teddy help goes through the pager of a terminal', async () => {
  const run = runInMemoryTerminal({ words: ['help', 'all'], env: { GIT_PAGER: 'exit 3', PATH: process.env['PATH'] } });
  expect(await run.exitCode).toBe(0);
  expect(run.text()).not.toContain('Every command');
});

test('a page is wrapped at words, except code, tables and headings', () => {
  const page = [
    '# A heading that is longer than the line',
    '',
    'One sentence on',
    'two lines of the page.',
    '- an item with more words than fit',
    '  on one line',
    '1. a second',
    '',
    '```',
    'code that is longer than the line',
    'more code',
    '```',
    '| a table | that is | longer |',
    '',
  ].join('\n');
  expect(reflow(page, 20).split('\n')).toEqual([
    '# A heading that is longer than the line',
    '',
    'One sentence on two',
    'lines of the page.',
    '- an item with more',
    '  words than fit on',
    '  one line',
    '1. a second',
    '',
    '```',
    'code that is longer than the line',
    'more code',
    '```',
    '| a table | that is | longer |',
    '',
  ]);
});
