import { test } from 'vitest';

/** A test that takes more than about a second; `npm run test:all` runs it, `npm test` does not. */
export const slowTest = test.runIf(process.env['TEST_ALL'] === '1');
