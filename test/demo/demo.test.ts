/** The demo as run by a fresh clone, without a terminal and independent of the user's set-up. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundleDemo } from '../support/bundle-demo.ts';
import { openScratchRepository } from '../support/scratch-repository.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
let demo: Ran;

beforeAll(async () => {
  await bundleDemo(join(root, 'dist', 'demo.js'));
  demo = await run('node', [join(root, 'dist', 'demo.js')], { GIT_CONFIG_GLOBAL: '/dev/null', FORCE_COLOR: '1' });
});

afterAll(async () => {
  const remove = toSuggestions(demo.output).at(-1);
  if (remove !== undefined) await run('sh', ['-c', remove]);
});

test('the demo ends with 0, without identity and without a terminal', () => {
  expect(demo.output).toContain('and the tests pass.');
  expect(demo.exitCode).toBe(0);
});

test('it mentions that the answers are recorded, and shows the graph with the failure and both lines', () => {
  expect(demo.output).toContain("The model's answers are recorded");
  expect(demo.output).toMatch(/^\* \w+ turn 03 report: FAILURE/m);
  expect(demo.output).toMatch(/^\| \* \w+ turn 02 report: SUCCESS/m);
  expect(demo.output).toMatch(/^\|\/ /m);
});

test('it names a page, which exists and matches the repository', () => {
  const file = /^file:\/\/(\S+\.html)$/m.exec(demo.output)?.[1] ?? '';
  expect(readFileSync(file, 'utf8')).toContain('<meta name="generator" content="git-teddy ');
  expect(demo.output).toContain(`${file}: the same as the page rendered from the repository`);
});

test('it uses no colours if nobody sees them', () => {
  expect(demo.output).not.toContain('\u001b');
});

test('its suggestions for the next steps work, and leave nothing behind', async () => {
  const suggestions = toSuggestions(demo.output);
  expect(suggestions.length).toBeGreaterThan(8);
  const directory = /^cd '(.+)'$/.exec(suggestions[0] ?? '')?.[1] ?? '';
  const repository = openScratchRepository(directory);
  const script = suggestions.slice(0, -1).join('\n');
  const tried = await run('sh', ['-ec', script]);
  expect(tried.output).toContain('SUCCESS turn 04');
  expect(tried.exitCode).toBe(0);
  expect(await repository.git('branch', '--show-current')).toBe('my-attempt');
  expect(await repository.git('config', '--local', '--get-regexp', '^teddy').catch(() => 'none')).toBe('none');
  await repository.fsck();
  await run('sh', ['-ec', suggestions.at(-1) ?? '']);
  expect(existsSync(directory)).toBe(false);
  expect(existsSync(`${directory}.html`)).toBe(false);
});

test('it fails, and keeps the project, if a step has another result', async () => {
  const code = readFileSync(join(root, 'dist', 'demo.js'), 'utf8');
  // The first step is the test that fails.
  const [first = ''] = /exitCode: 1,\s+maxLines: 6/.exec(code) ?? [];
  const other = code.replace(first, first.replace('1', '0'));
  expect(other).not.toBe(code);
  const file = join(root, 'dist', 'demo-that-fails.js');
  writeFileSync(file, other);
  const failed = await run('node', [file]);
  rmSync(file);
  expect(failed.exitCode).toBe(1);
  expect(failed.output).toContain('This should have ended with 0, not 1: node --test');
  const kept = /^The project is kept: (.+)$/m.exec(failed.output)?.[1] ?? '';
  expect(existsSync(join(kept, '.git'))).toBe(true);
  rmSync(kept, { recursive: true });
});

/** The indented lines at the end. */
function toSuggestions(output: string): string[] {
  const end = output.slice(output.lastIndexOf('The project is kept. '));
  return end.split('\n').flatMap((line) => (line.startsWith('  ') ? [line.trim()] : []));
}

interface Ran {
  exitCode: number;
  output: string;
}

function run(command: string, args: string[], env: Record<string, string> = {}): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(command, args, { env: { ...process.env, ...env } }, (error, stdout, stderr) =>
      resolve({ exitCode: typeof error?.code === 'number' ? error.code : error ? 255 : 0, output: stdout + stderr }),
    );
  });
}
