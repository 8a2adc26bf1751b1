/** The port `CommandNotes` in memory. A test ends the process of one, or damages it, by changing it. */
import type { ProcessGroup } from '../../src/plan/journal.ts';
import type { CommandNote, CommandNotes } from '../../src/ports/disk.ts';

export interface MemoryCommand {
  /** Null: damaged. */
  note: CommandNote | null;
  group: ProcessGroup | null;
  /** The process that runs it. */
  isAlive: boolean;
}

export function memoryCommands(commands: MemoryCommand[]): CommandNotes {
  const remove = async (command: MemoryCommand) => void commands.splice(commands.indexOf(command), 1);
  return {
    async begin(note) {
      const command: MemoryCommand = { note, group: null, isAlive: true };
      commands.push(command);
      return {
        started: (group) => void (command.group = group),
        discard: () => remove(command),
        leave: async () => void (command.isAlive = false),
      };
    },
    left: async () =>
      commands
        .filter(({ isAlive }) => !isAlive)
        .toReversed()
        .map((command, at) => ({
          path: `/commands/${at}.note`,
          note: command.note,
          group: command.group,
          discard: () => remove(command),
          release: async () => undefined,
        })),
  };
}
