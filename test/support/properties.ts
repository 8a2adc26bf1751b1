/** The defaults for each property that sets no others: `npm run test:all` tries 1,000 cases from a seed that it prints. */
import { configureGlobal } from 'fast-check';
import { runs } from './runs.ts';

const seed = process.env['TEST_SEED'];
configureGlobal({ ...runs(1000), ...(seed === undefined ? {} : { seed: Number(seed) }) });
