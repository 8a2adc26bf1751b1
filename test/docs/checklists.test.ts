/** The checklists in `src/README.md` are complete: they name everything that has to change. */
import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build, type Plugin } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { additions } from '../support/additions.ts';
import { compileGrown, growSource, root } from '../support/grown-source.ts';

let dir: string;

beforeAll(async () => {
  dir = await growSource(Object.assign({}, ...Object.values(additions)));
  const { readAsText } = (await import(join(root, 'scripts/read-as-text.mjs'))) as { readAsText: Plugin };
  await build({
    stdin: {
      contents:
        "import { runCli } from './src/cli/run-cli.ts'; runCli(process.argv.slice(2)).then((code) => (process.exitCode = code));",
      resolveDir: dir,
    },
    outfile: join(dir, 'grown.cjs'),
    bundle: true,
    platform: 'node',
    target: 'node20',
    tsconfigRaw: {},
    logLevel: 'error',
    plugins: [readAsText],
  });
}, 60_000);
afterAll(() => rm(dir, { recursive: true }));

/** Runs the grown executable; returns its output and exit code. */
async function teddy(...args: string[]): Promise<{ stdout: string; stderr: string; code: number }> {
  const env = { ...process.env, HOME: dir, XDG_CONFIG_HOME: dir };
  return promisify(execFile)(process.execPath, [join(dir, 'grown.cjs'), ...args], { cwd: dir, env }).then(
    ({ stdout, stderr }) => ({ stdout, stderr, code: 0 }),
    ({ stdout, stderr, code }: { stdout: string; stderr: string; code: number }) => ({ stdout, stderr, code }),
  );
}

test('each row in the tour names exactly the files that change', async () => {
  const tour = await readFile(join(root, 'src/README.md'), 'utf8');
  for (const [task, files] of Object.entries(additions)) {
    const row = tour.split('\n').find((line) => line.startsWith(`| ${task} |`));
    const named = [...(row?.split('|')[2] ?? '').matchAll(/`([\w/-]+(?:\.ts|\/))`/g)].map(([, path = '']) => path);
    const covers = (name: string, path: string) => path === name || (name.endsWith('/') && path.startsWith(name));
    const changed = Object.keys(files);
    expect([task, changed.filter((path) => !named.some((name) => covers(name, path)))]).toEqual([task, []]);
    expect([task, named.filter((name) => !changed.some((path) => covers(name, path)))]).toEqual([task, []]);
    expect(named, task).not.toEqual([]);
  }
});

test('the compiler asks for no other change', () => compileGrown(dir));

test('an added command is run, helped, listed and completed, with its option and its error', async () => {
  expect(await teddy('frobnicate', 'a', '--often', '3')).toMatchObject({ stdout: 'a 3\n', code: 0 });
  expect((await teddy('frobnicate', '--help')).stdout).toContain('--often <n>');
  expect((await teddy('help', 'all')).stdout).toMatch(/teddy frobnicate <file> +frobnicate a file/);
  expect((await teddy('complete', '--', 'frob')).stdout).toContain('frobnicate');
  expect((await teddy('complete', '--', 'frobnicate', '--of')).stdout).toContain('--often');
  expect(await teddy('frobnicate')).toMatchObject({ code: 2 });
  const failed = await teddy('frobnicate', 'bad');
  expect(failed).toMatchObject({ code: 4 });
  expect(failed.stderr).toContain('[NOT_FROBNICATED]');
});

test('an added setting and an added provider are recognized', async () => {
  await promisify(execFile)('git', ['init', '--quiet', dir]);
  const { stdout } = await teddy('config');
  expect(stdout).toContain('frobs');
  await promisify(execFile)('git', ['-C', dir, 'config', 'teddy.provider', 'frobs']);
  expect((await teddy('config')).stdout).toMatch(/provider +frobs/);
  await promisify(execFile)('git', ['-C', dir, 'config', 'teddy.provider', 'fribs']);
  expect((await teddy('config')).stderr + (await teddy('config')).stdout).toContain('ollama');
});
