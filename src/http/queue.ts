/** Work that must not overlap: each piece begins when the one before has ended, however that ended. */
export type InTurn = <Result>(work: () => Promise<Result>) => Promise<Result>;

export function oneAtATime(onEnd: () => void = () => undefined): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const run = last.then(work).finally(onEnd);
    last = run.catch(() => undefined);
    return run;
  };
}
