/** New files that commands of a conversation have made: git does not know them yet, and the next snapshot takes them. */
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { isSessionPath } from '../../session/global-files.ts';
import type { Oid, RepoPath } from '../../names.ts';
import { parseRepoPath } from '../../session/paths.ts';
import { readLine, readTurn } from './read.ts';

/** Whoever speaks in between opens a turn of their own. */
const turnsBack = 2;

/** Those of the line's last turns that are there, that git does not have, and that it does not ignore. */
export async function findMade(project: Project, workspace: Workspace, tip: Oid): Promise<RepoPath[]> {
  const { store } = project.repository;
  const state = await readLine(store, tip);
  const turns = await Promise.all(
    state.turns.slice(-turnsBack).map((turn) => readTurn(store, state.entryOid, state.session, turn)),
  );
  const named = turns.flatMap(({ records }) =>
    records.flatMap((record) => (record.type === 'tool_result' ? (record.changed_files ?? []) : [])),
  );
  const paths = [...new Set(named)].flatMap(toOwnPath);
  const isNew = await Promise.all(paths.map((path) => isUnknown(project, workspace, tip, path)));
  const unknown = paths.filter((_, at) => isNew[at]);
  if (unknown.length === 0) return [];
  const ignored = new Set(await workspace.ignored(unknown));
  return unknown.filter((path) => !ignored.has(path));
}

/** A transcript may come from elsewhere: a path of it is no better than one of a plan. */
function toOwnPath(text: string): RepoPath[] {
  const parsed = parseRepoPath(text);
  return 'path' in parsed && !isSessionPath(parsed.path) ? [parsed.path] : [];
}

async function isUnknown(
  { repository: { store } }: Project,
  workspace: Workspace,
  tip: Oid,
  path: RepoPath,
): Promise<boolean> {
  if ((await store.readFile(tip, path)) !== null || (await workspace.readDisk(path)) === null) return false;
  const { edits, untracked } = await workspace.status({ untracked: true, path });
  return edits.length === 0 && untracked.includes(path);
}
