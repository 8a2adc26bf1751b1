/** Runs of plans that were killed: what to do with one is for a person to decide. */
import type { JournaledRun } from '../../plan/journal.ts';
import type { Project } from '../../ports/project.ts';
import { joinPath, shortRef, turnDir } from '../../names.ts';
import { toShellWord } from '../../session/shell-word.ts';
import { describeInterrupted, describeWays } from '../line/unfinished-run.ts';
import { remainsOf, type Examination, type Found } from './finding.ts';

export const findRuns: Examination = async (scene) => {
  const runs = remainsOf(scene, 'run');
  const found: Found[] = [];
  for (const { path, run } of runs) found.push(await toFound(scene.project, path, run));
  return { found, seen: 'runs' };
};

async function toFound(project: Project, path: string, left: JournaledRun | null): Promise<Found> {
  const found = { kind: 'interrupted-run' as const, thing: path, fix: null, mend: null };
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

/** The report is on the line: the journal is of no use any more. */
function toReported({ journals }: Project, thing: string, { run }: JournaledRun): Found {
  return {
    kind: 'interrupted-run',
    thing,
    meaning: `The run of turn ${run.turn} on ${shortRef(run.ref)} was killed after its report was on the line; its journal is still there.`,
    fix: 'removes the journal, as the next command on that line does',
    todo: null,
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
