/** In-memory hooks: a place that a test chooses, and files by their path. */
import { TeddyError } from '../../src/errors.ts';
import type { HookFile, HookTarget, Hooks } from '../../src/ports/git.ts';

export interface MemoryHooks {
  place: HookTarget;
  files: Map<string, HookFile>;
}

export function memoryHooks(state: MemoryHooks): Hooks {
  const { files } = state;
  return {
    ownDir: '/repo/.git/hooks',
    locate: async () => state.place,
    read: async (path) => files.get(path) ?? null,
    async keep(path, as) {
      const file = files.get(path);
      if (file === undefined || files.has(as)) throw new TeddyError('WRITE_FAILED', `${as} cannot be made.`);
      files.set(as, file);
    },
    install: async (path, script) => void files.set(path, { text: script, isExecutable: true }),
    async putBack(path, kept) {
      const file = kept === null ? undefined : files.get(kept);
      if (kept !== null) files.delete(kept);
      if (file === undefined) files.delete(path);
      else files.set(path, file);
    },
  };
}
