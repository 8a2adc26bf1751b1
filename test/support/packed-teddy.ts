/** The package as npm makes it, installed as by a user, and a session with the installed one. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createPlan } from './teddy-project.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

export interface PackedTeddy {
  /** Names of the installed packages. */
  packages: string[];
  /** Bytes in all installed files. */
  size: number;
  /** The package's place. */
  directory: string;
  /** The installation's `teddy` on the PATH. */
  executable: string;
  close(): Promise<void>;
}

/** Without a network, and with an empty cache: anything missing from the package makes it fail. */
export async function installPacked(): Promise<PackedTeddy> {
  const scratch = await realpath(await mkdtemp(join(tmpdir(), 'teddy-package-')));
  const npm = (...args: string[]) =>
    run('npm', args, { cwd: scratch, env: { ...process.env, npm_config_cache: join(scratch, 'cache') } });
  // The build is the run's: `prepare` would make another one while other tests use it.
  const packed = await npm('pack', root, '--ignore-scripts', '--json', '--pack-destination', scratch);
  const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }];
  const prefix = join(scratch, 'prefix');
  await npm('install', '--offline', '--global', '--prefix', prefix, join(scratch, filename));
  const modules = join(prefix, 'lib', 'node_modules');
  const directory = join(modules, 'git-teddy');
  return {
    packages: await listPackages(modules),
    size: await sizeOf(modules),
    directory,
    executable: join(prefix, 'bin', 'teddy'),
    close: () => rm(scratch, { recursive: true }),
  };
}

/** The core loop in a separate repository: returns the final contents of `main`. `node` runs the executable. */
export async function playSession({ executable }: PackedTeddy, node: string): Promise<string> {
  const repository = await realpath(await mkdtemp(join(tmpdir(), 'teddy-package-')));
  try {
    const call = async (program: string, ...args: string[]) => (await run(program, args, { cwd: repository })).stdout;
    const teddy = (...args: string[]) => call(node, executable, ...args);
    await call('git', 'init', '--quiet', '-b', 'main');
    await call('git', 'config', 'user.name', 'Test');
    await call('git', 'config', 'user.email', 'test@example.org');
    await writeFile(join(repository, 'README.md'), '# Notes\n');
    await call('git', 'add', '.');
    await call('git', 'commit', '--quiet', '-m', 'Begin');
    const answer = join(repository, '.git', 'answer.md');
    await writeFile(answer, createPlan('hello.txt', 'Hello\n'));
    await teddy('session', 'new', 'greet');
    await teddy('session', 'plan', '-m', 'Greet.', '--from', answer);
    await teddy('session', 'execute', '-y');
    await teddy('session', 'land');
    return await call('git', 'show', 'main:hello.txt');
  } finally {
    await rm(repository, { recursive: true });
  }
}

/** Reads the end of the demo's output: the project, the lines to try next, and the line that removes it all. */
export function toDemoSteps(output: string): { directory: string; next: string[]; remove: string } {
  const end = output.slice(output.lastIndexOf('\nTry next: '));
  const next = end.split('\n').flatMap((line) => (line.startsWith('  ') ? [line.trim()] : []));
  const remove = /^The project is kept\. To remove everything: (.+)$/m.exec(end)?.[1] ?? '';
  return { directory: /^cd (\S+)$/.exec(next[0] ?? '')?.[1] ?? '', next, remove };
}

/** The demo, as somebody sees it who has just installed the package: its output, and that of its suggestions. */
export async function playDemo({ executable }: PackedTeddy): Promise<{ shown: string; tried: string; left: string[] }> {
  const temporary = await realpath(await mkdtemp(join(tmpdir(), 'teddy-package-')));
  const own = Object.entries(process.env).filter(([name]) => !/^(?:npm_|OPENAI_|ANTHROPIC_)/.test(name));
  const env = {
    ...Object.fromEntries(own),
    PATH: `${dirname(executable)}:${process.env['PATH']}`,
    TMPDIR: temporary,
    // Nothing answers there.
    HTTPS_PROXY: 'http://127.0.0.1:9',
    HTTP_PROXY: 'http://127.0.0.1:9',
  };
  try {
    const { stdout: shown } = await run('teddy', ['demo'], { cwd: temporary, env });
    const { next, remove } = toDemoSteps(shown);
    const { stdout: tried } = await run('sh', ['-ec', next.join('\n')], { cwd: temporary, env });
    await run('sh', ['-ec', remove], { cwd: temporary, env });
    return { shown, tried, left: await readdir(temporary) };
  } finally {
    await rm(temporary, { recursive: true });
  }
}

/** Another release of Node, from npm, or the reason why it is unavailable. */
export async function fetchNode(release: number): Promise<{ path: string } | { reason: string }> {
  // The package `node` would choose this one, by a script.
  const name = `node-${process.platform}-${process.arch}`;
  const directory = join(tmpdir(), `teddy-test-node-${release}`);
  const path = join(directory, 'node_modules', name, 'bin', 'node');
  try {
    await mkdir(directory, { recursive: true });
    const options = ['--prefix', directory, '--ignore-scripts', '--no-package-lock', '--prefer-offline'];
    if (!existsSync(path)) await run('npm', ['install', ...options, `${name}@${release}`]);
    const { stdout } = await run(path, ['--version']);
    return stdout.startsWith(`v${release}.`) ? { path } : { reason: `${path} is ${stdout.trim()}` };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

async function listPackages(modules: string): Promise<string[]> {
  const found = await readdir(modules, { recursive: true });
  return found
    .filter((path) => /(?:^|\/node_modules\/)(?:@[^/]+\/)?[^/]+\/package\.json$/.test(path))
    .map((path) => path.replace(/\/?package\.json$/, ''));
}

async function sizeOf(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map((file) => stat(join(file.parentPath, file.name))));
  return sizes.reduce((sum, { size }) => sum + size, 0);
}
