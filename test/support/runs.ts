/** How often a property is tried: `few` times in `npm test`, `full` times in `npm run test:all`, or as TEST_RUNS says. */
export function runs(full: number, few = 25): { numRuns: number } {
  const wanted = Number(process.env['TEST_RUNS'] ?? 0);
  return { numRuns: wanted > 0 ? wanted : process.env['TEST_ALL'] === '1' ? full : Math.min(full, few) };
}
