/**
 * A copy of the source to which a test has added something, as a contributor would, to see that nothing else has to change.
 *
 *   const dir = await growSource({ 'errors.ts': ['  USAGE: 2,', '  USAGE: 2,\n  NOT_FROBNICATED: 4,'] });
 *   const grown = await bundleGrown<Grown>(dir, "export * from './src/errors.ts';");
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';

export const root = new URL('../..', import.meta.url).pathname;

/** The full text of a new file, or pairs of a text that the file has exactly once and its replacement. */
export type Change = string | [before: string, after: string][];

/** Returns the directory of the copy. The caller removes it. */
export async function growSource(changes: Record<string, Change>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'teddy-grown-'));
  for (const part of ['src', 'test/support']) await cp(join(root, part), join(dir, part), { recursive: true });
  for (const name of ['node_modules', 'package.json', 'tsconfig.json', 'fixtures', 'hooks'])
    await symlink(join(root, name), join(dir, name));
  for (const [path, change] of Object.entries(changes)) {
    const file = join(dir, 'src', path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(
      file,
      typeof change === 'string' ? change : replaceOnce(await readFile(file, 'utf8'), path, change),
    );
  }
  return dir;
}

function replaceOnce(text: string, path: string, change: [before: string, after: string][]): string {
  return change.reduce((changed, [before, after]) => {
    if (changed.split(before).length !== 2) throw new Error(`${path} does not have this text exactly once: ${before}`);
    return changed.replace(before, () => after);
  }, text);
}

/** Bundles the entry, whose imports begin with `./src/` or `./test/support/`, and imports the result. */
export async function bundleGrown<Grown>(dir: string, entry: string): Promise<Grown> {
  const stdin = { contents: entry, resolveDir: dir, loader: 'ts' } as const;
  const outfile = join(dir, 'grown.mjs');
  const options = { bundle: true, format: 'esm', platform: 'node', packages: 'external', logLevel: 'error' } as const;
  await build({ stdin, outfile, ...options });
  return (await import(pathToFileURL(outfile).href)) as Grown;
}

/** Rejects with the compiler's messages if the copy does not compile. */
export async function compileGrown(dir: string): Promise<void> {
  await writeFile(join(dir, 'grown.json'), JSON.stringify({ extends: './tsconfig.json', include: ['src'] }));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  await promisify(execFile)(process.execPath, [tsc, '-p', join(dir, 'grown.json')], { cwd: dir });
}
