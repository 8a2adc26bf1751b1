/** Ends a write session: checks its content, installs it at its target, and commits it, each exactly once. */
import { isDiskError, unknownWriteError } from '../../write/write-errors.ts';
import { TeddyError } from '../../errors.ts';
import { shortRef, type RepoPath } from '../../names.ts';
import type { Project } from '../../ports/project.ts';
import type { Effect, Event } from '../../write/step.ts';
import {
  isOver,
  type Finding,
  type Install,
  type ValidationSummary,
  type WriteRecord,
  type WriteResult,
} from '../../write/write.ts';
import { keepBytes } from '../line/keep-bytes.ts';
import { replaceContent } from './append.ts';
import { commitWrite } from './commit.ts';
import { findWritesLine, openTarget } from './find-target.ts';
import { dispatch, readContent, saveWrite, withWrite, type HeldWrite } from './held.ts';
import { inspectTarget, type TargetBase } from './inspect-target.ts';
import { installWrite, requireBase, targetChangedError } from './install.ts';
import { findChecker, findCheckers } from './run-checker.ts';
import { renderFindings } from '../../write/render-findings.ts';
import { validateContent, type Validation, type Validators } from '../../write/validate.ts';
import { maskString } from '../line/mask-text.ts';

export interface FinalizeRequest {
  id: string;
  /** Replaces all of the received content. */
  content?: Uint8Array | undefined;
  /** True to accept every finding, so that the content is written unchanged. */
  force?: boolean | undefined;
  /** Stops the user's checkers. */
  signal?: AbortSignal | undefined;
}

export type Finalized =
  | { isWritten: true; record: WriteRecord; result: WriteResult }
  | {
      isWritten: false;
      record: WriteRecord;
      findings: Finding[];
      summary: ValidationSummary;
      /** Describes all findings to the writer. */
      message: string;
      /** The reason why teddy accepts no further correction; null when it accepts one. The content stays in staging. */
      reason: string | null;
      /** True when the user declined the change; staging no longer contains the content. */
      isDeclined: boolean;
    };

/** A checked change to a file, not yet installed. */
interface CheckedChange {
  path: RepoPath;
  /** Null for a new file. */
  before: Uint8Array | null;
  after: Uint8Array;
}

/** Returns true to install the change, false to give the session up. */
export type ApproveChange = (change: CheckedChange) => Promise<boolean>;

export interface FinalizeOptions extends Pick<FinalizeRequest, 'force' | 'signal'> {
  isOfModel?: boolean;
  /** Defaults to approving every change. */
  approve?: ApproveChange | undefined;
}

/**
 * Finalizes a session. Finalizing again with the same content returns the same result and makes no second commit.
 * Throws UNKNOWN_WRITE, VALIDATION_FAILED for empty content, TARGET_CHANGED, NOT_ON_LINE, CONTENT_TOO_LARGE, DISK_FULL
 * or WRITE_FAILED; in these cases the received content stays in staging.
 */
export async function finalizeWrite(project: Project, request: FinalizeRequest): Promise<Finalized> {
  return withWrite(
    project,
    request.id,
    async (held) => {
      const known = answerAgain(project, held, request.content);
      if (known !== null) return known;
      if (request.content?.length === 0) throw emptyContentError();
      if (request.content !== undefined && !isBeingInstalled(project, held, request.content)) {
        await replaceContent(project, held, request.content);
      }
      return finalizeHeld(project, held, request);
    },
    { accepts: ['committed'] },
  );
}

function answerAgain(project: Project, held: HeldWrite, content: Uint8Array | undefined): Finalized | null {
  const { result } = held.write.state;
  if (result === null) return null;
  if (content !== undefined && project.hash(content) !== result.contentSha256) throw unknownWriteError();
  return { isWritten: true, record: held.record, result };
}

/** Repeating a call that stopped while it was replacing the target resumes it. */
function isBeingInstalled(project: Project, { write }: HeldWrite, content: Uint8Array): boolean {
  const { phase, install } = write.state;
  return (phase === 'installing' || phase === 'installed') && install?.contentSha256 === project.hash(content);
}

interface Validated extends Validation {
  /** Describes all findings to the writer; empty when there are none. */
  message: string;
}

interface Finalizing {
  project: Project;
  held: HeldWrite;
  place: TargetBase;
  force: boolean;
  isOfModel: boolean;
  signal: AbortSignal | undefined;
  approve: ApproveChange | undefined;
  validated: Validated | null;
}

