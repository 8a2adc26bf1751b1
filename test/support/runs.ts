/** How often a property is tried: 25 times in `npm test`, `full` times in `npm run test:all`. */
export function runs(full: number): { numRuns: number } {
  return { numRuns: process.env['TEST_ALL'] === '1' ? full : Math.min(full, 25) };
}
