/** Work trees whose line has come to its end, and those that were never finished. */
import type { Project } from '../../ports/project.ts';
import { shortRef } from '../../names.ts';
import { toShellWord } from '../../session/shell-word.ts';
import { listWorkTrees, type ListedWorkTree } from '../line/list-work-trees.ts';
import { removeWorkTrees } from '../line/remove-work-tree.ts';
import { count, type Examination, type Found } from './finding.ts';

export const findWorkTrees: Examination = async ({ project }) => {
  const all = await project.repository.linkedWorkTrees();
  if (all.length === 0) return { found: [], seen: null };
  const trees = (await listWorkTrees(project)).filter(({ madeFor }) => madeFor !== null);
  const unfinished = trees.filter(({ isUnfinished }) => isUnfinished).map(toUnfinished);
  const ended = trees.filter(({ end, isUnfinished }) => end !== null && !isUnfinished);
  return {
    found: [...unfinished, ...ended.map((tree) => toEnded(project, tree))],
    seen: count(all.length, 'linked work tree'),
  };
};

function toUnfinished({ root, line }: ListedWorkTree): Found {
  return {
    kind: 'ended-work-tree',
    thing: root,
    meaning: `A work tree for ${shortRef(line)} was not finished: the command that made it was killed, or is at it now.`,
    fix: null,
    todo: `If it was killed: \`git worktree remove --force ${toShellWord(root)}\`.`,
    mend: null,
  };
}

function toEnded(project: Project, tree: ListedWorkTree): Found {
  const { root, line, end } = tree;
  const reason = findReason(tree);
  const found = { kind: 'ended-work-tree' as const, thing: root };
  const meaning = `${shortRef(line)} has ended (${end}), and its work tree is still there${reason === null ? '' : `; ${reason}`}.`;
  if (reason !== null) {
    const todo = `See \`git -C ${toShellWord(root)} status\`, then \`teddy worktree remove ${toShellWord(shortRef(line))}\`.`;
    return { ...found, meaning, fix: null, todo, mend: null };
  }
  return {
    ...found,
    meaning,
    fix: 'removes the work tree with git, if it is still clean then; the branch stays',
    todo: null,
    async mend() {
      await removeWorkTrees(project, { kind: 'one', selector: root, path: root });
      return 'The work tree is removed.';
    },
  };
}

/** Why somebody may want it still. */
function findReason({ changes, ignored, lock, operation, isCurrent, ref, line }: ListedWorkTree): string | null {
  if (isCurrent) return 'you are in it';
  if (lock !== null) return 'it is locked';
  if (operation !== null) return `a ${operation} is in progress there`;
  if (changes > 0) return `${count(changes, 'change')} in it ${changes === 1 ? 'is' : 'are'} in no commit`;
  if (ignored.length > 0) return 'files that git ignores are in it';
  return ref !== null && ref !== line ? `${shortRef(ref)} is checked out there` : null;
}