/** Finalizes a session that the caller has open, with content that may be only in memory. */
export async function finalizeHeld(
  project: Project,
  held: HeldWrite,
  { force = false, isOfModel = false, signal, approve }: FinalizeOptions = {},
): Promise<Finalized> {
  if (held.write.state.size === 0) throw emptyContentError();
  const place = await openTarget(project, held).catch(async (error: unknown) => {
    // The process that resumes the session must be able to see that its content is complete.
    if (isOfModel) dispatch(held, { type: 'done', atMs: now(project) });
    if (isOfModel) await saveWrite(project, held);
    throw error;
  });
  const run: Finalizing = { project, held, place, force, isOfModel, signal, approve, validated: null };
  const effects = dispatch(held, { type: 'done', atMs: now(project) });
  try {
    for (let effect = effects.shift(); effect !== undefined; effect = effects.shift()) {
      const event = await performOrRefuse(run, effect);
      if (event !== null) effects.push(...dispatch(held, event));
    }
  } catch (error) {
    throw withRecoveryHint(held, error);
  }
  return toFinalized(run);
}

/** Adds a hint on how to recover the staged content, whatever made the call stop. */
function withRecoveryHint({ record, write, savedBytes, isReplaced }: HeldWrite, error: unknown): unknown {
  if (!(error instanceof TeddyError) || isOver(write.state.phase)) return error;
  const lost = write.state.size - (isReplaced ? 0 : savedBytes);
  const hint =
    lost > 0
      ? `The last ${lost} bytes of the content were only in memory: send it again. \`teddy write list\` shows the rest.`
      : `The received content is kept. Once the problem is fixed: \`teddy write recover ${record.id} --finalize\`.`;
  return new TeddyError(error.code, error.message, hint, { cause: error });
}

function emptyContentError(): TeddyError {
  return new TeddyError(
    'VALIDATION_FAILED',
    'Validation failed: content cannot be empty',
    'Send the content first, or cancel the session.',
  );
}

/** Ends the session when its target has changed; the content stays in staging. */
async function performOrRefuse(run: Finalizing, effect: Effect): Promise<Event | null> {
  try {
    return await perform(run, effect);
  } catch (error) {
    // The target was writable when the session began.
    const isChanged = error instanceof TeddyError && ['TARGET_CHANGED', 'BAD_TARGET'].includes(error.code);
    if (!isChanged) throw error;
    const changed = targetChangedError(run.held.record);
    dispatch(run.held, { type: 'refused', reason: changed.message });
    await saveWrite(run.project, run.held);
    throw changed;
  }
}

async function perform(run: Finalizing, effect: Effect): Promise<Event | null> {
  const { project, held, place } = run;
  const final = run.validated?.final ?? null;
  switch (effect) {
    case 'save':
      // The file is committed even if saving this state fails.
      if (held.write.state.phase !== 'committed') await saveWrite(project, held);
      else await warnIfRefused(project, held, () => held.staged.save(new Uint8Array(), held.write.state));
      return null;
    case 'validate':
      return validate(run);
    case 'install':
      return { type: await installWrite(project, place, held.record, installOf(held), final) };
    case 'commit': {
      const commit = await commitWrite(project, place, held.record, installOf(held), final);
      return commit === null ? { type: 'unprepared' } : { type: 'committed', commit };
    }
    case 'discard':
      await discardContent(project, held);
      return null;
    case 'prompt':
      return null;
  }
}

async function validate(run: Finalizing): Promise<Event> {
  const { project, held, place, force } = run;
  const { record } = held;
  const content = await readContent(held);
  const base = await inspectTarget(project, place, record.target);
  requireBase(project, record, base);
  run.validated = await runChecks(run, content, base.bytes, false);
  if (run.validated.findings.some(({ check }) => check === 'utf-8') && isLastTry(held, run.validated)) {
    run.validated = await runChecks(run, content, base.bytes, true);
  }
  const { findings } = run.validated;
  const isForced = force || held.write.state.install?.isForced === true;
  if (findings.length > 0 && !isForced)
    return { type: 'rejected', findings, isOfModel: run.isOfModel, atMs: now(project) };
  const { final } = run.validated;
  const isApproved = (await run.approve?.({ path: record.target, before: base.bytes, after: final })) ?? true;
  if (!isApproved) return { type: 'cancel' };
  const install = await toInstall(project, held.record, content, run.validated, findings.length > 0);
  return { type: 'accepted', install, atMs: now(project) };
}

