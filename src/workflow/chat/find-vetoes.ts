/** Finds the paths that the user's lists and `.teddyignore` hide from a model that asks for them by name. */
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { resolveContext } from '../../session/context/context.ts';
import { globalContextPath } from '../../session/global/global-files.ts';
import { joinPath, sessionDir, type Oid, type RepoPath, type SessionId } from '../../names.ts';
import { quotePath } from '../../session/paths/paths.ts';
import { openCodeTree } from '../context/code-tree.ts';
import { readGlobal } from '../line/global-branch.ts';
import { readIgnored, readList } from '../context/read.ts';

interface ListContext {
  session: SessionId;
  tip: Oid;
  workspace: Workspace | null;
}

/** Returns, by path, the reason why the next turn's READ would not show it either. Omits paths without a reason. */
export async function findVetoes(
  project: Project,
  { session, tip, workspace }: ListContext,
  paths: readonly RepoPath[],
): Promise<Map<string, string>> {
  const { store } = project.repository;
  const [global, sessionList] = await Promise.all([
    readGlobal(project).then((found) => found?.globalContext ?? readList(store, tip, globalContextPath)),
    readList(store, tip, joinPath(sessionDir(session), 'session.context')),
  ]);
  const lists = { global, session: sessionList };
  const turn = paths.map(quotePath);
  const lines = [...Object.values(lists).flatMap((list) => list.split('\n')), ...turn];
  const tree = await openCodeTree(project, tip).filesFor(lines, workspace?.root);
  const isIgnored = await readIgnored(store, tree);
  const { leftOut } = await resolveContext({ ...lists, turn }, tree, { root: workspace?.root, isIgnored });
  const asked = leftOut.filter(({ place, isQuiet }) => place.level === 'turn' && !isQuiet);
  return new Map(asked.map(({ path, reason }) => [path, reason]));
}
