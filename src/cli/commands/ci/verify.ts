import { randomUUID } from 'node:crypto';
import { lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { version } from '../../../../package.json';
import { openExportFile } from '../../../app.ts';
import { nullIfDamaged, TeddyError } from '../../../errors.ts';
import type { Project } from '../../../ports/project.ts';
import type { CheckedChange } from '../../../workflow/ci/ci.ts';
import { resolvePath, type CliContext } from '../../context.ts';
import { renderChecked } from '../../render/checked-change.ts';
import { option, parameters, type Terminal, usage, withInterrupt } from '../../teddy-command.ts';
import { inOnePiece } from '../session/replay.ts';
import { ChangeCommand } from './change-command.ts';

export class CiVerifyCommand extends ChangeCommand {
  static override usage = usage({
    category: 'CI',
    description: 'Verify and replay the sessions of a change, and the sessions that its commits landed.',
    details: `
      With --base, it checks every commit that --head has and --base does not. Entries of sessions are verified and
      replayed. For a commit that landed a session, teddy fetches the session if it is missing, verifies it, replays
      it up to the point that has landed, and checks its approvals; the commit must contain exactly what a merge of
      the session's code produces. Files of a session without its entries, as after a squash, are a fault. Commits that
      no session explains are only counted, not checked.

      Without --base, it verifies and replays the branches or commits that you name, or else every session in the
      repository.

      Anything that cannot be fetched, or that only a command or a person explains, counts as not proven. The policy
      comes from the base branch, never from the change: its \`.teddy/config.yaml\` can require approvals, and a
      relative path after --signed-by names a file on the base branch.

      It runs nothing from the change unless you give --run-commands, and it works in a bare clone.

      Exit codes: 0 every session holds up, or there is none; 1 something differs, is missing or is not proven; 2 the
      check could not be carried out.
    `,
    examples: [
      ['The commits that a pull request adds', '$0 ci verify --base origin/main'],
      ['Also require approval by somebody else', '$0 ci verify --base origin/main --require-approval=others'],
      ['One session', '$0 ci verify teddy/20260124-add-user-auth'],
      ['Every session in this clone', '$0 ci verify'],
    ],
  });

  targets = parameters('branch or commit');
  base = option('--base', {
    value: '<commit>',
    describe: 'The branch or commit that the change will be merged into.',
  });
  head = option('--head', {
    value: '<commit>',
    describe: 'The branch or commit with the change. Default: HEAD.',
    requires: ['--base'],
  });
  runCommands = option('--run-commands', {
    describe: "Also run the plans' commands, in a temporary repository.",
  });
  junit = option('--junit', {
    value: '<file>',
    describe: 'Write the results to this directory, one JUnit XML file per session.',
  });

  pages = option('--pages', {
    value: '<directory>',
    describe: "Write each session's page to this directory, as HTML.",
  });

  protected override trustsHead = () => 'always' as const;

  protected run(terminal: Terminal): Promise<number> {
    const { base, head } = this;
    this.refuseContradictions();
    return this.withProject(terminal, async (project) => {
      const { junit, pages } = this;
      for (const directory of [junit, pages]) if (directory !== undefined) await makeDirectory(this.context, directory);
      const request = {
        range: base === undefined ? null : { base, head: head ?? 'HEAD' },
        targets: this.targets,
        runsCommands: this.runCommands,
        ...(await this.readPolicy(project, base)),
        ...(pages !== undefined && { onLine: (target: string) => this.writePage(project, pages, target) }),
      };
      const { checkChange } = await import('../../../workflow/ci/check-change.ts');
      const checked = await withInterrupt(terminal, 'teddy ci verify', (signal) =>
        checkChange(project, { ...request, signal }),
      );
      const verdict = this.judge(checked, request);
      if (junit !== undefined) await this.writeJunit(junit, checked);
      if (this.json) this.printJson(terminal, 'ci-verify', { ok: verdict.ok, verdict: verdict.text, ...checked });
      else await this.show(terminal, project, renderChecked(checked, verdict, terminal));
      const { annotate } = await import('../../render/replay-annotations.ts');
      for (const { result } of checked.replayed) await annotate(terminal, result, this.json);
      return verdict.ok ? 0 : 1;
    });
  }

  private refuseContradictions(): void {
    if (this.base !== undefined && this.targets.length > 0)
      throw new TeddyError('USAGE', '`--base` cannot be combined with a name.', 'Omit one of them.');
    for (const target of this.targets)
      if (target.startsWith('-'))
        throw new TeddyError('USAGE', `${target} is neither a branch nor a commit.`, 'Name branches or commits.');
  }

  /** Guards the output, because a file may contain text that the GitHub Actions runner would treat as a command. */
  private async show(terminal: Terminal, project: Project, text: string): Promise<void> {
    if (this.context.env['GITHUB_ACTIONS'] !== 'true') return this.page(terminal, project, text);
    const { fenceOutput } = await import('../../render/replay-annotations.ts');
    terminal.print(fenceOutput(text, randomUUID()));
  }

  /** Writes the page of a line, or of the part of it that a change brings. A damaged line has none. */
  private async writePage(project: Project, directory: string, target: string): Promise<void> {
    const { makePageFile } = await import('../../../workflow/page/page-file.ts');
    const made = await makePageFile(project, target.split('..').at(-1), version).catch(nullIfDamaged);
    if (made === null) return;
    await this.write(directory, `${made.page.source.session}.html`, made.bytes);
  }

  private async writeJunit(directory: string, { replayed }: CheckedChange): Promise<void> {
    const { renderReplayJunit } = await import('../../render/replay-junit.ts');
    for (const { result } of replayed) {
      const name = result.line.replaceAll(/[^A-Za-z0-9.-]+/g, '-').replace(/-$/, '');
      await this.write(directory, `${name}.xml`, renderReplayJunit([result]));
    }
  }

  private async write(directory: string, name: string, content: Uint8Array | string): Promise<void> {
    const file = await openExportFile(join(directory, name), { cwd: this.context.cwd(), force: true });
    await file.put(inOnePiece(content));
  }
}

/**
 * Makes the directory, but refuses a symbolic link: a checkout may contain one with that name, and CI publishes the
 * results. Throws USAGE.
 */
async function makeDirectory(context: CliContext, name: string): Promise<void> {
  const path = resolvePath(context, name).replace(/\/+$/, '');
  const found = await lstat(path).catch(() => null);
  if (found?.isSymbolicLink() === true)
    throw new TeddyError('USAGE', `${name} is a link.`, 'Name a directory outside the checkout.');
  // Node's recursive mkdir never returns for a path below /proc.
  await mkdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST' && found?.isDirectory() === true) return;
    throw new TeddyError(
      'USAGE',
      `The directory ${name} could not be created: ${error.message}.`,
      'Name another directory.',
    );
  });
}
