import { relative, resolve, sep } from 'node:path';
import type { Project } from '../../ports/project.ts';
import { option, parameter, TeddyCommand, type Terminal, usage } from '../teddy-command.ts';
import { readWorkingDirectory } from '../context.ts';

/** The options that both commands take for the lines in question. */
abstract class LineCommand extends TeddyCommand {
  place = parameter('file[:line[-line]]');
  revision = option('--rev', {
    value: '<commit>',
    describe: 'The file as it was in this commit. Default: as it is in the work tree.',
  });
  moves = option('-M', { describe: 'Find lines that were moved within the file.' });
  copies = option('-C', { describe: 'Find lines that were copied from another file which the same commit changed.' });

  protected override trustsHead = () => 'always' as const;

  /** A path is relative to the current folder, as for git. */
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
    description: 'Tell why a line is there: who asked for it, the plan, who approved it.',
    details: `
      Shows the turn that brought the line: the words that asked for it, the plan, the model, who approved the
      plan, what happened, what stood there before, and where it landed. A line that somebody wrote by hand is
      theirs, with their commit. Without a line, it tells the stories of all lines of the file.

      teddy follows \`session land\`, undone turns, renamed files, archived sessions, and the sessions of captured
      agents. A squash by a forge, or a commit of what an agent left in the work tree, names no session: teddy
      finds it by its content, and says so. What nothing proves is called unknown. Lines that are not committed yet
      are looked for in the newest snapshot of an agent's session, in new files as well. Where git's own
      blame.ignoreRevsFile names a commit, teddy tells beside it whose the line was before, as git guesses.

      Exit codes: 0 done; 1 git failed; 2 no such file, line or commit.
    `,
    examples: [
      ['One line', '$0 why src/app.ts:42'],
      ['Some lines', '$0 why src/app.ts:42-50'],
      ['All lines of a file, as they were in an older commit', '$0 why src/app.ts --rev v1.2'],
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
    description: 'Show for each line of a file which turn or person brought it.',
    details: `
      Like \`git blame\`, but led on into the sessions: lines stand below the turn that brought them, with the
      words that asked for it, the plan, the model, and who approved it; or below the commit of the person who
      wrote them. \`by content\`: the commit names no session, and its lines were found in this one.
      \`teddy why FILE:LINE\` tells the whole story of a line.

      With --porcelain, it prints what \`git blame --porcelain\` prints, for the commits that teddy finds, with rows
      teddy-author, teddy-session, teddy-turn, teddy-model, teddy-by-content and teddy-uncommitted in addition.

      Exit codes: 0 done; 1 git failed; 2 no such file, line or commit.
    `,
    examples: [
      ['A file', '$0 blame src/app.ts'],
      ['Some of its lines', '$0 blame src/app.ts:42-50'],
      ['For a program', '$0 blame src/app.ts --json'],
    ],
  });

  porcelain = option('--porcelain', {
    describe: 'For programs that read `git blame --porcelain`.',
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
