/** The port `Journal` in memory. A test ends the process of an operation, or damages its note, by changing it. */
import type { Journal, Operation } from '../../src/ports/journal.ts';

export interface MemoryOperation {
  kind: string;
  /** Null when the note is damaged. */
  facts: Record<string, unknown> | null;
  /** The process that is at work on it lives. */
  isAlive: boolean;
}

export function memoryJournal(operations: MemoryOperation[]): Journal {
  const hold = (one: MemoryOperation): Operation<object> => {
    one.isAlive = true;
    return {
      note: async (change) => void Object.assign(one.facts ?? {}, change),
      done: async () => void operations.splice(operations.indexOf(one), 1),
      leave: async () => void (one.isAlive = false),
    };
  };
  const left = async <Facts extends object>({ name }: { name: string }) =>
    operations
      .filter((one) => one.kind === name && !one.isAlive)
      .map((one, at) => ({
        path: `/journal/${name}-${at}.json`,
        facts: one.facts as Facts | null,
        take: async () => (operations.includes(one) ? hold(one) : null),
      }));
  return {
    left,
    look: left,
    async open({ name }, facts) {
      const one = { kind: name, facts: { ...facts } as Record<string, unknown>, isAlive: true };
      operations.push(one);
      return hold(one);
    },
  };
}
