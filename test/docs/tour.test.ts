/** `src/README.md` names only files and folders that exist, and leaves out no room. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const tour = readFileSync(join(root, 'src', 'README.md'), 'utf8');
const named = [...tour.matchAll(/`([a-z][\w./*-]*(?:\.(?:ts|md)|\/))`/g)].map(([, path = '']) => path);

test('whatever the tour names exists', () => {
  expect(named.length).toBeGreaterThan(50);
  const places = ['src', 'src/workflow', 'src/cli', '.'];
  expect(named.filter((path) => !places.some((place) => exists(join(root, place), path)))).toEqual([]);
});

test('the tour has every room, and every folder of the workflow', () => {
  const rooms = readdirSync(join(root, 'src'), { withFileTypes: true }).filter(({ name }) => name !== 'README.md');
  const folders = readdirSync(join(root, 'src', 'workflow'), { withFileTypes: true });
  const paths = [...rooms, ...folders].map((entry) => `${entry.name}${entry.isDirectory() ? '/' : ''}`);
  expect(paths.filter((path) => !path.endsWith('.json') && !named.includes(path))).toEqual([]);
});

/** A star in the last part of a path stands for anything. */
function exists(base: string, path: string): boolean {
  const parts = path.replace(/\/$/, '').split('/');
  const last = parts.pop() ?? '';
  const pattern = new RegExp(`^${last.replaceAll('.', '\\.').replace('*', '.+')}$`);
  const dir = join(base, ...parts);
  const isDir = statSync(dir, { throwIfNoEntry: false })?.isDirectory() === true;
  return isDir && readdirSync(dir).some((name) => pattern.test(name));
}
