/** `src/README.md` names only existing files and folders, and leaves out no room. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const tour = readFileSync(join(root, 'src', 'README.md'), 'utf8');
const named = [...tour.matchAll(/`([a-z][\w./*-]*(?:\.(?:ts|md)|\/))`/g)].map(([, path = '']) => path);

test('every path that the tour names exists', () => {
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

test('the tour gives each room’s size, within a tenth, and is no longer than a hundred lines', () => {
  const rows = [...tour.matchAll(/^\| `([a-z]+)\/` \|.*\| ([\d,]+) \|$/gm)];
  expect(rows.length).toBeGreaterThan(15);
  for (const [, room = '', said = ''] of rows) {
    const files = readdirSync(join(root, 'src', room), { recursive: true, encoding: 'utf8' });
    const lines = files
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
      .reduce((sum, name) => sum + readFileSync(join(root, 'src', room, name), 'utf8').split('\n').length - 1, 0);
    const size = Number(said.replaceAll(',', ''));
    expect(Math.abs(lines - size), `${room}: ${lines}`).toBeLessThanOrEqual(Math.max(50, lines / 10));
  }
  expect(tour.split('\n').length - 1).toBeLessThanOrEqual(100);
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
