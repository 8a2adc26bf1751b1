/** The port `Journal` in memory. A test ends the process of an operation, or damages its note, by changing it. */
import type { Journal, Operation } from '../../src/ports/journal.ts';

export interface MemoryOperation {
  kind: string;
  /** Null when the note is damaged. */
  facts: Record<string, unknown> | null;
  /** The process that works on it is running. */
  isAlive: boolean;
  staged: Uint8Array;
}

export function memoryJournal(operations: MemoryOperation[]): Journal {
  const hold = (one: MemoryOperation): Operation<object> => {
    one.isAlive = true;
    return {
      note: async (change) => void (one.facts = { ...one.facts, ...change }),
      stage: async (bytes) => void (one.staged = Buffer.concat([one.staged, bytes])),
      done: async () => void operations.splice(operations.indexOf(one), 1),
      leave: async () => void (one.isAlive = false),
    };
  };
  const left = async <Facts extends object>({ name }: { name: string }) =>
    operations
      .filter((one) => one.kind === name && !one.isAlive)
      .map((one, at) => ({
        path: `/journal/${name}-${at}.json`,
        content: `/journal/${name}-${at}.content`,
        facts: one.facts as Facts | null,
        read: async () => ({ verified: one.staged, tail: new Uint8Array(), isDamaged: false }),
        take: async () => (operations.includes(one) ? hold(one) : null),
      }));
  return {
    left,
    look: left,
    atWork: async () => [],
    async open({ name }, facts) {
      const one = {
        kind: name,
        facts: { ...facts } as Record<string, unknown>,
        isAlive: true,
        staged: new Uint8Array(),
      };
      operations.push(one);
      return hold(one);
    },
  };
}
