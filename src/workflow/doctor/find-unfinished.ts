/** Finds runs and write sessions that were interrupted, and work trees that are obsolete or unfinished. */
import type { JournaledRun } from '../../plan/report/journal.ts';
import { shortRef, joinPath, turnDir } from '../../names.ts';
import type { Project } from '../../ports/project.ts';
import { formatCount } from '../../session/text/format-count.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { toForgetSteps } from '../line/way-to-line.ts';
import { listWorkTrees, type ListedWorkTree } from '../line/list-work-trees.ts';
import { removeWorkTrees } from '../line/remove-work-tree.ts';
import { describeInterrupted, describeWays } from '../line/unfinished-run.ts';
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
          meaning: `A write session for ${target} is damaged: what it has received cannot be confirmed.`,
          todo: `See what is there: \`teddy write show ${id} --tail\`. \`teddy write cancel --ended\` keeps it below refs/teddy/keep/writes/ and clears it away.`,
        },
      ];
    case 'placed':
      return [
        {
          ...base,
          meaning: `A write session has put ${target} in its place, or was about to, and was interrupted before its entry was on the line.`,
          todo: `Finish it: \`teddy write recover ${id} --finalize\`.`,
        },
      ];
    case 'orphaned':
      return [
        {
          ...base,
          meaning: `A write session for ${target} was interrupted with ${formatCount((state?.size ?? 0) + write.tailBytes)} bytes received.`,
          todo: `See what has arrived: \`teddy write recover ${id} --show\`.${state !== null && state.size > 0 ? ` If it is whole: \`teddy write recover ${id} --finalize\`.` : ''}`,
        },
      ];
    case 'old':
      return [
        {
          ...base,
          meaning: `A write session for ${target} is over or abandoned, and its files are still there.`,
          fix: 'keeps what it has received below refs/teddy/keep/writes/ and clears it away, as the next command that writes does',
          mend: () => clear(project, write),
        },
      ];
    case 'held':
    case 'result':
      return [];
  }
}

async function clear(project: Project, write: Write['found']): Promise<string> {
  const cleaned = await clearWrite(project, write);
  if (cleaned === null) return 'Somebody goes on with it by now.';
  const kept = cleaned.kept.map((oid) => `\`git cat-file -p ${oid}\``).join(', ');
  return kept === '' ? 'It is cleared away; there was no content in it.' : `It is cleared away; its content: ${kept}.`;
}

/** Finds runs of plans that were killed, which a person has to decide about. */
export const findRuns: Examination = async (scene) => {
  const runs = remainsOf(scene, 'run');
  const found: Found[] = [];
  for (const { path, run } of runs) found.push(await toCutOffRun(scene.project, path, run));
  return { found, seen: 'runs' };
};

async function toCutOffRun(project: Project, path: string, left: JournaledRun | null): Promise<Found> {
  const found = { kind: 'interrupted-run' as const, thing: path };
  if (left === null) {
    const meaning = 'The journal of a run is damaged: what the run has changed is not known any more.';
    const todo = `Look at \`git status\`, then move ${toShellWord(path)} away; the plan can be executed again.`;
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
      todo: `${line} is gone. What the run has changed is in ${run.root}; what stood there before is in ${path}.`,
    };
  }
  const report = joinPath(turnDir(run.session, run.turn), 'report.md');
  if ((await project.repository.store.readFile(tip, report)) !== null) return toReported(project, path, left);
  const trees = await project.repository.workTrees();
  const isOnLine = trees.some((tree) => tree.root === run.root && tree.ref === run.ref);
  return { ...found, meaning, todo: `Decide: ${describeWays(project, run, { isOnLine })}.` };
}

/** The report is on the line, so the journal is no longer needed. */
function toReported({ journals }: Project, thing: string, { run }: JournaledRun): Found {
  return {
    kind: 'interrupted-run',
    thing,
    meaning: `The run of turn ${run.turn} on ${shortRef(run.ref)} was killed after its report was on the line; its journal is still there.`,
    fix: 'removes the journal, as the next command on that line does',
    async mend() {
      const claim = await journals.claim(run);
      try {
        await (await journals.find(run))?.journal.discard();
      } finally {
        await claim.release();
      }
      return 'The journal is removed.';
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
  // Nobody needs these work trees, and they are reported as such.
  const left = remainsOf(scene, 'leftover').map(({ path }) => path);
  const unfinished = trees.filter(({ isUnfinished, root }) => isUnfinished && !left.includes(root)).map(toUnfinished);
  const ended = trees.filter(({ end, isUnfinished }) => end !== null && !isUnfinished);
  return {
    found: [...gone, ...unfinished, ...ended.map((tree) => toEnded(project, tree))],
    seen: count(all.length, 'linked work tree'),
  };
};

/** git takes the line for checked out there until it forgets the work tree. One that teddy did not make may be on a disk that is not mounted. */
function toGone({ repository }: Project, tree: ListedWorkTree): Found {
  const { root, line, ref, madeFor, lock } = tree;
  const held = ref === null ? '' : `, and git takes ${shortRef(ref)} for checked out there`;
  const meaning = `The work tree for ${shortRef(line)} is gone${held}.`;
  const found = { kind: 'gone-work-tree' as const, thing: root, meaning };
  const todo = `If it is gone for good: \`${toForgetSteps(tree).join(' && ')}\`.`;
  if (madeFor === null || lock !== null) return { ...found, todo };
  return {
    ...found,
    fix: 'makes git forget the work tree; the branch stays',
    async mend() {
      await repository.removeWorkTree(root);
      return 'git has forgotten the work tree.';
    },
  };
}

function toUnfinished({ root, line }: ListedWorkTree): Found {
  return {
    kind: 'ended-work-tree',
    thing: root,
    meaning: `A work tree for ${shortRef(line)} was not finished: the command that made it was killed, or is at it now.`,
    todo: `If it was killed, and nothing in it is yours: \`git worktree remove --force ${toShellWord(root)}\`.`,
  };
}

function toEnded(project: Project, tree: ListedWorkTree): Found {
  const { root, line, end } = tree;
  const reason = findReason(tree);
  const found = { kind: 'ended-work-tree' as const, thing: root };
  const meaning = `${shortRef(line)} has ended (${end}), and its work tree is still there${reason === null ? '' : `; ${reason}`}.`;
  if (reason !== null) {
    const todo = `See \`git -C ${toShellWord(root)} status\`, then \`teddy worktree remove ${toShellWord(shortRef(line))}\`.`;
    return { ...found, meaning, todo };
  }
  return {
    ...found,
    meaning,
    fix: 'removes the work tree with git, if it is still clean then; the branch stays',
    async mend() {
      await removeWorkTrees(project, { kind: 'one', selector: root, path: root });
      return 'The work tree is removed.';
    },
  };
}

/** Returns why somebody may still need the work tree. */
function findReason({ changes, ignored, lock, operation, isCurrent, ref, line }: ListedWorkTree): string | null {
  if (isCurrent) return 'you are in it';
  if (lock !== null) return 'it is locked';
  if (operation !== null) return `a ${operation} is in progress there`;
  if (changes > 0) return `${count(changes, 'change')} in it ${changes === 1 ? 'is' : 'are'} in no commit`;
  if (ignored.length > 0) return 'files that git ignores are in it';
  return ref !== null && ref !== line ? `${shortRef(ref)} is checked out there` : null;
}