async function runChecks(
  { project, held, place, signal }: Finalizing,
  content: Uint8Array,
  base: Uint8Array | null,
  repair: boolean,
): Promise<Validated> {
  const { masker, syntax } = project;
  const { target: path, operation } = held.record;
  const { limits } = held.write;
  const validation = await validateContent(
    { path, operation, content, base },
    {
      syntax,
      findSecrets: async (text, at) => (await masker.mask(text, at)).found,
      runChecker:
        typeof place === 'string' ? await skipChecker(project, path) : await findChecker(project, place, path, signal),
    },
    { repair },
  );
  // The message quotes lines from the content, and is sent to a model, a log or a terminal.
  const message = await maskString(masker, renderFindings(validation.findings, content, limits));
  const findings: Finding[] = [];
  for (const finding of validation.findings.slice(0, limits.maxFindings))
    findings.push({ ...finding, message: await maskString(masker, finding.message) });
  return { ...validation, findings, message };
}

async function skipChecker(project: Project, path: RepoPath): Promise<Validators['runChecker']> {
  const skipped = 'a checker runs in a work tree, and none has the branch checked out';
  return (await findCheckers(project, path)).length === 0 ? null : async () => ({ skipped });
}

/** After the last correction, teddy repairs the content if it can do so mechanically. */
function isLastTry({ write }: HeldWrite, { findings }: Validated): boolean {
  const { validations, findings: before } = write.state;
  const isRepeated = validations > 0 && JSON.stringify(findings) === JSON.stringify(before);
  return isRepeated || validations + 1 >= write.limits.maxValidations;
}

async function toInstall(
  project: Project,
  record: WriteRecord,
  content: Uint8Array,
  { final, summary, notes }: Validated,
  isForced: boolean,
): Promise<Install> {
  const { ref, session } = record.line ?? (await findWritesLine(project));
  const sha256 = project.hash(final);
  return {
    sha256,
    contentSha256: final === content ? sha256 : project.hash(content),
    tip: await project.repository.store.resolve(ref),
    ref,
    session,
    summary,
    notes: [...notes, ...describePlace(record, shortRef(ref), project.repository.workspace?.root ?? null)],
    isForced,
  };
}

/**
 * The user looks for the file in their own work tree and expects the commit on their own branch, so the text names any
 * other place.
 */
function describePlace({ line, root }: WriteRecord, branch: string, here: string | null): string[] {
  if (line === null)
    return [
      `The commit is on ${branch} because HEAD is not on a session's branch; here, git shows the file as an uncommitted change.`,
    ];
  if (root === null) return [`The file is on ${branch}, which no work tree had checked out when the write began.`];
  return root === here ? [] : [`The file is in ${root}, where ${branch} is checked out.`];
}

function installOf({ write }: HeldWrite): Install {
  if (write.state.install === null) throw new Error('Nothing was accepted yet.');
  return write.state.install;
}

function toFinalized({ held, validated }: Finalizing): Finalized {
  const { record, write } = held;
  if (write.state.result !== null) return { isWritten: true, record, result: write.state.result };
  if (validated === null) throw new Error('A session ends with a result, or with findings.');
  const { findings, summary, message } = validated;
  const { phase, reason } = write.state;
  return { isWritten: false, record, findings, summary, message, reason, isDeclined: phase === 'cancelled' };
}

function now(project: Project): number {
  return project.clock.now().getTime();
}

/** Removes the content, and only warns when that fails. */
async function discardContent(project: Project, held: HeldWrite): Promise<void> {
  await keepTails(project, held);
  // Without its record, teddy would again offer a session whose commit is not on disk yet.
  const isTold = held.staged.state.phase === 'committed';
  await warnIfRefused(project, held, () => (isTold ? held.staged.dropContent() : held.staged.remove()));
}

async function warnIfRefused(project: Project, held: HeldWrite, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!isDiskError(error)) throw error;
    if (!held.isFailing) project.notices.warn(`${held.record.target} is committed, but: ${error.message}`);
    held.isFailing = true;
  }
}

/** Keeps the bytes that no save has confirmed, because no commit contains them. */
async function keepTails(project: Project, { record }: HeldWrite): Promise<void> {
  for (const { bytes } of await project.writes.readTails(record.id)) {
    const oid = await keepBytes(project, `writes/${record.id}`, bytes);
    project.notices.info(
      `${bytes.length} bytes that no save had confirmed are kept: \`git cat-file -p ${oid.slice(0, 10)}\`.`,
    );
  }
}
