/** At Tab, a shell is offered commands, options and files. The scripts that ask for them are tried with real shells, in e2e. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';

let project: MemoryTeddy;

beforeAll(async () => {
  project = await openMemoryTeddy();
});
afterAll(() => project.close());

const ask = (...words: string[]) => project.ok('complete', '--', ...words);
/** The exit code that a shell gets: 0 has it offer files as well, 4 does not. */
const askDirective = async (...words: string[]) => (await ask(...words)).trimEnd().split('\n').at(-1);

test('files are offered where a file is taken, and only there', async () => {
  for (const words of [
    ['plan', '--from', ''],
    ['session', 'plan', '--recording', ''],
    ['session', 'import', ''],
    ['session', 'context', 'add', 'one.txt', ''],
    ['session', 'verify', ''],
    ['session', 'export', '--jsonl', ''],
    ['write', 'finalize', '--content', ''],
  ])
    expect(await askDirective(...words), words.join(' ')).toBe(':0');
  for (const words of [
    ['session', 'new', '--from', ''],
    ['session', 'land', ''],
    ['global', 'edit', ''],
    ['session', 'plan', '-m', ''],
    ['pl'],
  ])
    expect(await askDirective(...words), words.join(' ')).toBe(':4');
});

test('commands and groups are offered with what they are for', async () => {
  expect(await ask('mem')).toContain('memo\tfacts that teddy tells every session in this repository\n');
  expect(await ask('session', 'la')).toMatch(/^land\t/);
  expect(await ask('help', 'to')).toMatch(/^topics\t/);
});

test('a shell that is not known is refused with those that are', async () => {
  expect(await project.refuses('USAGE', 2, ['completion', 'csh'])).toContain('Choose bash, zsh or fish.');
});
