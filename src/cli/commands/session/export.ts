import { Command, Option } from 'clipanion';
import { openExportDirectory, openExportFile } from '../../../app.ts';
import { TeddyError } from '../../../errors.ts';
import type { ExportTarget } from '../../../ports/disk.ts';
import type { ExportOptions } from '../../../workflow/conversation/export-session.ts';
import { readWorkingDirectory } from '../../context.ts';
import { requireOne } from '../../plan-options.ts';
import { TeddyCommand } from '../../teddy-command.ts';
import type { Terminal } from '../../terminal.ts';
import { toVisible } from '../../../session/visible-text.ts';

export class SessionExportCommand extends TeddyCommand {
  static override paths = [['session', 'export']];
  static override usage = Command.Usage({
    category: 'Elsewhere',
    description: 'Export a session: its files, its history, or its branch.',
    details: `
      Give exactly one of --dir, --md, --jsonl and --bundle. An existing file is replaced only with --force; the
      directory has to be new or empty. An export is exact: nothing in it is masked.

      What --jsonl writes can be imported again. A bundle is a remote in a file: \`git fetch <file> <branch>\`,
      \`git clone -b <branch> <file>\`, \`teddy session plan --recording <file>\`.
    `,
    examples: [
      ['For reading', '$0 session export --md story.md'],
      ['For another program', '$0 session export -s add-login --jsonl -'],
    ],
  });

  session = Option.String('-s,--session', {
    description: 'A session id or a unique part of it, a branch, or a session directory.',
  });
  dir = Option.String('--dir', { description: 'Write the files of the session, as the last entry has them.' });
  md = Option.String('--md', { description: 'Write the history as Markdown; - is stdout.' });
  jsonl = Option.String('--jsonl', { description: 'Write the history, one record per line; - is stdout.' });
  bundle = Option.String('--bundle', { description: 'Write the branch with all of its commits; - is stdout.' });
  force = Option.Boolean('--force', false, { description: 'Replace an existing file.' });

  protected run(terminal: Terminal): Promise<number> {
    const { dir, md, jsonl, bundle } = this;
    requireOne({
      '--dir': dir !== undefined,
      '--md': md !== undefined,
      '--jsonl': jsonl !== undefined,
      '--bundle': bundle !== undefined,
    });
    requireNames({ '--dir': dir, '--md': md, '--jsonl': jsonl, '--bundle': bundle });
    return this.withProject(terminal, async (project) => {
      const { exportSession } = await import('../../../workflow/conversation/export-session.ts');
      const options = await this.openOptions();
      const exported = await exportSession(project, this.session, options);
      const to = options.place.name;
      if (this.json) this.printJson(terminal, 'export', { ...exported, kind: options.kind, path: to });
      else {
        for (const repair of exported.repairs.slice(0, 5)) terminal.say(toVisible(repair));
        if (to !== '-') terminal.say(`Exported ${exported.session} to ${toVisible(to)}.`);
      }
      return 0;
    });
  }

  private async openOptions(): Promise<ExportOptions> {
    const { dir, force } = this;
    const cwd = readWorkingDirectory(this.context);
    if (dir !== undefined) {
      if (dir === '-')
        throw new TeddyError('USAGE', 'A directory cannot go to stdout.', 'Name one: --dir <directory>.');
      return { kind: 'dir', place: await openExportDirectory(dir, cwd) };
    }
    for (const kind of ['md', 'jsonl', 'bundle'] as const) {
      const path = this[kind];
      if (path !== undefined)
        return { kind, place: path === '-' ? this.stdout() : await openExportFile(path, { cwd, force }) };
    }
    throw new TeddyError('USAGE', 'No option says what to export.', 'Give one of --dir, --md, --jsonl and --bundle.');
  }

  private stdout(): ExportTarget {
    const { stdout } = this.context;
    if (this.json) throw new TeddyError('USAGE', '--json and an export to stdout exclude each other.', 'Name a file.');
    return {
      name: '-',
      refuse: async () => undefined,
      async put(pieces) {
        for await (const piece of pieces) {
          const isTaken = stdout.write(piece);
          if (!isTaken) await new Promise<void>((resolve) => stdout.once('drain', resolve).once('close', resolve));
        }
      },
    };
  }
}

function requireNames(given: Record<string, string | undefined>): void {
  const empty = Object.keys(given).find((option) => given[option] === '');
  if (empty !== undefined)
    throw new TeddyError('USAGE', `${empty} is empty.`, `Name what is to be written: ${empty} <path>.`);
}
