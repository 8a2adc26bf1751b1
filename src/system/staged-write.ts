/** A write session that this process holds. */
import type { StagedWrite } from '../ports/disk.ts';
import type { Clock } from '../ports/project.ts';
import type { WriteRecord, WriteState } from '../write/write.ts';
import type { StagingDirectory } from './staging-directory.ts';
import { asStagingErrors } from './staging-error.ts';

export interface StagedWriteParts {
  record: WriteRecord;
  state: WriteState;
  directory: StagingDirectory;
  clock: Clock;
  remove(): Promise<void>;
  /** `goesOn`: this process stays its controller. */
  release(goesOn: boolean): Promise<void>;
}

export function stagedWrite({ record, directory, clock, ...parts }: StagedWriteParts): StagedWrite {
  let { state } = parts;
  let isClosed = false;
  let last: Promise<unknown> = Promise.resolve();

  /** One after the other: where bytes belong is known only after those before. */
  function inTurn<Value>(act: 'written' | 'read' | 'removed', run: () => Promise<Value>): Promise<Value> {
    if (isClosed) throw new Error('The write session was closed.');
    const result = last.then(() => asStagingErrors(act, run));
    last = result.catch(() => undefined);
    return result;
  }

  async function close({ goesOn } = { goesOn: false }): Promise<void> {
    if (isClosed) return;
    const released = inTurn('removed', () => parts.release(goesOn));
    isClosed = true;
    await released;
  }

  return {
    record,
    get state() {
      return state;
    },
    save: async (bytes, next) =>
      inTurn('written', async () => {
        await directory.save(bytes, toFacts(next, clock));
        state = next;
      }),
    replace: async (bytes, next) =>
      inTurn('written', async () => {
        await directory.replace(bytes, toFacts(next, clock));
        state = next;
      }),
    read: async () => inTurn('read', () => directory.read()),
    dropContent: async () => inTurn('removed', () => directory.dropContent(toFacts(state, clock))),
    async remove() {
      await inTurn('removed', parts.remove);
      await close();
    },
    close,
  };
}

/** As it stands in `state.json`. */
export function toFacts(state: WriteState, clock: Clock): Record<string, unknown> {
  return { ...state, position: state.size, saved_at: clock.now().toISOString() };
}
