/** What a write replaces, and no commit has yet: the user's own edits of the target are not lost by it. */
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid } from '../../names.ts';
import type { Install, WriteRecord } from '../../write/write.ts';
import { appendEntry } from '../line/append-entry.ts';
import { keepBytes } from '../line/keep-bytes.ts';
import { readLine } from '../line/read.ts';

/** On the line as a snapshot where the line or HEAD has the file, else under `refs/teddy/keep/writes/<id>`. */
export async function keepBase(
  project: Project,
  workspace: Workspace,
  record: WriteRecord,
  { ref }: Install,
): Promise<void> {
  const { store } = project.repository;
  const tip = await store.resolve(ref);
  if (tip === null || (await findEdit(project, workspace, tip, record)) === null) return;
  const { oid: head } = await workspace.head();
  const places = head === null ? [tip] : [tip, head];
  const known = await Promise.all(places.map((commit) => store.readFile(commit, record.target)));
  await (known.some((file) => file !== null) ? takeSnapshotOf : keepUntracked)(project, workspace, record, ref);
}

/** The tip's tree with the target as it is on disk; null: it is so already. */
async function findEdit(
  { repository: { store } }: Project,
  workspace: Workspace,
  tip: Oid,
  { target }: WriteRecord,
): Promise<Oid | null> {
  const { tree } = await store.readCommit(tip);
  const edited = await workspace.treeOfPaths(tree, [target]);
  return edited === tree ? null : edited;
}

async function takeSnapshotOf(
  project: Project,
  workspace: Workspace,
  record: WriteRecord,
  ref: Install['ref'],
): Promise<void> {
  const isHead = (await workspace.head()).ref === ref;
  await appendEntry(project, { ref, workspace: isHead ? workspace : null }, async (tip) => {
    const codeTree = await findEdit(project, workspace, tip, record);
    const { session, entry } = await readLine(project.repository.store, tip);
    const id = project.ids.entryId();
    const title = "1 file of the user's own edits";
    return {
      entry: { kind: 'snapshot', session, turn: null, id, created: entry.created, title, details: [record.target] },
      files: [],
      ...(codeTree === null ? {} : { codeTree }),
    };
  });
  project.notices.info(`Your own edits of ${record.target} are committed as a snapshot.`);
}

async function keepUntracked(project: Project, workspace: Workspace, { id, target }: WriteRecord): Promise<void> {
  const found = await project.filesOf(workspace.root).inspect(target);
  if (found.kind !== 'file') return;
  const oid = await keepBytes(project, `writes/${id}`, found.bytes);
  project.notices.info(`${target} was in no commit; what it held is kept: \`git cat-file -p ${oid.slice(0, 10)}\`.`);
}
