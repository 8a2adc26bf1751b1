import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

const root = new URL('..', import.meta.url).pathname;
const read = (name: string) => readFileSync(join(root, name), 'utf8');
const all = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts') && !name.endsWith('.full.test.ts') && !name.startsWith('real-agents/'))
  .map((name) => join('test', name));

/** In memory and in process. */
const quickRooms =
  /^test\/(?:architecture|agents|names|session|plan|conversation|write|model|http|mcp|cli|disk|journal|workflow|page|web)(?:\/|\.test\.ts$)/;
/** With the built executable, from `init` to a second turn. */
const smoke = new Set(['session'].map((name) => `test/e2e/${name}.test.ts`));
const isQuick = (name: string) => smoke.has(name) || quickRooms.test(name);

/** `npm test` runs the quick tests; `npm run test:all` runs the rest, and each property a thousand times. */
const isAll = process.env['TEST_ALL'] === '1';
const files = all.filter((name) =>
  isAll ? !isQuick(name) || /'fast-check'|slowTest/.test(read(name)) : isQuick(name),
);
if (isAll) {
  process.env['TEST_SEED'] ??= String(Math.floor(Math.random() * 2 ** 31));
  console.log(`Properties are tried from TEST_SEED=${process.env['TEST_SEED']}.`);
}
/**
 * These run in a separate process: tests that replace a module for all its importers, and tests that start processes
 * all the time, which takes longer from a process that has grown: 1 ms at 45 MB, and 3 to 10 ms more for each further
 * 100 MB.
 */
const isAlone = (name: string) =>
  (/^test\/(?:browser|contract|demo|e2e|faults|git)\//.test(name) && !startsFew.test(name)) ||
  startsMany.test(name) ||
  read(name).includes('vi.mock(');
/** Files in those rooms that start few processes: reloading all modules would take longer than their tests. */
const startsFew =
  /^test\/(?:contract\/(?:files|store|workspace|writes)|git\/(?:object-writer|remote-errors|tree-decoder|trust|walk-first-parents))\./;
/** Files in other rooms that start hundreds of them. */
const startsMany = /^test\/cli\/(?:command-line|json)\./;
const alone = new Set(files.filter(isAlone));
// One pool of memory in place of one for each thread: there is less to copy in a fork.
process.env['MALLOC_ARENA_MAX'] ??= '1';

export default defineConfig({
  test: {
    root,
    setupFiles: ['test/support/properties.ts'],
    // Node's own loader finds no index file in a directory, which clipanion imports.
    server: { deps: { inline: ['clipanion'] } },
    // The page's style sheet is part of the rendered page.
    css: true,
    globalSetup: ['test/support/memory-disk.ts', 'test/support/isolate.ts'],
    reporters: ['default', './test/support/count-reporter.ts'],
    // Three times the duration of the longest test on a slow machine: it ends hanging tests, and judges nothing.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // Events come when the machine gets to them; the test's own time is the only limit.
    expect: { poll: { timeout: 170_000 } },
    // Two for each core of a small machine: many tests wait for git or for a child.
    maxWorkers: 4,
    projects: [
      // Reloading the same modules for each file takes longer than most of the tests.
      {
        extends: true,
        test: { name: 'shared', include: files.filter((name) => !alone.has(name)), isolate: false },
      },
      {
        extends: true,
        // None of these runs long enough for optimized code to pay, and the threads that make it slow each fork.
        test: { name: 'alone', include: [...alone], isolate: true, execArgv: ['--no-opt'] },
      },
    ],
  },
});
