/** The checklists of `src/README.md` are complete: what they name is all that has to change. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build, type Plugin } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

const command = `
import { TeddyError } from '../../errors.ts';
import { option, parameter, TeddyCommand, type Terminal, usage } from '../teddy-command.ts';

export class FrobnicateCommand extends TeddyCommand {
  static override usage = usage({ category: 'Look', description: 'Frobnicate a file.', examples: [['One', '$0 frobnicate a']] });

  file = parameter('file', { completes: ['files'] });
  often = option('--often', { value: '<n>', describe: 'So many times.' });

  protected async run(terminal: Terminal): Promise<number> {
    if (this.file === 'bad') throw new TeddyError('NOT_FROBNICATED', 'It does not frobnicate.', 'Take another file.');
    terminal.print(\`\${this.file} \${this.often ?? 'once'}\\n\`);
    return 0;
  }
}
`;

/** Each row of the tour, with what it tells to change: a new file has its whole text. */
const changes: Record<string, Record<string, string | [before: string, after: string]>> = {
  'add a command': {
    'cli/commands/frobnicate.ts': command,
    'cli/run-cli.ts': [
      '  status: async () =>',
      "  frobnicate: async () => (await import('./commands/frobnicate.ts')).FrobnicateCommand,\n  status: async () =>",
    ],
  },
  'add a setting': {
    'session/settings/settings.ts': [
      "  { name: 'temperature',",
      "  { name: 'frobs', takes: ['few', 'many'], purpose: 'how many frobs', fallback: 'few' },\n  { name: 'temperature',",
    ],
  },
  'name another endpoint as a provider': {
    'session/settings/presets.ts': [
      "  { name: 'ollama',",
      "  { name: 'frobs', wire: 'openai', url: 'http://127.0.0.1:9/v1', keyVariable: null, urlVariable: null },\n  { name: 'ollama',",
    ],
  },
  'add an error': { 'errors.ts': ['  NOTHING_TO_IMPORT: 1,', '  NOTHING_TO_IMPORT: 1,\n  NOT_FROBNICATED: 4,'] },
};

let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'teddy-checklists-'));
  await cp(join(root, 'src'), join(dir, 'src'), { recursive: true });
  for (const name of ['node_modules', 'package.json', 'hooks']) await symlink(join(root, name), join(dir, name));
  for (const [path, change] of Object.values(changes).flatMap(Object.entries<string | string[]>)) {
    const file = join(dir, 'src', path);
    if (typeof change === 'string') await writeFile(file, change);
    else {
      const [before = '', after = ''] = change;
      const text = await readFile(file, 'utf8');
      expect(text.split(before), path).toHaveLength(2);
      await writeFile(
        file,
        text.replace(before, () => after),
      );
    }
  }
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

/** Runs the executable that has grown; what it printed, and its exit code. */
async function teddy(...args: string[]): Promise<{ stdout: string; stderr: string; code: number }> {
  const env = { ...process.env, HOME: dir, XDG_CONFIG_HOME: dir };
  return promisify(execFile)(process.execPath, [join(dir, 'grown.cjs'), ...args], { cwd: dir, env }).then(
    ({ stdout, stderr }) => ({ stdout, stderr, code: 0 }),
    ({ stdout, stderr, code }: { stdout: string; stderr: string; code: number }) => ({ stdout, stderr, code }),
  );
}

test('each row of the tour names the files that change, and no other', async () => {
  const tour = await readFile(join(root, 'src/README.md'), 'utf8');
  for (const [task, files] of Object.entries(changes)) {
    const row = tour.split('\n').find((line) => line.startsWith(`| ${task} |`));
    const named = [...(row?.split('|')[2] ?? '').matchAll(/`([\w/-]+(?:\.ts|\/))`/g)].map(([, path = '']) => path);
    const isNamed = (path: string) => named.some((one) => path === one || (one.endsWith('/') && path.startsWith(one)));
    expect([task, Object.keys(files).filter((path) => !isNamed(path))]).toEqual([task, []]);
    expect([task, named.length]).toEqual([task, Object.keys(files).length]);
  }
});

test('a command that was added so is run, helped, listed and completed, with its option and its error', async () => {
  expect(await teddy('frobnicate', 'a', '--often', '3')).toMatchObject({ stdout: 'a 3\n', code: 0 });
  expect((await teddy('frobnicate', '--help')).stdout).toContain('--often <n>');
  expect((await teddy('--help')).stdout).toMatch(/teddy frobnicate <file> +frobnicate a file/);
  expect((await teddy('complete', '--', 'frob')).stdout).toContain('frobnicate');
  expect((await teddy('complete', '--', 'frobnicate', '--of')).stdout).toContain('--often');
  expect(await teddy('frobnicate')).toMatchObject({ code: 2 });
  const failed = await teddy('frobnicate', 'bad');
  expect(failed).toMatchObject({ code: 4 });
  expect(failed.stderr).toContain('[NOT_FROBNICATED]');
});

test('a setting and a provider that were added so are known', async () => {
  await promisify(execFile)('git', ['init', '--quiet', dir]);
  const { stdout } = await teddy('config');
  expect(stdout).toContain('frobs');
  await promisify(execFile)('git', ['-C', dir, 'config', 'teddy.provider', 'frobs']);
  expect((await teddy('config')).stdout).toMatch(/provider +frobs/);
  await promisify(execFile)('git', ['-C', dir, 'config', 'teddy.provider', 'fribs']);
  expect((await teddy('config')).stderr + (await teddy('config')).stdout).toContain('ollama');
});
