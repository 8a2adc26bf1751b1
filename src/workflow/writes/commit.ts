/** Makes a write session's only entry: exactly its target, with labels for the content's origin. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import type { Oid } from '../../names.ts';
import type { Install, ValidationSummary, WriteRecord } from '../../write/write.ts';
import { append, type Draft } from '../line/append.ts';
import type { LineState } from '../../view/view.ts';
import { inspectTarget, type TargetBase } from './inspect-target.ts';
import { isInPlace, requireBase, targetChangedError } from './install.ts';

/**
 * Commits the session's entry unless the line already contains it, and returns the commit. Returns null when the
 * session began without a work tree, which would contain the content, and there is no `final`. Throws TARGET_CHANGED
 * when the target differs from the installed content.
 */
export async function commitWrite(
  project: Project,
  place: TargetBase,
  record: WriteRecord,
  install: Install,
  final: Uint8Array | null,
): Promise<Oid | null> {
  const { store } = project.repository;
  const known = await findCommitted(project, record, install);
  if (known !== null) return known;
  if (record.root === null && final === null) return null;
  if (typeof place === 'string') return commitOnTip(project, record, install, final ?? new Uint8Array());
  const workspace = place;
  const isHead = (await workspace.head()).ref === install.ref;
  const target = { ref: install.ref, workspace: isHead ? workspace : null };
  const { commit } = await append(project, target, async (state) => {
    const found = await inspectTarget(project, workspace, record.target);
    if (!isInPlace(project, record, install.sha256, found)) throw targetChangedError(record);
    const { tree } = await store.readCommit(state.tip);
    const code = { tree: await workspace.treeOfPaths(tree, [record.target]) };
    return [{ ...toDraft(state, record, install, found.bytes?.length ?? 0), code }];
  });
  return commit;
}

async function commitOnTip(project: Project, record: WriteRecord, install: Install, final: Uint8Array): Promise<Oid> {
  const { commit } = await append(project, { ref: install.ref, workspace: null }, async (state) => {
    const target = await inspectTarget(project, state.tip, record.target);
    requireBase(project, record, target);
    const file = { path: record.target, bytes: final, executable: ((target.mode ?? 0) & 0o100) !== 0 };
    return [{ ...toDraft(state, record, install, final.length), code: { files: [file] } }];
  });
  return commit;
}

/** Finds the entry after a crash that happened once the line had moved. */
async function findCommitted(project: Project, { id }: WriteRecord, { ref, tip }: Install): Promise<Oid | null> {
  const { store } = project.repository;
  const newest = await store.resolve(ref);
  if (newest === null)
    throw new TeddyError(
      'REF_MOVED',
      `${ref.replace('refs/heads/', '')}, where the entry belongs, is gone.`,
      'The file is in place; `git reflog` shows where the branch was.',
    );
  if (newest === tip) return null;
  for await (const { oid, commit } of store.firstParents(newest, tip === null ? [] : [tip])) {
    if (decodeEntry(commit.message)?.write?.id === id) return oid;
  }
  return null;
}

function toDraft(state: LineState, record: WriteRecord, { sha256, summary }: Install, size: number): Draft {
  const { id, intent, operation, target, writer } = record;
  const isOpen = state.latest !== null && state.latest.status !== 'closed';
  const validation = describeValidation(summary);
  return {
    kind: 'write',
    turn: isOpen ? (state.latest?.turn ?? null) : null,
    label: {
      title: `${operation} ${target}`,
      details: [intent, `${size} bytes`],
    },
    trailers: { sha256, ...writer, write: { id, intent, validation } },
  };
}

/** Describes, in the entry's label, the checks made and the findings accepted. */
export function describeValidation({ passed, failed, skipped }: ValidationSummary): string {
  const parts = [
    ...(failed.length === 0 ? [] : [`forced: ${failed.join(', ')}`]),
    ...(passed.length === 0 ? [] : [`passed: ${passed.join(', ')}`]),
    ...(skipped.length === 0 ? [] : [`skipped: ${skipped.map(({ check }) => check).join(', ')}`]),
  ];
  return parts.length === 0 ? 'not checked' : parts.join('; ');
}
