import { relative, resolve, sep } from 'node:path';
import type { Project } from '../../ports/project.ts';
import { option, parameter, TeddyCommand, type Terminal, usage } from '../teddy-command.ts';
import { readWorkingDirectory } from '../context.ts';

/** Base class with the options that both commands use to choose the lines to explain. */
abstract class LineCommand extends TeddyCommand {
  place = parameter('file[:line[-line]]');
  revision = option('--rev', {
    value: '<commit>',
    describe: 'Read the file from this commit. Default: from the work tree.',
  });
  moves = option('-M', { describe: 'Detect lines that were moved within the file.' });
  copies = option('-C', { describe: 'Detect lines copied from another file that the same commit changed.' });

  protected override trustsHead = () => 'always' as const;

  /** Reads the path relative to the current directory, as git does. */
  protected toRequest(terminal: Terminal, project: Project) {
    const root = project.repository.workspace?.root;
    const cwd = readWorkingDirectory(terminal.context);
    const path = root === undefined ? this.place : relative(root, resolve(cwd, this.place)).split(sep).join('/');
    return { place: path, revision: this.revision, moves: this.moves, copies: this.copies };
  }
}

export class WhyCommand extends LineCommand {
  static override usage = usage({
    category: 'Look',
    description: 'Show why a line exists: who asked for it, the plan, who approved it.',
    details: `
      Shows the turn that added the line: the words that asked for it, the plan, the model, who approved the plan, the
      outcome, what the line replaced, and where it landed. A line that somebody wrote by hand is attributed to that
      person and commit. Without a line number, it explains all lines of the file.

      teddy follows \`teddy land\`, undone turns, renamed files, archived sessions, and the sessions of captured
      agents. If a commit names no session (a squash by a forge, or a commit of what an agent left in the work tree),
      teddy finds the session by the note that \`teddy ci carry\` has made, if the content proves it, or else by content,
      and marks it as such. If nothing proves where a line came from, it is reported as unknown. Uncommitted lines,
      including those of new files, are looked up in the newest snapshot of an agent's session. If git's
      blame.ignoreRevsFile names a commit, teddy also reports who git thinks had the line before.

      Exit codes: 0 done; 1 git failed; 2 no such file, line or commit.
    `,
    examples: [
      ['One line', '$0 why src/app.ts:42'],
      ['Some lines', '$0 why src/app.ts:42-50'],
      ['All lines of a file in an older commit', '$0 why src/app.ts --rev v1.2'],
    ],
  });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const [{ explainPlace }, { toWhyDocument }] = await Promise.all([
        import('../../workflow/blame/why.ts'),
        import('../../workflow/blame/document.ts'),
      ]);
      const why = await explainPlace(project, this.toRequest(terminal, project));
      for (const problem of why.problems) project.notices.warn(problem);
      const { renderWhy } = await import('../render/why.ts');
      if (this.json) this.printJson(terminal, 'why', toWhyDocument(why));
      else await this.page(terminal, project, renderWhy(terminal, why));
      return 0;
    });
  }
}

export class BlameCommand extends LineCommand {
  static override usage = usage({
    category: 'Look',
    description: 'Show which turn or person added each line of a file.',
    details: `
      Like \`git blame\`, but follows lines into the sessions: they are grouped by the turn that added them, with the
      words that asked for it, the plan, the model, and who approved it; or by the commit of the person who wrote
      them. \`by content\` means that the commit names no session, and its lines were found in this one; \`by note\`,
      that a note names the session, and merging it gives exactly the commit. \`teddy why FILE:LINE\` tells the whole
      story of a line.

      With --porcelain, it prints what \`git blame --porcelain\` prints for the commits that teddy finds, plus the
      rows teddy-author, teddy-session, teddy-turn, teddy-model, teddy-by-content, teddy-by-note and teddy-uncommitted.

      Exit codes: 0 done; 1 git failed; 2 no such file, line or commit.
    `,
    examples: [
      ['A file', '$0 blame src/app.ts'],
      ['Some of its lines', '$0 blame src/app.ts:42-50'],
      ['For a program', '$0 blame src/app.ts --json'],
    ],
  });

  porcelain = option('--porcelain', {
    describe: 'Print the format of `git blame --porcelain`, for programs.',
    excludes: ['--json'],
  });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { blameFile } = await import('../../workflow/blame/blame-file.ts');
      const blamed = await blameFile(project, this.toRequest(terminal, project));
      for (const problem of blamed.problems) project.notices.warn(problem);
      if (this.porcelain) {
        const { renderPorcelain } = await import('../render/blame-porcelain.ts');
        terminal.print(await renderPorcelain(project, blamed));
        return 0;
      }
      const { renderBlame } = await import('../render/why.ts');
      const { toBlameDocument } = await import('../../workflow/blame/document.ts');
      if (this.json) this.printJson(terminal, 'blame', toBlameDocument(blamed));
      else await this.page(terminal, project, renderBlame(terminal, blamed));
      return 0;
    });
  }
}
