import { fileURLToPath } from 'node:url';

/** The built executable; `npm test` builds it first. */
export const teddyPath = fileURLToPath(new URL('../../dist/main.cjs', import.meta.url));
