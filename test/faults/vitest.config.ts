import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/faults/**/*.test.ts'],
    globalSetup: ['test/support/isolate.ts'],
    reporters: ['verbose', './test/support/count-reporter.ts'],
    // It ends hanging tests: the longest takes half an hour, on an otherwise idle machine.
    testTimeout: 90 * 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    disableConsoleIntercept: true,
  },
});
