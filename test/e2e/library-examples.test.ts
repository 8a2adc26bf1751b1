/** The programs of `docs/library.md` print what the page says, with the built package, as another program uses it. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { environmentOf } from '../support/run-teddy.ts';
import { makeScratchRepository } from '../support/scratch-repository.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(join(root, 'docs', 'library.md'), 'utf8');
const examples = [...page.matchAll(/```js\n(.*?)```\n\n```text\n(.*?)```\n/gs)];

/** Runs programs of another package in a repository of their own. */
async function openPackage() {
  const repository = await makeScratchRepository({ 'a.ts': 'export {};\n' });
  const dir = join(repository.root, '.git', 'program');
  mkdirSync(join(dir, 'node_modules'), { recursive: true });
  symlinkSync(root, join(dir, 'node_modules', 'git-teddy'));
  const run = (program: string) => {
    const path = join(dir, 'main.mjs');
    writeFileSync(path, program);
    return spawnSync(process.execPath, [path], { cwd: repository.root, env: environmentOf({}), encoding: 'utf8' });
  };
  return { run, close: () => repository.close() };
}

test('the page has a program for every function of write sessions, transcripts and the end marker', () => {
  expect(examples).toHaveLength(page.match(/```js/g)?.length ?? 0);
  const code = examples.map(([, program]) => program).join('');
  const named =
    'readTranscript renderOpenai renderAnthropic renderJsonl renderMarkdown beginWrite appendWrite finalizeWrite ' +
    'cancelWrite listWrites recoverWrite discardWrite openScanner openProject listSessions parsePlan TeddyError';
  expect(named.split(' ').filter((name) => !code.includes(name))).toEqual([]);
});

test('each program prints what stands below it', async () => {
  const { run, close } = await openPackage();
  for (const [, program = '', printed] of examples) {
    const { stdout, stderr } = run(program);
    expect(stderr.replaceAll(/^Started session .*\n/gm, ''), program).toBe('');
    expect(stdout, program).toBe(printed);
  }
  await close();
});

test('an error that nobody catches shows its own words, and no code of the package', async () => {
  const { run, close } = await openPackage();
  const open = "openProject({ cwd: '/', env: process.env, notices: { info() {}, warn() {} } })";
  for (const failing of [
    `await ${open}`,
    `${open}; setTimeout(() => {}, 9999)`,
    "parseReport('x: [')",
    'parsePlan(1)',
    "await readSession({ fs, dir: '/' })",
  ]) {
    const { stderr, status } = run(
      `import fs from 'node:fs';
      import { openProject, parsePlan, parseReport } from 'git-teddy';
      import { readSession } from 'git-teddy/reader';
      ${failing};`,
    );
    expect(status, failing).toBe(1);
    expect(stderr, failing).toMatch(/^(?:\w+ \[)?(?:TeddyError|TypeError)\]?: /m);
    expect(
      stderr.split('\n').filter((line) => line.length > 200 || /[;{}].*[;{}].*=>|function \w+\(/.test(line)),
      failing,
    ).toEqual([]);
  }
  await close();
});
