/** Warns of what is on its way on a line, and is not part of its code yet. */
import type { Project } from '../../ports/project.ts';
import { isSessionPath } from '../../session/global-files.ts';
import { nameSome } from '../../session/name-some.ts';
import { readLine } from '../line/read.ts';
import type { LandableLine } from './landing.ts';

export async function tellUnlanded(project: Project, line: LandableLine): Promise<void> {
  const { latest } = await readLine(project.repository.store, line.tip);
  if (latest?.status === 'planned')
    project.notices.warn(`Turn ${latest.turn} has a plan that was not executed: nothing of it is landed.`);
  if (latest?.status === 'open')
    project.notices.warn(`Turn ${latest.turn} waits for an answer: nothing of it is landed.`);
  await tellEdits(project, line);
}

async function tellEdits({ repository, notices }: Project, { ref, name }: LandableLine): Promise<void> {
  const tree = (await repository.workTrees()).find((one) => one.ref === ref);
  if (tree === undefined) return;
  const { edits, untracked } = await (await repository.openWorkspace(tree.root)).status({ untracked: true });
  const paths = [...edits.map(({ path }) => path), ...untracked].filter((path) => !isSessionPath(path));
  if (paths.length === 0) return;
  const files = paths.length === 1 ? '1 file differs' : `${paths.length} files differ`;
  notices.warn(
    `${files} from the tip of ${name} in ${tree.root}, and only what is committed is landed: ${nameSome(paths)}.`,
  );
}
