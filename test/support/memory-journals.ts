/** The port `RunJournals` in memory. A test may hold a run's records back, as a crash does, by not discarding them. */
import { TeddyError } from '../../src/errors.ts';
import { decodeJournal, encodeRecord } from '../../src/plan/report/journal.ts';
import type { RunJournal, RunJournals } from '../../src/ports/disk.ts';
import type { RunDirs } from '../../src/ports/git.ts';
import { runName } from '../../src/names.ts';
import { root, type MemoryDisk } from './memory-objects.ts';

export interface MemoryJournal {
  place: RunDirs;
  /** The file's text. */
  text: string;
  kept: Uint8Array[];
  /** The files that were moved aside, by path. */
  aside: Map<string, Uint8Array>;
}

export function memoryJournals({ fs }: MemoryDisk, journals: Map<string, MemoryJournal>): RunJournals {
  const open = (place: RunDirs, journal: MemoryJournal): RunJournal => {
    const name = runName(place);
    let waiting = '';
    const write = () => {
      journal.text += waiting;
      waiting = '';
      journals.set(name, journal);
    };
    return {
      async append(record) {
        waiting += encodeRecord(record);
        write();
      },
      async note(record) {
        waiting += encodeRecord(record);
        if (journals.has(name)) write();
      },
      async keep(bytes) {
        return String(journal.kept.push(bytes) - 1);
      },
      async read(key) {
        return journal.kept[Number(key)] ?? new Uint8Array();
      },
      async moveAside(_, path) {
        journal.aside.set(path, Buffer.from(await fs.promises.readFile(`${root}/${path}`)));
        await fs.promises.rm(`${root}/${path}`);
        return `/aside/${path}`;
      },
      async moveBack(_, path) {
        await fs.promises.writeFile(`${root}/${path}`, journal.aside.get(path) ?? '');
        return journal.aside.delete(path);
      },
      close: () => Promise.resolve(),
      discard: async () => void journals.delete(name),
    };
  };
  const claims = new Set<string>();
  return {
    async claim(place) {
      const name = runName(place);
      if (claims.has(name)) throw new TeddyError('LOCKED', `${name} is being executed.`);
      claims.add(name);
      return { release: async () => void claims.delete(name) };
    },
    holder: async (place) => (claims.has(runName(place)) ? process.pid : null),
    begin: (place) => open(place, { place, text: '', kept: [], aside: new Map() }),
    async find(place) {
      const journal = journals.get(runName(place));
      const left = journal === undefined ? null : decodeJournal(journal.text);
      return journal && left ? { ...left, journal: open(place, journal) } : null;
    },
    list: async () => [...journals.values()].flatMap(({ text }) => decodeJournal(text)?.run ?? []),
  };
}
