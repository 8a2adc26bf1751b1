import { randomUUID } from 'node:crypto';
import { openExportFile } from '../../../app.ts';
import type { Project } from '../../../ports/project.ts';
import { isSame, isUnproven, type ReplayedLine } from '../../../workflow/replay/replayed.ts';
import { openIfBundle } from './open-target.ts';
import { renderReplay } from '../../render/replay.ts';
import { toTarget } from './target-option.ts';
import {
  option,
  parameter,
  sessionOption,
  TeddyCommand,
  type Terminal,
  usage,
  withInterrupt,
} from '../../teddy-command.ts';
import { toVisible } from '../../../session/text/visible-text.ts';

export class SessionReplayCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Look',
    description: "Repeat what a session's reports say was done, and compare the results.",
    details: `
      For every report, teddy reads the plan again, performs its actions on the code of the commit before it, and
      compares the result byte for byte with what was committed. It also checks each turn's log against the sources that
      it was made from. Everything happens in memory, so it works in a bare clone and on a bundle too. \`teddy verify\`
      checks that the entries are intact and in order: run both.

      It does not run the commands of a plan: it applies their recorded effect and lists them as \`not run\`. With --run-commands,
      it runs them in a temporary repository that only reads this one's objects, with your environment and your
      permissions, and compares exit code, output (except times and places) and changed files. Do so only where you
      would run the plan yourself.

      A path in a report's commit is proven if the plan produces it, byte for byte, from the code of the commit before.
      If only a command, a git filter or text that the user wrote instead of the plan's can explain it, it is listed as
      not proven, and its turn is \`not compared\`. With --strict, the exit code is then 1. --run-commands proves what
      comes out the same when a command runs again. Snapshots and your own commits are only counted, since no plan
      describes them.

      A commit stands for its branch up to that commit. A name is a file if git does not know the name, or if it
      begins with \`./\`. All branches of a bundle are replayed; with --json, several are in \`lines\`. On GitHub
      Actions, each difference is also an annotation, and the step summary has a table.

      Exit codes: 0 identical; 1 something differs, or the repository is damaged; 2 no such session, commit or file;
      130 interrupted.
    `,
    examples: [
      ['The session that HEAD is on', '$0 replay'],
      ['Another session, including its commands', '$0 replay add-user-auth --run-commands'],
      ['The turns in a pull request, in CI', '$0 replay origin/main..HEAD --junit replay.xml'],
      ['A session in a file', '$0 replay session.bundle --json'],
    ],
  });

  target = parameter('session, commit, range or bundle', { optional: true, completes: ['sessions', 'files'] });
  session = sessionOption();
  runCommands = option('--run-commands', {
    describe: "Also run the plans' commands, in a temporary repository.",
  });
  strict = option('--strict', { describe: 'Also exit with 1 if something in a commit is not proven.' });
  junit = option('--junit', {
    value: '<file>',
    describe: 'Write the result as JUnit XML, with one test case per turn.',
  });

  protected override trustsHead = () => 'always' as const;

  protected run(terminal: Terminal): Promise<number> {
    const target = toTarget(this.target, this.session);
    return this.withProject(terminal, async (project) => {
      const replayed = await withInterrupt(terminal, 'teddy replay', (signal) =>
        this.replay(terminal, project, target, signal),
      );
      await this.tell(terminal, project, replayed);
      return replayed.every((line) => isSame(line) && !(this.strict && isUnproven(line))) ? 0 : 1;
    });
  }

  private async replay(
    terminal: Terminal,
    project: Project,
    target: string | undefined,
    signal: AbortSignal,
  ): Promise<ReplayedLine[]> {
    const { findRecorded, listRecorded } = await import('../../../workflow/line/find-recorded.ts');
    const { findBrought } = await import('../../../workflow/verify/find-brought.ts');
    const { replayLine } = await import('../../../workflow/replay/line.ts');
    const bundled = await openIfBundle(this.context, project, target);
    const place = bundled ?? project;
    const draw = (turns: number) => terminal.redraw(terminal.style('dim', `Replaying, ${turns} turns`, 'stderr'));
    const replayed: ReplayedLine[] = [];
    try {
      const brought =
        bundled === null ? ((await findBrought(place, target))?.lines ?? []) : await listRecorded(bundled);
      const lines = brought.length > 0 ? brought : [await findRecorded(place, target)];
      for (const line of lines) {
        if (!this.json) terminal.say(terminal.style('dim', toVisible(`${line.session} (${line.name})`), 'stderr'));
        const options = { runsCommands: this.runCommands, signal, onProgress: draw };
        replayed.push(await replayLine(place, line, options));
      }
      return replayed;
    } finally {
      terminal.redraw(null);
      await bundled?.repository.close();
    }
  }

  private async tell(terminal: Terminal, project: Project, replayed: ReplayedLine[]): Promise<void> {
    const onActions = this.context.env['GITHUB_ACTIONS'] === 'true';
    if (this.junit !== undefined) {
      const { renderReplayJunit } = await import('../../render/replay-junit.ts');
      const file = await openExportFile(this.junit, { cwd: this.context.cwd(), force: true });
      await file.put(inOnePiece(renderReplayJunit(replayed)));
    }
    const text = renderLines(replayed, terminal);
    if (this.json) this.printJson(terminal, 'session-replay', toJson(replayed));
    else if (onActions) terminal.print(await this.fence(text));
    else await this.page(terminal, project, text);
    const { annotate } = await import('../../render/replay-annotations.ts');
    for (const line of replayed) await annotate(terminal, line, this.json);
  }

  /** Fences the output, because the runner may treat a file's line as a command. */
  private async fence(text: string): Promise<string> {
    const { fenceOutput } = await import('../../render/replay-annotations.ts');
    return fenceOutput(text, randomUUID());
  }
}

/** A bundle may contain several lines. */
function toJson(replayed: ReplayedLine[]): object {
  const same = replayed.every(isSame);
  return replayed.length === 1 ? { same, ...replayed[0] } : { same, lines: replayed };
}

function renderLines(replayed: ReplayedLine[], terminal: Terminal): string {
  const isOne = replayed.length === 1;
  const blocks = replayed.map((line) => `${isOne ? '' : `${toVisible(line.line)}:\n`}${renderReplay(line, terminal)}`);
  return blocks.join('\n');
}

export async function* inOnePiece(content: string | Uint8Array): AsyncGenerator<Uint8Array> {
  yield typeof content === 'string' ? new TextEncoder().encode(content) : content;
}
