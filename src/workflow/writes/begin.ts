/** Begins a write session, and refuses everything that can be refused before any content arrives. */
import type { NewWrite } from '../../ports/disk.ts';
import type { Project } from '../../ports/project.ts';
import { hasBareMarker, toOwnMarker } from '../../write/end-marker.ts';
import { initialState, type WriteRecord, type WriteState } from '../../write/write.ts';
import { explainCollision } from '../../session/paths/twin-names.ts';
import { maskString } from '../line/mask-text.ts';
import { findTarget } from './find-target.ts';
import { dispatch, holdWrite, readWriteLimits, type HeldWrite } from './held.ts';
import {
  describeBase,
  badTargetError,
  findTwinAt,
  inspectTarget,
  parseOperation,
  parseTarget,
  parseTargetIn,
  refuseMismatch,
  refusePartlyStaged,
} from './inspect-target.ts';

const usualMarker = 'DONE';

export interface WriteRequest {
  intent: string;
  /** The path as typed: relative to the root, or absolute. */
  target: string;
  operation: string;
  /** A session ID or a unique part of it, a branch, or a session directory; defaults to HEAD's line. */
  session?: string | undefined;
  /** True when the request could have named a session but did not; only one such session may be open at a time. */
  isUnnamed?: boolean;
  /**
   * True to choose an end marker that does not occur in content: `DONE-<8 hex>`. teddy always does so for a target with
   * a line DONE.
   */
  ownMarker?: boolean | undefined;
  /**
   * True when this process receives the content itself, so that the session becomes orphaned when the process ends.
   * Defaults to false.
   */
  hasController?: boolean;
}

export interface Begun {
  record: WriteRecord;
  state: WriteState;
  /** The absolute path of the session's staging directory. */
  directory: string;
  /** Instructions for the writer. */
  instructions: string;
  warnings: string[];
}

/**
 * Throws BAD_TARGET, BAD_OPERATION, FILES_IN_THE_WAY (`create` for an existing file), FILE_NOT_FOUND (`append` to a
 * missing file), PARTIALLY_STAGED, WRITE_ACTIVE, and any error that keeps a line from accepting an entry.
 */
export async function beginWrite(project: Project, request: WriteRequest): Promise<Begun> {
  const { begun, held } = await beginHeldWrite(project, request);
  await held.staged.close({ goesOn: true });
  return begun;
}

/** Begins a session for a controller, which keeps the session open until it closes `held.staged`. */
export async function beginHeldWrite(
  project: Project,
  request: WriteRequest,
): Promise<{ begun: Begun; held: HeldWrite }> {
  const { record: wanted, warnings } = await toRecord(project, request);
  const limits = await readWriteLimits(project);
  const nowMs = project.clock.now().getTime();
  const staged = await project.writes.begin(wanted, initialState(nowMs), limits);
  const { record } = staged;
  const directory = project.writes.directoryOf(record.id);
  const held = holdWrite(staged, limits, nowMs);
  return { begun: { record, state: staged.state, directory, instructions: toInstructions(record), warnings }, held };
}

/** Returns instructions for the writer. */
export function toInstructions({ endMarker }: WriteRecord): string {
  return `Now output content. End with ${endMarker} on its own line.`;
}

/** Gives up a session that has no content yet, and removes every trace. */
export async function dropHeldWrite(held: HeldWrite): Promise<void> {
  dispatch(held, { type: 'cancel' });
  await held.staged.remove();
}

async function toRecord(project: Project, request: WriteRequest): Promise<{ record: NewWrite; warnings: string[] }> {
  const here = project.repository.workspace?.root ?? null;
  parseTarget(request.target, here ?? '');
  const operation = parseOperation(request.operation);
  const { place, line } = await findTarget(project, request.session);
  const workspace = typeof place === 'string' ? null : place;
  const wanted = await parseTargetIn(project, request.target, workspace?.root ?? here);
  const target = await inspectTarget(project, place, wanted);
  refuseMismatch(operation, target);
  const twin = target.bytes === null ? await findTwinAt(project, place, wanted) : null;
  const clash = explainCollision(wanted, twin);
  if (clash !== null) throw badTargetError(wanted, clash);
  if (line !== null && workspace !== null) await refusePartlyStaged(workspace, target.path);
  const warnings = [
    ...(operation === 'overwrite' && target.bytes === null
      ? [`There is no ${target.path} yet; it will be created.`]
      : []),
    ...(target.path === wanted ? [] : [`${wanted} is a link: ${target.path} will be written.`]),
  ];
  const id = project.ids.writeId();
  const isOwnWanted = request.ownMarker === true || (target.bytes !== null && hasBareMarker(target.bytes, usualMarker));
  const record: NewWrite = {
    id,
    intent: await maskString(project.masker, request.intent.trim()),
    target: target.path,
    operation,
    root: workspace?.root ?? null,
    isLinked: workspace !== null && (await project.repository.workTrees())[0]?.root !== workspace.root,
    line,
    ...(request.isUnnamed === true ? { isUnnamed: true } : {}),
    base: await describeBase(project, place, target),
    endMarker: isOwnWanted ? toOwnMarker(id.slice(0, 8)) : usualMarker,
    begunAt: project.clock.now().toISOString(),
    hasController: request.hasController === true,
  };
  return { record, warnings };
}
