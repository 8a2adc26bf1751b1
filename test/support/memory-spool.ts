/** An in-memory spool: a test puts hook calls into `calls`, and nobody else drains. */
import type { HookCall, Spool } from '../../src/ports/capture.ts';
import type { SetupRecords } from '../../src/ports/setup.ts';

export interface MemorySpool extends Spool {
  calls: HookCall[];
  isOpen: boolean;
  /** The time at which it is paused or resumed. */
  nowMs: number;
  /** `take` reports this about unreadable lines, once. */
  unreadable: number;
}

export function memorySpool(): MemorySpool {
  let [isPaused, isClaimed, setAside] = [false, false, 0];
  const last = new Map<string, number>();
  const pauses: { from: number; to: number | null }[] = [];
  const memory: MemorySpool = {
    dir: '/repository/.git/teddy/spool',
    calls: [],
    isOpen: false,
    nowMs: 0,
    unreadable: 0,
    pauses: async () => pauses.map((one) => ({ ...one })),
    look: async () => ({
      exists: memory.isOpen,
      paused: isPaused,
      since: 0,
      drainer: isClaimed ? 1 : null,
      waiting: [...new Set(memory.calls.map(({ agent }) => agent))].map((agent) => {
        const times = memory.calls.filter((call) => call.agent === agent).map(({ at }) => at);
        return { agent, bytes: times.length, oldest: Math.min(...times) };
      }),
      lastCalls: new Map([...last, ...memory.calls.map(({ agent, at }) => [agent, at] as const)]),
      unreadable: setAside,
    }),
    async claim() {
      if (isClaimed) return { heldBy: 1 };
      isClaimed = true;
      return { release: async () => void (isClaimed = false) };
    },
    async take() {
      const calls = memory.calls.toSorted((one, other) => one.at - other.at);
      const { unreadable } = memory;
      return {
        calls,
        unreadable,
        async done() {
          memory.calls = memory.calls.filter((call) => !calls.includes(call));
          setAside += unreadable;
          memory.unreadable = 0;
          for (const { agent, at } of calls) last.set(agent, at);
        },
      };
    },
    open: async () => void (memory.isOpen = true),
    async close() {
      memory.isOpen = false;
      return memory.calls.length > 0 ? `${memory.dir}.kept` : null;
    },
    async pause(paused) {
      const open = pauses.find(({ to }) => to === null);
      if (paused && open === undefined) pauses.push({ from: memory.nowMs, to: null });
      if (!paused && open !== undefined) open.to = memory.nowMs;
      isPaused = paused;
    },
  };
  return memory;
}

/** In-memory records of what `teddy init` has changed. */
export function memoryRecords(): SetupRecords {
  const records = new Map<string, Record<string, unknown>>();
  return {
    read: async (key) => records.get(key) ?? null,
    write: async (key, facts) => void records.set(key, facts),
    remove: async (key) => void records.delete(key),
  };
}
