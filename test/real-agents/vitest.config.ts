import { defineConfig } from 'vitest/config';

/** `npm run test:agents` names the agent. */
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/real-agents/**/*.test.ts'],
    globalSetup: ['test/support/isolate.ts'],
    reporters: ['verbose', './test/support/count-reporter.ts'],
    testTimeout: 10 * 60_000,
    hookTimeout: 60_000,
    fileParallelism: false,
    disableConsoleIntercept: true,
  },
});
