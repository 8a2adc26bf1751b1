/** Finds interrupted runs and write sessions, and work trees that are obsolete or unfinished. */
import type { JournaledRun } from '../../plan/report/journal.ts';
import { shortRef, joinPath, turnDir } from '../../names.ts';
import type { Project } from '../../ports/project.ts';
import { formatCount } from '../../session/text/format-count.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { toForgetSteps } from '../line/way-to-line.ts';
import { listWorkTrees, type ListedWorkTree } from '../line/list-work-trees.ts';
import { removeWorkTrees } from '../line/remove-work-tree.ts';
import { describeInterrupted, describeSettleCommands } from '../line/unfinished-run.ts';
import { clearWrite, judgeWrite } from '../writes/clean.ts';
import { readWriteLimits } from '../writes/held.ts';
import { count, remainsOf, type Examination, type Found } from './finding.ts';

export const findWrites: Examination = async (scene) => {
  const writes = remainsOf(scene, 'write');
  if (writes.length === 0) return { found: [], seen: 'write sessions' };
  const limits = await readWriteLimits(scene.project);
  const nowMs = scene.project.clock.now().getTime();
  const judged = writes.map((remain) => ({ remain, verdict: judgeWrite(remain.found, limits, nowMs) }));
  const found = judged.flatMap(({ remain, verdict }) => toFound(scene.project, remain, verdict));
  return { found, seen: count(writes.length, 'write session') };
};

type Write = Parameters<typeof toFound>[1];

