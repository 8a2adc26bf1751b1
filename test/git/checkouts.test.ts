/**
 * The bytes in a checkout, many files from one git process: the same as git writes to disk, with any names and filters.
 */
import { chmod, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openRepository, type OpenedRepository } from '../../src/git/repository.ts';
import type { Oid } from '../../src/names.ts';
import { path } from '../support/disk.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

const attributes = '*.crlf text eol=crlf\n*.up filter=upper\nodd*.crlf -text\n';
const names = [
  'a.crlf',
  'b\nline.crlf',
  ' lead.crlf',
  '\ttab.crlf',
  'odd "q".crlf',
  'dir/naïve name.crlf',
  '-dash.crlf',
];

let repo: ScratchRepository;
let repository: OpenedRepository;
let traced: string[];

beforeEach(async () => {
  repo = await makeScratchRepository({ '.gitattributes': attributes });
  traced = [];
  repository = await openRepository({ cwd: repo.root, env: process.env, trace: (line) => traced.push(line) });
});

afterEach(async () => {
  await repository.close();
  await repo.close();
});

async function readAll(files: string[]): Promise<Map<string, string>> {
  const wanted = await Promise.all(
    files.map(async (name) => ({ path: path(name), oid: (await repo.git('rev-parse', `:${name}`)) as Oid })),
  );
  traced.length = 0;
  const read = await repository.workspace?.readCheckouts(wanted);
  return new Map([...(read ?? [])].map(([name, bytes]) => [name, Buffer.from(bytes).toString('utf8')]));
}

/** Has a real checkout write them. */
async function checkOut(files: string[]): Promise<Map<string, string>> {
  for (const name of files) await rm(join(repo.root, name));
  await repo.git('checkout', '--', ...files.map((name) => `:(literal)${name}`));
  return new Map(await Promise.all(files.map(async (name) => [name, await repo.read(name)] as const)));
}

/** A long-running filter that supports delays, and turns its files into upper case. */
const longRunning = `
const fs = require('node:fs');
let input = Buffer.alloc(0);
const more = () => { const chunk = Buffer.alloc(65536); const n = fs.readSync(0, chunk); if (n === 0) process.exit(0); input = Buffer.concat([input, chunk.subarray(0, n)]); };
const take = (n) => { while (input.length < n) more(); const part = input.subarray(0, n); input = input.subarray(n); return part; };
const packet = () => { const n = parseInt(take(4).toString(), 16); return n === 0 ? null : take(n - 4); };
const list = () => { const all = []; for (let one = packet(); one !== null; one = packet()) all.push(one); return all; };
const say = (...lines) => { for (const line of lines) { const b = Buffer.from(line); fs.writeSync(1, Buffer.concat([Buffer.from((b.length + 4).toString(16).padStart(4, '0')), b])); } fs.writeSync(1, '0000'); };
fs.appendFileSync(process.argv[2], 'started\\n');
list();
say('git-filter-server\\n', 'version=2\\n');
list();
say('capability=smudge\\n', 'capability=delay\\n');
for (;;) {
  list();
  const content = Buffer.concat(list()).toString();
  say('status=success\\n');
  say(content.toUpperCase());
  say();
}
`;

describe('a checkout’s bytes', () => {
  test('are those that git writes, whatever the name, from one git process for all plain names', async () => {
    await repo.commit(Object.fromEntries(names.map((name) => [name, `${name}\nof\n\n`])));
    const read = await readAll(names);
    expect(traced.filter((line) => line.includes('--batch'))).toHaveLength(1);
    expect(traced).toHaveLength(3);
    expect(read.get('a.crlf')).toBe('a.crlf\r\nof\r\n\r\n');
    expect(read.get('odd "q".crlf')).toBe('odd "q".crlf\nof\n\n');
    expect(read).toEqual(await checkOut(names));
  });

  test('are complete for files that are empty, alike, end without a newline or look like git’s responses', async () => {
    const oid = await repo.git('rev-parse', ':.gitattributes');
    const files = { empty: '', one: 'same\n', two: 'same\n', three: 'same\n', open: 'no end', last: '\n\n' };
    await repo.commit({ ...files, answer: `${oid} blob 12\n${oid} missing\n` });
    const all = ['answer', ...Object.keys(files)];
    expect(await readAll(all)).toEqual(await checkOut(all));
    expect(await readAll([])).toEqual(new Map());
    expect(traced).toEqual([]);
  });

  test('pass through a long-running filter that may delay', async () => {
    await repo.commit({ 'a.up': 'a\n', 'b.up': 'b\n', 'plain.txt': 'c\n' });
    const [script, log] = [join(repo.root, '.git', 'filter.cjs'), join(repo.root, '.git', 'filter.log')];
    await repo.write('.git/filter.cjs', longRunning);
    await repo.git('config', 'filter.upper.process', `"${process.execPath}" "${script}" "${log}"`);
    const read = await readAll(['a.up', 'plain.txt', 'b.up']);
    expect([...read.values()]).toEqual(['A\n', 'c\n', 'B\n']);
    expect(await readFile(log, 'utf8')).toBe('started\n');
  });

  test('are refused if a required filter fails', async () => {
    await repo.commit({ 'a.up': 'a\n', 'b.txt': 'b\n' });
    await repo.git('config', 'filter.upper.smudge', 'false');
    await repo.git('config', 'filter.upper.required', 'true');
    await expect(readAll(['b.txt', 'a.up'])).rejects.toMatchObject({ code: 'GIT_FAILED' });
  });

  test.each([0, 1, 2])('are refused if blob %i of three is missing', async (missing) => {
    await repo.commit({ a: 'a\n', b: 'b\n', c: 'c\n' });
    const oids = await Promise.all(['a', 'b', 'c'].map((name) => repo.git('rev-parse', `:${name}`)));
    const [name = '', oid = ''] = [['a', 'b', 'c'][missing], oids[missing]];
    const object = join(repo.root, '.git', 'objects', oid.slice(0, 2), oid.slice(2));
    const bytes = await readFile(object);
    await rm(object);
    try {
      await expect(readAll(['a', 'b', 'c'])).rejects.toThrow(`git cat-file has no file ${oid} for ${name}.`);
    } finally {
      await repo.write(`.git/objects/${oid.slice(0, 2)}/${oid.slice(2)}`, bytes);
      await chmod(object, 0o444);
    }
  });
});
