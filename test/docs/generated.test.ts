/** The pages written by `npm run docs` match the current definitions. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const printed = execFileSync(process.execPath, [join(root, 'scripts', 'docs.mjs'), '--print'], {
  encoding: 'utf8',
  maxBuffer: 16 * 1024 * 1024,
});
const pages = JSON.parse(printed) as [path: string, text: string][];

test.each(pages)('%s matches the output of `npm run docs`', (path, text) => {
  expect(readFileSync(join(root, path), 'utf8') === text ? 'fresh' : 'stale: run `npm run docs`').toBe('fresh');
});
