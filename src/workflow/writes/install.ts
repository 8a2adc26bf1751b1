/** Installs finished content at its target, if the target has not changed since the session began. */
import { TeddyError } from '../../errors.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Install, WriteRecord } from '../../write/write.ts';
import { inspectTarget, refusePartlyStaged, type TargetBase, type Target } from './inspect-target.ts';
import type { Oid } from '../../names.ts';
import { labelEdits } from '../line/entry-labels.ts';
import { append } from '../line/append.ts';
import { keepBytes } from '../line/keep-bytes.ts';

/**
 * Returns `unprepared` when the target has not changed and there is no `final` to install. Without a work tree,
 * installs nothing; the content only needs a commit.
 */
export async function installWrite(
  project: Project,
  place: TargetBase,
  record: WriteRecord,
  install: Install,
  final: Uint8Array | null,
): Promise<'installed' | 'unprepared'> {
  const { sha256 } = install;
  const target = await inspectTarget(project, place, record.target);
  if (typeof place === 'string') {
    requireBase(project, record, target);
    return final === null ? 'unprepared' : 'installed';
  }
  const workspace = place;
  const files = project.filesOf(workspace.root);
  // teddy crashed after the installation.
  if (isInPlace(project, record, sha256, target)) {
    await files.removeLeftovers(record.target);
    return 'installed';
  }
  requireBase(project, record, target);
  if (final === null) {
    await files.removeLeftovers(record.target);
    return 'unprepared';
  }
  if (record.line !== null) await refusePartlyStaged(workspace, record.target);
  if (record.base !== null) await keepBase(project, workspace, record, install);
  if (record.base !== null) await files.install(record.target, final);
  else if ((await files.installNew(record.target, final)) === 'exists') throw targetChangedError(record);
  return 'installed';
}

/** Throws TARGET_CHANGED. */
export function requireBase(project: Project, record: WriteRecord, { path, bytes }: Target): void {
  const sha256 = bytes === null ? null : project.hash(bytes);
  // A link created since then would lead to another file.
  if (path !== record.target || sha256 !== (record.base?.sha256 ?? null)) throw targetChangedError(record);
}

/** Returns true if the target already has the content to install, at its own path. */
export function isInPlace(project: Project, { target }: WriteRecord, sha256: string, { path, bytes }: Target): boolean {
  return path === target && bytes !== null && project.hash(bytes) === sha256;
}

export function targetChangedError({ id, target }: WriteRecord): TeddyError {
  return new TeddyError(
    'TARGET_CHANGED',
    'Target changed since the session began.',
    `${target} was left unchanged. \`teddy write recover ${id} --output <file>\` writes the content elsewhere.`,
  );
}

/** Keeps the old file: as a snapshot when the line or HEAD contains the file, otherwise under `refs/teddy/keep/writes/<id>`. */
async function keepBase(project: Project, workspace: Workspace, record: WriteRecord, { ref }: Install): Promise<void> {
  const { store } = project.repository;
  const tip = await store.resolve(ref);
  if (tip === null || (await findEdit(project, workspace, tip, record)) === null) return;
  const { oid: head } = await workspace.head();
  const places = head === null ? [tip] : [tip, head];
  const known = await Promise.all(places.map((commit) => store.readFile(commit, record.target)));
  await (known.some((file) => file !== null) ? takeSnapshotOf : keepUntracked)(project, workspace, record, ref);
}

/** Returns the tip's tree with the target's version on disk; null when the tip already has that version. */
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
  await append(project, { ref, workspace: isHead ? workspace : null }, async ({ tip }) => {
    const tree = await findEdit(project, workspace, tip, record);
    return [{ kind: 'snapshot', label: labelEdits([record.target]), code: { tree } }];
  });
  project.notices.info(`Your own edits to ${record.target} are committed as a snapshot.`);
}

async function keepUntracked(project: Project, workspace: Workspace, { id, target }: WriteRecord): Promise<void> {
  const found = await project.filesOf(workspace.root).inspect(target);
  if (found.kind !== 'file') return;
  const oid = await keepBytes(project, `writes/${id}`, found.bytes);
  project.notices.info(
    `${target} was not in any commit; its old content is kept: \`git cat-file -p ${oid.slice(0, 10)}\`.`,
  );
}