function toFound(
  project: Project,
  { path, found: write }: { path: string; found: Parameters<typeof judgeWrite>[0] },
  verdict: ReturnType<typeof judgeWrite>,
): Found[] {
  const { id, record, state } = write;
  const target = record?.target ?? 'an unknown file';
  const base = { kind: 'staged-write' as const, thing: path };
  switch (verdict) {
    case 'damaged':
      return [
        {
          ...base,
          meaning: `A write session for ${target} is damaged, so the content that it received cannot be confirmed.`,
          todo: `To see what is left, run \`teddy write show ${id} --tail\`. \`teddy write cancel --ended\` saves it below refs/teddy/keep/writes/ and removes the write session.`,
        },
      ];
    case 'placed':
      return [
        {
          ...base,
          meaning: `A write session was interrupted while putting ${target} in place, or afterwards, before its entry was on the branch.`,
          todo: `Finish it: \`teddy write recover ${id} --finalize\`.`,
        },
      ];
    case 'orphaned':
      return [
        {
          ...base,
          meaning: `A write session for ${target} was interrupted after it had received ${formatCount((state?.size ?? 0) + write.tailBytes)} bytes.`,
          todo: `To see what arrived, run \`teddy write recover ${id} --show\`.${state !== null && state.size > 0 ? ` If it is complete, run \`teddy write recover ${id} --finalize\`.` : ''}`,
        },
      ];
    case 'old':
      return [
        {
          ...base,
          meaning: `A write session for ${target} has ended or was abandoned, but its files still exist.`,
          fix: 'saves the received content below refs/teddy/keep/writes/ and removes its files, as the next command that writes would',
          repairFinding: () => clear(project, write),
        },
      ];
    case 'held':
    case 'result':
      return [];
  }
}

async function clear(project: Project, write: Write['found']): Promise<string> {
  const cleaned = await clearWrite(project, write);
  if (cleaned === null) return 'Somebody has continued it in the meantime.';
  const kept = cleaned.kept.map((oid) => `\`git cat-file -p ${oid}\``).join(', ');
  return kept === ''
    ? 'Its files were removed; they had no content.'
    : `Its files were removed. To read their content: ${kept}.`;
}

/** Finds killed plan runs, about which the user has to decide. */
export const findRuns: Examination = async (scene) => {
  const runs = remainsOf(scene, 'run');
  const found: Found[] = [];
  for (const { path, run } of runs) found.push(await toCutOffRun(scene.project, path, run));
  return { found, seen: 'runs' };
};

async function toCutOffRun(project: Project, path: string, left: JournaledRun | null): Promise<Found> {
  const found = { kind: 'interrupted-run' as const, thing: path };
  if (left === null) {
    const meaning = "A run's journal is damaged, so teddy cannot tell what the run changed.";
    const todo = `Look at \`git status\`, then move ${toShellWord(path)} away. After that, the plan can be executed again.`;
    return { ...found, meaning, todo };
  }
  const { run } = left;
  const line = shortRef(run.ref);
  const tip = await project.repository.store.resolve(run.ref);
  const meaning = `${describeInterrupted(left).replace(/\.$/, '')}, on ${line} in ${run.root}.`;
  if (tip === null) {
    return {
      ...found,
      meaning,
      todo: `${line} is gone. The run's changes are in ${run.root}; the earlier content is in ${path}.`,
    };
  }
  const report = joinPath(turnDir(run.session, run.turn), 'report.md');
  if ((await project.repository.store.readFile(tip, report)) !== null) return toReported(project, path, left);
  const trees = await project.repository.workTrees();
  const isOnLine = trees.some((tree) => tree.root === run.root && tree.ref === run.ref);
  return { ...found, meaning, todo: `Decide: ${describeSettleCommands(project, run, { isOnLine })}.` };
}

/** The report is on the line, so the journal is no longer needed. */
function toReported({ journals }: Project, thing: string, { run }: JournaledRun): Found {
  return {
    kind: 'interrupted-run',
    thing,
    meaning: `The run of turn ${run.turn} on ${shortRef(run.ref)} was killed after its report was added to the branch, and left its journal behind.`,
    fix: 'removes the journal, as the next command on that line would',
    async repairFinding() {
      const claim = await journals.claim(run);
      try {
        await (await journals.find(run))?.journal.discard();
      } finally {
        await claim.release();
      }
      return 'The journal was removed.';
    },
  };
}

export const findWorkTrees: Examination = async (scene) => {
  const { project } = scene;
  const all = await project.repository.linkedWorkTrees();
  if (all.length === 0) return { found: [], seen: null };
  const listed = await listWorkTrees(project);
  const gone = listed.filter(({ isGone }) => isGone).map((tree) => toGone(project, tree));
  const trees = listed.filter(({ madeFor, isGone }) => madeFor !== null && !isGone);
  // These work trees are obsolete, and `findLeftovers` reports them.
  const left = remainsOf(scene, 'leftover').map(({ path }) => path);
  const unfinished = trees.filter(({ isUnfinished, root }) => isUnfinished && !left.includes(root)).map(toUnfinished);
  const ended = trees.filter(({ end, isUnfinished }) => end !== null && !isUnfinished);
  return {
    found: [...gone, ...unfinished, ...ended.map((tree) => toEnded(project, tree))],
    seen: count(all.length, 'linked work tree'),
  };
};

/**
 * git considers the line checked out in the work tree until git removes its record. A work tree that teddy did not
 * create may be on a disk that is not mounted.
 */
function toGone({ repository }: Project, tree: ListedWorkTree): Found {
  const { root, line, ref, madeFor, lock } = tree;
  const held = ref === null ? '' : `, but git still considers ${shortRef(ref)} checked out there`;
  const meaning = `The work tree for ${shortRef(line)} is gone${held}.`;
  const found = { kind: 'gone-work-tree' as const, thing: root, meaning };
  const todo = `If it will not come back, run \`${toForgetSteps(tree).join(' && ')}\`.`;
  if (madeFor === null || lock !== null) return { ...found, todo };
  return {
    ...found,
    fix: 'makes git forget the work tree, and keeps the branch',
    async repairFinding() {
      await repository.removeWorkTree(root);
      return 'git has forgotten the work tree.';
    },
  };
}

function toUnfinished({ root, line }: ListedWorkTree): Found {
  return {
    kind: 'ended-work-tree',
    thing: root,
    meaning: `A work tree for ${shortRef(line)} is incomplete: the command that was creating it was killed, or is still running.`,
    todo: `If it was killed and nothing in the work tree is yours, run \`git worktree remove --force ${toShellWord(root)}\`.`,
  };
}

function toEnded(project: Project, tree: ListedWorkTree): Found {
  const { root, line, end } = tree;
  const reason = findReason(tree);
  const found = { kind: 'ended-work-tree' as const, thing: root };
  const meaning = `${shortRef(line)} has ended (${end}), but its work tree still exists${reason === null ? '' : `; ${reason}`}.`;
  if (reason !== null) {
    const todo = `Look at \`git -C ${toShellWord(root)} status\`, then run \`teddy worktree remove ${toShellWord(shortRef(line))}\`.`;
    return { ...found, meaning, todo };
  }
  return {
    ...found,
    meaning,
    fix: 'removes the work tree with git if it is still clean, and keeps the branch',
    async repairFinding() {
      await removeWorkTrees(project, { kind: 'one', selector: root, path: root });
      return 'The work tree was removed.';
    },
  };
}

/** Explains why somebody may still need the work tree. */
function findReason({ changes, ignored, lock, operation, isCurrent, ref, line }: ListedWorkTree): string | null {
  if (isCurrent) return 'you are in it';
  if (lock !== null) return 'it is locked';
  if (operation !== null) return `a ${operation} is in progress there`;
  if (changes > 0) return `it has ${count(changes, 'uncommitted change')}`;
  if (ignored.length > 0) return 'it contains files that git ignores';
  return ref !== null && ref !== line ? `${shortRef(ref)} is checked out there` : null;
}
