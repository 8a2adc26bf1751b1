/**
 * How the cost of work grows with its input. Nothing here says how fast a machine has to be: the same work is done on an input and
 * on a quarter of it, in turn, and the processor's times of the two are compared. Other programs make no difference to them.
 */
import { expect } from 'vitest';

/** Linear work takes four times as long on the larger input, quadratic work sixteen times. */
const factor = 4;
const linearTimes = 9;
/** A slow round proves nothing: a compiler or a collector may have run in it. */
const rounds = 8;
/** Times below this are noise. Quadratic work on inputs of the sizes that tests give takes many times as long. */
const noiseMs = 8;

/** Passes when the work on `make(size)` takes at most `times` as long as on `make(size / 4)`, in the best of several rounds. */
export async function expectLinear<Input>(
  size: number,
  make: (size: number) => Input,
  work: (input: Input) => unknown,
  times = linearTimes,
): Promise<void> {
  const [small, large] = [make(Math.floor(size / factor)), make(size)];
  let [smallMs, largeMs] = [Infinity, Infinity];
  for (let round = 0; round < rounds; round += 1) {
    smallMs = Math.min(smallMs, await countMs(() => work(small)));
    largeMs = Math.min(largeMs, await countMs(() => work(large)));
    if (largeMs < times * Math.max(smallMs, noiseMs)) return;
  }
  const grown = (largeMs / smallMs).toFixed(1);
  expect.fail(`${factor} times the input takes ${grown} times as long; ${times} times is the most.`);
}

async function countMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
