import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

const root = new URL('..', import.meta.url).pathname;
const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts') && !name.endsWith('.full.test.ts'))
  .map((name) => join('test', name));
/** They put something else in the place of a module, for all who import it: these have a process of their own. */
const replacing = new Set(files.filter((name) => readFileSync(join(root, name), 'utf8').includes('vi.mock(')));

export default defineConfig({
  test: {
    root,
    globalSetup: ['test/support/memory-disk.ts', 'test/support/isolate.ts'],
    reporters: ['default', './test/support/count-reporter.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What is waited for comes when the machine gets to it; the time of the test is the only limit.
    expect: { poll: { timeout: 55_000 } },
    maxWorkers: 3,
    projects: [
      // Loading the same modules anew for each file takes longer than most of the tests.
      {
        extends: true,
        test: { name: 'shared', include: files.filter((name) => !replacing.has(name)), isolate: false },
      },
      { extends: true, test: { name: 'alone', include: [...replacing], isolate: true } },
    ],
  },
});
