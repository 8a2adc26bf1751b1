import { Command } from 'clipanion';
import { shortRef } from '../../../names.ts';
import type { ListedWorkTree } from '../../../workflow/line/list-work-trees.ts';
import { TeddyCommand } from '../../teddy-command.ts';
import type { Terminal } from '../../terminal.ts';
import { toVisible } from '../../../session/visible-text.ts';

export class WorktreeListCommand extends TeddyCommand {
  static override paths = [['worktree', 'list']];
  static override usage = Command.Usage({
    category: 'Work trees',
    description: 'List the linked work trees of sessions.',
    details: `
      A line has ended when all its commits are in the branch that its session started from or in the default branch (here or as last
      fetched), when it has landed there, when it is archived, or when its branch is deleted. A squash merge cannot be told from other commits.
    `,
    examples: [['All of them', '$0 worktree list']],
  });

  protected override trustsHead = () => 'always' as const;

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { listWorkTrees } = await import('../../../workflow/line/list-work-trees.ts');
      const trees = await listWorkTrees(project);
      if (this.json) this.printJson(terminal, 'worktree-list', { workTrees: trees.map(toWorkTreeJson) });
      else if (trees.length === 0)
        terminal.say('No session is worked on in a linked work tree. Make one: teddy session new <name> --worktree');
      else await this.page(terminal, project, trees.map((tree) => renderWorkTree(terminal, tree)).join(''));
      return 0;
    });
  }
}

export function toWorkTreeJson(tree: ListedWorkTree) {
  const { session, line, ref, root, end, changes, ignored, operation, isGone, isUnfinished, lock, madeFor } = tree;
  return {
    session,
    line: shortRef(line),
    path: root,
    /** Null when HEAD is detached. */
    branch: ref === null ? null : shortRef(ref),
    ended: end,
    changes,
    ignored,
    operation,
    gone: isGone,
    unfinished: isUnfinished,
    locked: lock,
    madeByTeddy: madeFor !== null,
    current: tree.isCurrent,
  };
}

function renderWorkTree(terminal: Terminal, tree: ListedWorkTree): string {
  const name = tree.isCurrent ? terminal.style('green', shortRef(tree.line)) : shortRef(tree.line);
  return `${tree.isCurrent ? '*' : ' '} ${name}  ${describe(tree).join(', ')}\n    ${toVisible(tree.root)}\n`;
}

function describe({ end, changes, ignored, ...tree }: ListedWorkTree): string[] {
  const state = tree.isGone
    ? 'its directory is gone'
    : tree.isUnfinished
      ? 'not finished'
      : changes === 0
        ? 'no changes'
        : `${changes} ${changes === 1 ? 'change' : 'changes'}`;
  const elsewhere =
    tree.ref === tree.line || tree.isUnfinished ? null : (tree.ref && shortRef(tree.ref)) || 'no branch';
  return [
    ...(end === null ? [] : [end]),
    state,
    ...(elsewhere === null ? [] : [`HEAD is on ${elsewhere}`]),
    ...(tree.operation === null ? [] : [`${tree.operation} in progress`]),
    ...(tree.lock === null ? [] : [`locked${tree.lock === '' ? '' : ` (${toVisible(tree.lock)})`}`]),
    ...(tree.madeFor === null ? ['not made by teddy'] : []),
    ...(ignored.length === 0 ? [] : [`ignored: ${nameFirst(ignored)}`]),
  ];
}

export function nameFirst(names: string[]): string {
  const some = names.slice(0, 3).map(toVisible).join(', ');
  return names.length > 3 ? `${some} and ${names.length - 3} more` : some;
}
