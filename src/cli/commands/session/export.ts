import { version } from '../../../../package.json';
import { openExportDirectory, openExportFile } from '../../../app.ts';
import { TeddyError } from '../../../errors.ts';
import type { ExportTarget } from '../../../ports/disk.ts';
import { formatCount } from '../../../session/text/format-count.ts';
import type { ExportedSession, ExportOptions } from '../../../workflow/conversation/export-session.ts';
import { readWorkingDirectory } from '../../context.ts';
import { option, sessionOption, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';
import { toVisible } from '../../../session/text/visible-text.ts';

const formats = ['agent-trace'];

export class SessionExportCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Elsewhere',
    description: 'Export a session: its page, its files, its history, its branch, or who wrote its lines.',
    details: `
      Pass exactly one of --html, --dir, --jsonl, --bundle and --format. An existing file is replaced only with --force;
      the directory has to be new or empty. \`teddy review\` prints a session as Markdown.

      The page shows the turns of all branches of the session, with plans, reports, diffs, requests and cost. It is
      one file, which needs neither a server nor the network, and secrets in it are masked. It includes the findings
      of \`teddy verify\` and \`teddy replay\`, and \`teddy verify --page <file>\` compares
      the page with the repository. All other exports are exact: nothing in them is masked.

      The output of --jsonl can be imported again. A bundle is a remote in a file: \`git fetch <file> <branch>\`,
      \`git clone -b <branch> <file>\`, \`teddy plan --recording <file>\`.

      With --format agent-trace, it prints a record of Agent Trace 0.1.0 (agent-trace.dev): for each text file that the
      session changed, which lines models wrote, which a person wrote, and which are of unknown origin. The lines are
      those at the tip of the session, or, with --rev, at another commit, such as the branch where it landed. The same
      commit always produces the same bytes.
    `,
    examples: [
      ['As a page for the browser', '$0 export --html session.html'],
      ['For another program', '$0 export -s add-login --jsonl -'],
      ['Who wrote its lines, as of main', '$0 export -s add-login --format agent-trace --rev main'],
    ],
  });

  session = sessionOption();
  html = option('--html', {
    value: '<file>',
    describe: 'Write a page for the browser; - is stdout.',
    excludes: ['--dir', '--jsonl', '--bundle', '--format'],
  });
  dir = option('--dir', {
    value: '<directory>',
    describe: "Write the session's files, as of its last entry.",
    excludes: ['--jsonl', '--bundle', '--format'],
  });
  jsonl = option('--jsonl', {
    value: '<file>',
    describe: 'Write the history, one record per line; - is stdout.',
    excludes: ['--bundle', '--format'],
  });
  bundle = option('--bundle', {
    value: '<file>',
    describe: 'Write a bundle of the branch with all its commits; - is stdout.',
    excludes: ['--format'],
  });
  format = option('--format', { value: '<name>', describe: `Write ${formats.join(', ')} to stdout, or to --output.` });
  output = option('--output', {
    value: '<file>',
    describe: 'The file that --format writes; - is stdout.',
    requires: ['--format'],
  });
  revision = option('--rev', {
    value: '<commit>',
    describe: 'With --format: use the lines of this commit. Default: the tip.',
    requires: ['--format'],
  });
  force = option('--force', { describe: 'Replace an existing file.' });

  protected override trustsHead = () => 'always' as const;

  protected run(terminal: Terminal): Promise<number> {
    const { html, dir, jsonl, bundle, format, output } = this;
    requireNames({
      '--html': html,
      '--dir': dir,
      '--jsonl': jsonl,
      '--bundle': bundle,
      '--output': output,
    });
    requireFormat(format);
    return this.withProject(terminal, async (project) => {
      const { exportSession } = await import('../../../workflow/conversation/export-session.ts');
      const options = await this.openOptions();
      const exported = await exportSession(project, this.session, options);
      const to = options.place.name;
      if (this.json) this.printJson(terminal, 'export', { ...exported, kind: options.kind, path: to });
      else {
        for (const repair of exported.repairs.slice(0, 5)) terminal.say(toVisible(repair));
        if (to !== '-') terminal.say(`Exported ${exported.session} to ${toVisible(to)}${describePage(exported)}.`);
      }
      return 0;
    });
  }

  private async openOptions(): Promise<ExportOptions> {
    const { dir, force, format, revision, output = '-' } = this;
    const cwd = readWorkingDirectory(this.context);
    if (dir !== undefined) {
      if (dir === '-')
        throw new TeddyError('USAGE', 'A directory cannot go to stdout.', 'Name one: --dir <directory>.');
      return { kind: 'dir', place: await openExportDirectory(dir, cwd) };
    }
    const toPlace = (path: string) => (path === '-' ? this.stdout() : openExportFile(path, { cwd, force }));
    if (format !== undefined) return { kind: 'agent-trace', place: await toPlace(output), version, revision };
    for (const kind of ['html', 'jsonl', 'bundle'] as const) {
      const path = this[kind];
      if (path === undefined) continue;
      const place = await toPlace(path);
      return kind === 'html' ? { kind, place, version } : { kind, place };
    }
    throw new TeddyError(
      'USAGE',
      'You did not say what to export.',
      'Use one of --html, --dir, --jsonl, --bundle and --format; Markdown is `teddy review`.',
    );
  }

  private stdout(): ExportTarget {
    const { stdout } = this.context;
    if (this.json) throw new TeddyError('USAGE', '--json cannot be combined with an export to stdout.', 'Name a file.');
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

function describePage({ page }: ExportedSession): string {
  if (page === undefined) return '';
  const { turns, bytes } = page;
  return `: ${formatCount(turns)} ${turns === 1 ? 'turn' : 'turns'}, ${formatCount(Math.ceil(bytes / 1024))} KB`;
}

function requireNames(given: Record<string, string | undefined>): void {
  const empty = Object.keys(given).find((option) => given[option] === '');
  if (empty !== undefined)
    throw new TeddyError('USAGE', `${empty} is empty.`, `Name the file or directory to write: ${empty} <path>.`);
}

function requireFormat(format: string | undefined): void {
  if (format !== undefined && !formats.includes(format))
    throw new TeddyError(
      'UNKNOWN_FORMAT',
      `The format ${JSON.stringify(format)} does not exist.`,
      `Use ${formats.join(', ')}. Other exports have options of their own: --html, --dir, --jsonl, --bundle; Markdown is \`teddy review\`.`,
    );
}
