import { exitCodes, TeddyError } from '../../../errors.ts';
import { errorDocument } from '../../render/error.ts';
import { shortRef } from '../../../names.ts';
import type { ListedWorkTree } from '../../../workflow/line/list-work-trees.ts';
import type { RemovedWorkTrees, RemoveRequest } from '../../../workflow/line/remove-work-tree.ts';
import { requireOne } from '../../plan-options.ts';
import { resolvePath } from '../../context.ts';
import { option, parameter, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';
import { toVisible } from '../../../session/text/visible-text.ts';

export class WorktreeRemoveCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Work trees',
    description: 'Remove linked work trees that teddy made, but keep their branches.',
    details: `
      Never removes a work tree that has edits, staged or untracked files, is in the middle of a merge or a similar
      operation, is locked, is executing a plan, or is the one you are in. As with \`git worktree remove\`, files that
      git ignores are removed too; they are listed.

      With \`--ended\`, it keeps and lists the work trees that it may not remove, and the exit code is 3. A session's
      branch has ended when all its commits are in the branch that its session started from or in the default branch
      (here or as last fetched), when it has landed there, when it is archived, or when it is deleted. teddy cannot
      recognize a squash merge.
    `,
    examples: [
      ["A session's work tree", '$0 worktree remove 20260124-add-login'],
      ['All work trees of ended branches', '$0 worktree remove --ended'],
    ],
  });

  worktree = parameter('session', { optional: true, completes: ['sessions'] });
  ended = option('--ended', { describe: 'Remove all whose branch was merged, archived or deleted.' });

  protected run(terminal: Terminal): Promise<number> {
    const request = this.toRequest();
    return this.withProject(terminal, async (project) => {
      const { removeWorkTrees } = await import('../../../workflow/line/remove-work-tree.ts');
      const outcome = await removeWorkTrees(project, request);
      if (this.json) this.printJson(terminal, 'worktree-remove', toJson(outcome));
      else this.show(terminal, outcome);
      return outcome.kept.length === 0 ? 0 : exitCodes.WORK_TREE_IN_USE;
    });
  }

  private toRequest(): RemoveRequest {
    requireOne({ [this.worktree ?? '']: this.worktree !== undefined, '--ended': this.ended });
    if (this.ended) return { kind: 'ended' };
    if (this.worktree === undefined) {
      const hint = 'Name a session, a branch or a path from `git worktree list`, or use --ended.';
      throw new TeddyError('USAGE', 'You named no work tree.', hint);
    }
    return { kind: 'one', selector: this.worktree, path: resolvePath(this.context, this.worktree) };
  }

  private show(terminal: Terminal, { removed, kept }: RemovedWorkTrees): void {
    for (const { root, line, ignored } of removed) {
      const lost = ignored.length === 0 ? '' : `, with the files that git ignores: ${nameFirst(ignored)}`;
      terminal.say(`Removed the work tree of ${shortRef(line)}${lost}.`);
      terminal.print(`${toVisible(root)}\n`);
    }
    for (const { tree, reason } of kept)
      terminal.say(`Kept the work tree of ${shortRef(tree.line)}: ${toVisible(reason.message)}`);
    if (removed.length + kept.length === 0) terminal.say('There are no work trees of ended branches.');
  }
}

function toJson({ removed, kept }: RemovedWorkTrees) {
  return {
    removed: removed.map(toWorkTreeJson),
    kept: kept.map(({ tree, reason }) => ({ ...toWorkTreeJson(tree), reason: errorDocument(reason) })),
  };
}

function toWorkTreeJson({ line, root, ref, end, madeFor, ...tree }: ListedWorkTree) {
  return {
    ...tree,
    line: shortRef(line),
    path: root,
    /** Null when HEAD is detached. */
    head: ref === null ? null : shortRef(ref),
    ended: end,
    isMadeByTeddy: madeFor !== null,
  };
}

function nameFirst(names: string[]): string {
  const some = names.slice(0, 3).map(toVisible).join(', ');
  return names.length > 3 ? `${some} and ${names.length - 3} more` : some;
}
