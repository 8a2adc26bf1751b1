/** The executable at another commit in this repository, built with the packages of this checkout. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A shallow clone lacks most of them. */
export function hasCommit(root: string, commit: string): boolean {
  return spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: root }).status === 0;
}

/** Makes the directory; returns the path of its `main.cjs`. */
export function buildCommit(root: string, commit: string, directory: string): string {
  mkdirSync(directory);
  const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 256 * 1024 * 1024 });
  execFileSync('tar', ['-x'], { cwd: directory, input: archive });
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'));
  // The types are unused, and the build makes none that are newer than the code.
  for (const name of ['index', 'reader/reader']) {
    const types = join(directory, 'dist/types/src', `${name}.d.ts`);
    mkdirSync(dirname(types), { recursive: true });
    writeFileSync(types, '');
  }
  execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: directory, stdio: 'inherit' });
  return join(directory, 'dist/main.cjs');
}
