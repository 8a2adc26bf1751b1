/** The port `WriteStaging` in memory. A test may age, damage or orphan sessions by changing them. */
import { TeddyError } from '../../src/errors.ts';
import type { FoundWrite, NewWrite, StagedWrite, WriteStaging } from '../../src/ports/disk.ts';
import type { Clock } from '../../src/ports/project.ts';
import type { Limits } from '../../src/session/settings/write-limits.ts';
import { isExpired } from '../../src/write/step.ts';
import { areRivals, isOver, type WriteRecord, type WriteState } from '../../src/write/write.ts';

export interface MemoryWrite {
  /** Null if damaged. */
  record: WriteRecord | null;
  /** Null if damaged. */
  state: WriteState | null;
  content: Uint8Array;
  /** After the content, and never confirmed. */
  tail: Uint8Array;
  aside: { name: string; bytes: Uint8Array }[];
  savedAt: Date;
  /** Its controller, if it has one. */
  isAlive: boolean;
  isHeld: boolean;
}

const bootId = 'memory';

/** `writes`: by id, in the order in which they were begun. `disk` may refuse, by throwing. */
export function memoryWrites(
  clock: Clock,
  writes: Map<string, MemoryWrite>,
  disk: () => void = () => undefined,
): WriteStaging {
  const toFound = (id: string, write: MemoryWrite): FoundWrite => ({
    id,
    record: write.record,
    state: write.state,
    savedAt: write.savedAt,
    isControlled: write.record?.hasController === true && write.isAlive,
    tailBytes: write.tail.length,
    isDamaged: write.record === null || write.state === null,
  });

  function refuseTaken(wanted: NewWrite | null, limits: Limits): void {
    const now = clock.now();
    const isRival = (id: string, { record }: MemoryWrite) =>
      id !== wanted?.id && wanted && record && areRivals(record, wanted);
    const other = [...writes].find(([id, write]) => isRival(id, write) && holdsSlot(toFound(id, write), limits, now));
    if (other === undefined) return;
    throw new TeddyError(
      'WRITE_ACTIVE',
      'Another write session is already active. Please wait for it to complete.',
      `It is ${other[0]} for ${other[1].record?.target}: \`teddy write list ${other[0]}\`, \`teddy write cancel ${other[0]}\`.`,
    );
  }

  function hold(id: string, write: MemoryWrite): void {
    if (write.isHeld) throw new TeddyError('LOCKED', `Write session ${id} is in use by this process.`, 'Wait for it.');
    write.isHeld = true;
  }

  function toStaged(id: string, write: MemoryWrite, record: WriteRecord, begun: WriteState): StagedWrite {
    let state = begun;
    let isClosed = false;
    const put = (content: Uint8Array, next: WriteState) => {
      if (isClosed) throw new Error('The write session was closed.');
      disk();
      state = next;
      Object.assign(write, { content, state: next, savedAt: clock.now() });
    };
    const close = async ({ goesOn } = { goesOn: false }) => {
      if (!isClosed) write.isHeld = false;
      if (!isClosed && !goesOn) write.isAlive = false;
      isClosed = true;
    };
    return {
      record,
      get state() {
        return state;
      },
      save: async (bytes, next) => put(Buffer.concat([write.content, bytes]), next),
      replace: async (bytes, next) => put(Uint8Array.from(bytes), next),
      read: async () => write.content,
      dropContent: async () => put(new Uint8Array(), state),
      async remove() {
        disk();
        writes.delete(id);
        await close();
      },
      close,
    };
  }

  /** Null if there is none. */
  function open(id: string): { write: MemoryWrite; record: WriteRecord; state: WriteState } | null {
    const write = writes.get(id);
    if (write === undefined) return null;
    hold(id, write);
    const { record, state, tail } = write;
    if (record === null || state === null) {
      write.isHeld = false;
      throw new TeddyError('STAGING_DAMAGED', `The staged content of write session ${id} is damaged.`, 'Look at it.');
    }
    if (tail.length > 0) write.aside.push({ name: `tail-${write.aside.length + 1}.txt`, bytes: tail });
    write.tail = new Uint8Array();
    return { write, record, state };
  }

  return {
    async begin(wanted, state, limits) {
      refuseTaken(wanted, limits);
      disk();
      const record: WriteRecord = { ...wanted, pid: 1, bootId };
      const nothing = { content: new Uint8Array(), tail: new Uint8Array(), aside: [] };
      const write: MemoryWrite = { record, state, ...nothing, savedAt: clock.now(), isAlive: true, isHeld: true };
      writes.set(record.id, write);
      return toStaged(record.id, write, record, state);
    },
    async open(id) {
      const opened = open(id);
      return opened && toStaged(id, opened.write, opened.record, opened.state);
    },
    async resume(id, limits) {
      if (!writes.has(id)) return null;
      refuseTaken(writes.get(id)?.record ?? null, limits);
      const opened = open(id);
      if (opened === null) return null;
      const record = { ...opened.record, hasController: true };
      const state = { ...opened.state, activityAt: clock.now().getTime() };
      Object.assign(opened.write, { record, state, isAlive: true });
      return toStaged(id, opened.write, record, state);
    },
    isEmpty: async () => writes.size === 0,
    list: async () => [...writes].map(([id, write]) => toFound(id, write)),
    async find(id) {
      const write = writes.get(id);
      return write === undefined ? null : toFound(id, write);
    },
    async readContent(id) {
      const write = writes.get(id);
      if (write === undefined) return null;
      const { content, tail, aside } = write;
      const isWhole = write.state !== null;
      return {
        verified: isWhole ? content : new Uint8Array(),
        tail: isWhole ? tail : Buffer.concat([content, tail]),
        aside,
      };
    },
    readTails: async (id) => writes.get(id)?.aside ?? [],
    async remove(id) {
      const write = writes.get(id);
      if (write === undefined) return;
      hold(id, write);
      disk();
      writes.delete(id);
    },
    directoryOf: (id) => `/project/.git/teddy/write_sessions/${id}`,
  };
}

function holdsSlot({ record, state, isControlled }: FoundWrite, limits: Limits, now: Date): boolean {
  if (record === null || state === null || (record.hasController && !isControlled)) return false;
  return !isOver(state.phase) && !isExpired(state, limits, now.getTime());
}
