/** How the tests in a quick file are divided: `npm test` runs the quick ones, `npm run test:all` the others. */
import { test } from 'vitest';

const isAll = process.env['TEST_ALL'] === '1';

/** A test that takes more than about a second. */
export const slowTest = test.runIf(isAll);

/** Beside one of the others, in a file that `npm test` runs. */
export const quickTest = test.skipIf(isAll);

/** A property: `npm test` tries it a few times, `npm run test:all` as often as it can find something. */
export const propertyTest = test;
