/**
 * How the cost of work grows with its input, independent of the machine's speed: the same amount of input is processed
 * as a whole and in parts, in turn, and the processor times of the two are compared. Other programs make no difference.
 */
import { expect } from 'vitest';

/** Linear work takes as long on the whole as on all parts, quadratic work this many times as long. */
const parts = 64;
/**
 * The collector takes up to five times as long on large objects as on many small ones, so linear work has a wider limit
 * than that; work fails if its quadratic share is at least ten times its linear one.
 */
const mostTimes = 9;
/** A slow round proves nothing: a compiler or a collector may have run in it. */
const rounds = 8;
/** Times below this are noise. Quadratic work on inputs of the tests' sizes takes many times as long. */
const noiseMs = 8;

/** Passes when the work on `make(size)` takes at most nine times as long as on its parts, in the best of several rounds. */
export function expectLinear<Input>(
  size: number,
  make: (size: number) => Input,
  work: (input: Input) => unknown,
): Promise<void> {
  return expectGrowth(size, make, work, { parts, times: mostTimes });
}

/**
 * The same for other growth: work on `make(size)` takes at most `times` as long as `parts` times that on `make(size /
 * parts)`.
 */
export async function expectGrowth<Input>(
  size: number,
  make: (size: number) => Input,
  work: (input: Input) => unknown,
  { parts, times }: { parts: number; times: number },
): Promise<void> {
  const partSize = Math.max(1, Math.floor(size / parts));
  const [part, whole] = [make(partSize), make(size)];
  let [partsMs, wholeMs] = [Infinity, Infinity];
  for (let round = 0; round < rounds; round += 1) {
    partsMs = Math.min(
      partsMs,
      await countMs(async () => {
        for (let done = 0; done < size; done += partSize) await work(part);
      }),
    );
    wholeMs = Math.min(wholeMs, await countMs(() => work(whole)));
    if (wholeMs < times * Math.max(partsMs, noiseMs)) return;
  }
  const grown = (wholeMs / partsMs).toFixed(1);
  expect.fail(`The whole takes ${grown} times as long as its parts; ${times} times is the most.`);
}

async function countMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
