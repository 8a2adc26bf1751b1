import { relative, resolve } from 'node:path';
import { shortRef } from '../../../names.ts';
import { toShellWord } from '../../../session/text/shell-word.ts';
import { newSession } from '../../../workflow/line/new-session.ts';
import { option, parameter, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';
import { toVisible } from '../../../session/text/visible-text.ts';

export class SessionNewCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Start',
    description: 'Start a session and switch to its branch.',
    details: `
      The branch is teddy/<date>-<name>. It starts at HEAD, or at --from. If HEAD is on the branch of a session that
      has landed, it starts at the branch where that session landed. Uncommitted work does not change. Prints the
      session's directory on stdout; with \`--no-switch\`, no work tree has the directory, so it is printed as git
      names it.

      With \`--worktree\`, the branch is checked out in a linked work tree, in teddy/worktrees/ of the git directory.
      This work tree and its uncommitted work do not change, so you can work on several sessions at the same time.
      \`teddy list --all\` shows these work trees, \`teddy worktree remove\` removes them. Git hooks do not
      run, and submodules are left to \`git submodule update\`.
    `,
    examples: [
      ['Start a session', '$0 new add-login-route'],
      ['Stay on this branch', '$0 new add-login-route --no-switch'],
      ['Start from another branch', '$0 new add-login-route --from main'],
      ['Use a separate work tree', '$0 new add-login-route --worktree'],
    ],
  });

  name = parameter('name');
  noSwitch = option('--no-switch', {
    describe: 'Create the branch without switching to it.',
    excludes: ['--worktree'],
  });
  from = option('--from', { value: '<branch>', describe: 'The branch or session to start from.' });
  worktree = option('--worktree', { describe: 'Use a linked work tree for the session.' });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      await this.offerOrphans(terminal, project);
      const { name, from, worktree } = this;
      const made = await newSession(project, { name, switch: !this.noSwitch, worktree, from });
      const { session, directory, commit, switched, workTree } = made;
      const branch = shortRef(made.ref);
      if (this.json) {
        this.printJson(terminal, 'session-new', { session, line: branch, directory, commit, switched, workTree });
        return 0;
      }
      if (made.made !== null) terminal.say(`Created ${made.made}.`);
      const bold = terminal.style('bold', branch, 'stderr');
      if (workTree !== null) {
        terminal.say(`Created the branch ${bold} and its work tree ${toVisible(workTree)}.`);
        terminal.say(`Next: cd ${toShellWord(workTree)} && teddy plan -m "what you want"`);
        terminal.print(`${resolve(workTree, directory)}\n`);
        return 0;
      }
      terminal.say(switched ? `Switched to the new branch ${bold}.` : `Created the branch ${bold}.`);
      const option = switched ? '' : ` -s ${session}`;
      terminal.say(`Next: teddy plan${option} -m "what you want", or to talk: teddy chat${option}`);
      const root = switched ? project.repository.workspace?.root : undefined;
      const here = root === undefined ? null : relative(this.context.cwd(), resolve(root, directory));
      terminal.print(`${here ?? `${branch}:${directory}`}\n`);
      return 0;
    });
  }
}
