/** Lands a line's code on a branch, as one commit; the branch keeps its own `.teddy/`. */
import { userMessages } from '../../conversation/records/transcript.ts';
import { DamagedObjectError, TeddyError } from '../../errors.ts';
import type { Store, TreeChange, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import { codeKinds } from '../../session/lines/line-order.ts';
import { encodeLanding, type LandedFrom, type LostCode } from '../../session/lines/landing.ts';
import { parseArchiveRef, shortRef, type Oid, type RefName, type SessionId, type TurnName } from '../../names.ts';
import { nameEdits, nameSome, type OwnEdit } from '../../session/text/name-some.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { maskMessage } from '../line/mask-text.ts';
import { repair } from '../line/repair.ts';
import { refuseOperation } from '../line/refuse-operation.ts';
import { findOtherWithCode } from '../line/find-open.ts';
import { findCommit } from '../line/find-committed.ts';
import { gitCommandFor } from '../line/switch.ts';
import { findRecorded } from '../line/find-recorded.ts';
import { refuseRunsIn } from '../line/unfinished-run.ts';
import { addAuthorshipNote, type AuthorshipNote } from './authorship-log.ts';
import { askForFreshBranch, chooseTarget, type LandingTarget } from './choose-target.ts';
import {
  describeLanding,
  discloseModels,
  type LandingParts,
  readParts,
  takeOff,
  reportBehind,
  reportBrought,
} from './describe.ts';
import { findLandingBase, type LandingBase } from './find-base.ts';
import { toArchiveCommand } from '../line/way-to-line.ts';
import {
  keepArchive,
  toLandCommand,
  type LandRequest,
  type LandableLine,
  readSides,
  type LandingSides,
} from './landing.ts';
import { isSessionPath } from '../../session/global/global-files.ts';
import { readLine } from '../../view/view.ts';
import { moveRefs } from '../line/move-refs.ts';

export interface Landed {
  line: LandableLine;
  onto: RefName;
  /** The branch's previous tip; null when the landing created the branch. */
  before: Oid | null;
  /** Null after a dry run. */
  commit: Oid | null;
  /** True when an earlier, interrupted landing made the commit, and this call only completed the remaining steps. */
  wasCutOff: boolean;
  message: string;
  /** Other sessions whose code lands too, because the line is based on theirs. */
  along: SessionId[];
  /** The trailers in the message that disclose which models took part. */
  assistedBy: string[];
  changes: TreeChange[];
  ownEdits: OwnEdit[];
  /** Turns that land although their run did not succeed. `status` is the run's status. */
  failed: { turn: TurnName; status: string }[];
  /** The updated work tree; null when the branch is not checked out anywhere. */
  root: string | null;
  archive: RefName | null;
  /** The added authorship log; null when `teddy.notes` does not request one, or when no lines came from a model. */
  note: AuthorshipNote | null;
  /** The command that archives the line from the user's work tree; null when the line is already archived. */
  archiveCommand: string | null;
  /** The remote to push the branch to; null when none is configured. */
  remote: string | null;
  /** After a dry run, the reason why teddy would refuse the landing; null when nothing prevents it. */
  obstacle: TeddyError | null;
}

/** The number of times that others may move the branch in between. */
const maxAttempts = 5;

/**
 * Makes the commit durable before moving the branch, then writes the archive, then the authorship log; if a landing is
 * interrupted in between, the next one finishes it. Throws BAD_SETTING, UNKNOWN_BRANCH, UNKNOWN_COMMIT,
 * NOTHING_TO_LAND, OWN_EDITS, LAND_CONFLICT, FILES_IN_THE_WAY, OPERATION_IN_PROGRESS or REF_MOVED; in these cases no
 * ref except the archive moves.
 */
export async function landSession(project: Project, asked: LandRequest): Promise<Landed> {
  if (asked.message?.trim() === '') throw emptyMessageError();
  const request = await maskMessage(project, asked);
  await project.repository.store.ident();
  const hasNote = (await project.settings.get('notes')) === 'git-ai';
  const line = await findLandable(project, request.target);
  await reportUnlanded(project, line);
  if (request.onto === undefined && request.isDryRun !== true)
    request.onto = (await askForFreshBranch(project, line)) ?? undefined;
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const landed = await landOnce(project, line, request, { isFirst: attempt === 1, hasNote });
    if (landed !== 'moved') return landed;
  }
  throw toMoved(line);
}

function emptyMessageError(): TeddyError {
  return new TeddyError(
    'EMPTY_MESSAGE',
    'The message is empty.',
    'Leave out -m to have a message made from the turns.',
  );
}

export async function findLandable(project: Project, target?: string): Promise<LandableLine> {
  await repair(project);
  const { session, name, ref, tip, after } = await findRecorded(project, target, { appends: true });
  if (ref !== null && after === null) return { session, name, ref, tip };
  const hint = 'Name a session or a branch: `teddy list` shows them.';
  throw new TeddyError(
    'USAGE',
    `${name} is not a session's branch, and only the code at the tip of a session's branch can be landed.`,
    hint,
  );
}

async function landOnce(
  project: Project,
  line: LandableLine,
  request: LandRequest,
  { isFirst, hasNote }: { isFirst: boolean; hasNote: boolean },
): Promise<Landed | 'moved'> {
  const target = await chooseTarget(project, line, request);
  const workspace = await openTarget(project, target);
  const base = await findLandingBase(project, line, target);
  if (isFirst) await reportBehind(project, target, workspace?.root ?? null);
  if (isFirst) await reportBrought(project, line, target, base.oid);
  const sides = await readSides(project.repository.store, { base: base.oid, target: target.tip, tip: line.tip });
  const along = await findAlong(project, line, base.oid);
  const assistedBy = await discloseModels(project, line, base.oid);
  const parts = await readParts(project, line, base.oid, sides);
  const isEdited = request.edit !== undefined && request.isDryRun !== true;
  const text = await composeMessage(project, describeLanding(line, parts), request);
  const message = encodeLanding(text, [{ session: line.session, tip: line.tip }, ...along], assistedBy);
  const place = { line, target, workspace, base, sides, message, hasNote, isDryRun: request.isDryRun === true };
  const tree = await mergeSides(project, place, request);
  const finished = tree === null && base.takenBack === null ? await finishLanding(project, place) : null;
  if (tree === null && finished === null) throw await toNothing(project, place, request);
  if (isFirst && base.lost !== null && base.takenBack === null)
    project.notices.warn(toLost(project, place, base.lost).join(' '));
  const changes = tree === null ? [] : await project.repository.store.diffTrees(target.tip, tree);
  await requireContents(project.repository.store, changes);
  const isAsked = tree !== null && !place.isDryRun && (await askForOwnEdits(project, line, parts, request));
  // Meanwhile a work tree may have switched to the branch, or a merge or a run may have begun in its files.
  if (isAsked || (isEdited && tree !== null)) return 'moved';
  const landed = {
    line,
    onto: target.ref,
    before: target.current,
    commit: null,
    wasCutOff: false,
    message,
    along: along.map(({ session }) => session),
    assistedBy,
    changes,
    ownEdits: tree === null ? [] : parts.ownEdits,
    failed: parts.turns.flatMap(({ turn, failed: status }) =>
      tree === null || status === null ? [] : [{ turn, status }],
    ),
    root: workspace?.root ?? null,
    archive: null,
    note: null,
    archiveCommand: isArchived(line) ? null : await toArchiveCommand(project, line),
    remote: await findRemote(project, target.ref),
    obstacle: tree !== null && place.isDryRun ? await findObstacle(project, place, parts, request, tree) : null,
  };
  if (finished !== null) return { ...landed, ...finished };
  if (request.isDryRun || tree === null) return landed;
  const commit = await publish(project, place, tree);
  if (commit === 'moved') return 'moved';
  reportOthers(project, place);
  const archive = await keepArchive(project, line);
  return { ...landed, commit, archive: archive?.ref ?? null, note: await discloseLines(project, place, commit) };
}

/** Returns the first error that a landing would encounter. Does not ask the user anything. */
async function findObstacle(
  project: Project,
  { line, workspace }: Landing,
  parts: LandingParts,
  dry: LandRequest,
  tree: Oid,
): Promise<TeddyError | null> {
  const request = { ...dry, isDryRun: false };
  const canAsk = project.notices.confirm !== undefined;
  const early = listEarly(parts, request);
  if (canAsk && early.length > 0)
    project.notices.info(`Landing asks about ${nameEarly(early)}, unless you pass --with-own-edits.`);
  try {
    if (!canAsk) await chooseTarget(project, line, request);
    if (!canAsk) await askForOwnEdits(project, line, parts, request);
    await workspace?.rehearse(tree);
    return null;
  } catch (error) {
    if (error instanceof TeddyError) return error;
    throw error;
  }
}

/** Lists edits from before the first message that nobody has approved. */
function listEarly({ ownEdits }: LandingParts, { withOwnEdits }: LandRequest): OwnEdit[] {
  return withOwnEdits === true ? [] : ownEdits.filter(({ isEarly }) => isEarly);
}

function nameEarly(early: readonly OwnEdit[]): string {
  return nameEdits(early, (names) => `your own edits to ${names}`).join(' and ');
}

/** When only one side changed a file, git merges it by its object ID, even when this clone lacks its content. */
async function requireContents(store: Store, changes: readonly TreeChange[]): Promise<void> {
  for (const { path, after, mode } of changes)
    if (after !== null && mode !== '160000' && (await store.readSize(after)) === null)
      throw new DamagedObjectError(`${path} (${after}) is missing here. Nothing was landed.`, 'See `teddy doctor`.');
}

/** Adds the authorship log; the landing remains valid even if that fails. */
async function discloseLines(
  project: Project,
  { line, target, hasNote }: Landing,
  commit: Oid,
): Promise<AuthorshipNote | null> {
  if (!hasNote) return null;
  try {
    return await addAuthorshipNote(project, commit);
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    const again = toLandCommand(line.name, {}, { onto: shortRef(target.ref) });
    project.notices.warn(`The landing has no authorship log: ${error.message} To add it: \`${again}\``);
    return null;
  }
}

/** Returns the last entry of each other session whose code the line includes. */
async function findAlong(
  { repository: { store } }: Project,
  { session, tip }: LandableLine,
  base: Oid | null,
): Promise<LandedFrom[]> {
  const last = new Map<SessionId, Oid>();
  const withCode = new Set<SessionId>();
  for await (const { oid, commit } of store.firstParents(tip, base === null ? [] : [base])) {
    const entry = decodeEntry(commit.message);
    if (entry === null || entry.session === session) continue;
    if (!last.has(entry.session)) last.set(entry.session, oid);
    if (codeKinds.includes(entry.kind)) withCode.add(entry.session);
  }
  return [...last].filter(([other]) => withCode.has(other)).map(([other, oid]) => ({ session: other, tip: oid }));
}

/** Lets the user edit the message once, however often the branch moves meanwhile. */
async function composeMessage(project: Project, made: string, request: LandRequest): Promise<string> {
  const text = request.message ?? made;
  if (request.edit === undefined || request.isDryRun === true) return text;
  const edited = await request.edit(text);
  if (edited.trim() === '') throw emptyMessageError();
  const { message } = await maskMessage(project, { message: edited });
  Object.assign(request, { message, edit: undefined });
  return message;
}

/**
 * Asks about edits from before the first message, which the user may intend for another commit. Returns true when it
 * asked the user, which happens only once.
 */
async function askForOwnEdits(
  project: Project,
  line: LandableLine,
  parts: LandingParts,
  request: LandRequest,
): Promise<boolean> {
  const early = listEarly(parts, request);
  if (early.length === 0) return false;
  for (const { turn, failed } of parts.turns)
    if (failed !== null) project.notices.warn(`The run of turn ${turn} ended in ${failed}.`);
  const what = `${line.name} has ${nameEarly(early)} from before its first message`;
  if ((await project.notices.confirm?.(`${what}. Land them too?`)) === true) {
    request.withOwnEdits = true;
    return true;
  }
  const command = toLandCommand(line.name, request, { withOwnEdits: true });
  throw new TeddyError(
    'OWN_EDITS',
    `${what}. Nothing was landed.`,
    `To land them too: \`${command}\`${await adviseLeavingOut(project, line, parts.early)}`,
  );
}

/** Edits reverted on the line remain only in its history. */
async function adviseLeavingOut({ repository }: Project, line: LandableLine, early: readonly Oid[]): Promise<string> {
  if (!line.ref.startsWith('refs/heads/')) return '';
  const holder = (await repository.workTrees()).find(({ ref }) => ref === line.ref);
  const git = gitCommandFor({ repository }, line.ref, holder?.root ?? null);
  const ends = await Promise.all(early.map((oid) => takeOff(repository.store, line.tip, oid)));
  const resolve = ends.includes('conflict') ? ' (resolve, `git add` the files, `git revert --continue`)' : '';
  const oids = early.map((oid) => oid.slice(0, 10)).join(' ');
  return `. To leave them out: \`${git} revert --no-edit ${oids}\`${resolve} removes them from ${line.name}, and then land again.`;
}

async function findRemote({ repository: { store } }: Project, ref: RefName): Promise<string | null> {
  const configured = await store.setting(`branch.${shortRef(ref)}.remote`);
  return configured ?? ((await store.setting('remote.origin.url')) === undefined ? null : 'origin');
}

interface Landing {
  line: LandableLine;
  target: LandingTarget;
  /** The target's work tree; null when the target is not checked out anywhere. */
  workspace: Workspace | null;
  base: LandingBase;
  sides: LandingSides;
  message: string;
  /** True when the commit should get an authorship log. */
  hasNote: boolean;
  isDryRun: boolean;
}

async function openTarget(project: Project, { ref }: LandingTarget): Promise<Workspace | null> {
  const { repository } = project;
  const tree = (await repository.workTrees()).find((one) => one.ref === ref);
  const workspace = tree === undefined ? null : await repository.openWorkspace(tree.root);
  await repair(project, workspace);
  const looked = workspace ?? repository.workspace;
  if (looked) await refuseOperation(looked, ref, repository.workspace?.root ?? '');
  if (workspace) await refuseRunsIn(project, workspace);
  return workspace;
}

/** Returns null when nothing is new. */
async function mergeSides(project: Project, landing: Landing, request: LandRequest): Promise<Oid | null> {
  const { store } = project.repository;
  const { base, ours, theirs } = landing.sides;
  if (base === theirs) return null;
  const { tree, conflicts } = await store.mergeTrees(base, ours, theirs);
  if (tree === null) {
    // When the branch continues code that its user committed from the line, that is not a conflict.
    const commit = await findCommit(project, { ...landing.line, oid: landing.line.tip });
    throw commit === null ? await toConflict(project, landing, conflicts) : await toNothing(project, landing, request);
  }
  return tree === ours ? null : tree;
}

async function publish(project: Project, landing: Landing, tree: Oid): Promise<Oid | 'moved'> {
  const { store } = project.repository;
  const { line, target, workspace, message } = landing;
  const batch = store.batch();
  const parents = target.tip === null ? [] : [target.tip];
  const commit = await batch.commit({ tree, parents, ...(await store.ident()), message });
  await batch.flush();
  const holder = (await project.repository.workTrees()).find(({ ref }) => ref === target.ref);
  if (holder?.root !== workspace?.root) return 'moved';
  if (workspace) return forward(store, workspace, target.ref, commit);
  const move = { ref: target.ref, old: target.current, new: commit };
  return (await moveRefs(project, [move], `landed ${line.name}`)) ? commit : 'moved';
}

async function forward(store: Store, workspace: Workspace, ref: RefName, commit: Oid): Promise<Oid | 'moved'> {
  if ((await workspace.head()).ref !== ref) return 'moved';
  try {
    await workspace.fastForward(commit);
  } catch (error) {
    if (error instanceof TeddyError && error.code === 'REF_MOVED') return 'moved';
    throw error;
  }
  // git moves the branch that HEAD points to at this moment; somebody may have continued that branch already.
  const tip = await store.resolve(ref);
  return tip !== null && (await store.isAncestor(commit, tip)) ? commit : 'moved';
}

/**
 * Finishes a landing that was killed before it wrote its archive and authorship log, or one that the user finished by
 * hand; returns null when nothing is left to do.
 */
async function finishLanding(
  project: Project,
  landing: Landing,
): Promise<Pick<Landed, 'commit' | 'archive' | 'note' | 'wasCutOff'> | null> {
  const { line, base, isDryRun } = landing;
  const archive = base.hasLanded && !isDryRun ? await keepArchive(project, line) : null;
  if (base.landedAs === null || isDryRun) return null;
  const note = await discloseLines(project, landing, base.landedAs);
  if (archive?.isNew !== true && note === null) return null;
  return { commit: base.landedAs, archive: archive?.ref ?? null, note, wasCutOff: true };
}

function isArchived({ ref }: LandableLine): boolean {
  return parseArchiveRef(ref) !== null;
}

async function toNothing(project: Project, landing: Landing, request: LandRequest): Promise<TeddyError> {
  const { line, target, base } = landing;
  const onto = target.name;
  if (base.takenBack !== null) {
    const message = `${line.name} has no code that was not on ${onto} before.`;
    return new TeddyError('NOTHING_TO_LAND', message, toRevert(project, landing, base.takenBack));
  }
  if (base.lost !== null) return new TeddyError('NOTHING_TO_LAND', ...toLost(project, landing, base.lost));
  const commit = base.hasLanded ? null : await findCommit(project, { ...line, oid: line.tip });
  const isThere = base.hasLanded || commit !== null;
  const other = isThere ? null : await findOtherWithCode(project, line);
  const branch = other === null ? '' : shortRef(other.ref);
  return new TeddyError(
    'NOTHING_TO_LAND',
    isThere
      ? `${onto} already has all code from ${line.name}${commit === null ? '' : `, committed as ${commit.slice(0, 10)}`}.`
      : `${line.name} has no code that ${onto} does not have.`,
    isThere
      ? isArchived(line)
        ? `It is archived. To continue it: \`teddy archive --restore ${line.session}\`.`
        : `When you are done with it: \`${await toArchiveCommand(project, line)}\`.`
      : other !== null
        ? `${branch} has some: \`${toLandCommand(branch, request, { onto })}\`.`
        : `\`teddy log ${line.session}\` shows its steps; its code comes from executed plans or from what an agent writes.`,
  );
}

async function toConflict(project: Project, landing: Landing, conflicts: readonly string[]): Promise<TeddyError> {
  const { line, target, workspace, base, sides, message } = landing;
  const onto = target.name;
  const paths = conflicts.length === 0 ? 'git names no file' : nameSome(conflicts);
  const what = `${line.name} and ${onto} changed the same lines: ${paths}.`;
  if (base.lost !== null) {
    const [lost, way] = toLost(project, landing, base.lost);
    return new TeddyError('LAND_CONFLICT', `${what} ${lost} Nothing was changed.`, `${way} Then land again.`);
  }
  const pick = await preparePick(project, sides, message);
  const git =
    target.current === null && target.tip !== null
      ? `git switch -c ${toShellWord(shortRef(target.ref))} ${target.tip.slice(0, 12)} && git`
      : gitCommandFor(project, target.ref, workspace?.root ?? null);
  return new TeddyError(
    'LAND_CONFLICT',
    `${what} Nothing was changed.`,
    `By hand: \`${git} cherry-pick ${pick.slice(0, 16)}\`, resolve, \`git add\` the files, \`git cherry-pick --continue\` (or \`--abort\`).`,
  );
}

function toRevert(project: Project, { target, workspace }: Landing, landing: Oid): string {
  const revert = `${gitCommandFor(project, target.ref, workspace?.root ?? null)} revert --no-edit ${landing.slice(0, 10)}`;
  return `Landing an undo removed this session's code from ${shortRef(target.ref)}. To bring it back: \`${revert}\`.`;
}

/** Returns a sentence, and the command that restores the code. */
function toLost(
  project: Project,
  { line, target, workspace }: Landing,
  { landed, command, isConflict }: LostCode,
): [message: string, way: string] {
  const [onto, oids] = [shortRef(target.ref), nameSome(landed.map((oid) => oid.slice(0, 10)))];
  const resolve = isConflict ? ' (resolve, `git add` the files, `git cherry-pick --continue`)' : '';
  const way = `\`${gitCommandFor(project, target.ref, workspace?.root ?? null)} ${command}\`${resolve}`;
  return [
    `${line.name} landed on ${onto} as ${oids}, and ${onto} no longer has all of it.`,
    `To bring it back: ${way}.`,
  ];
}

function reportOthers(project: Project, landing: Landing): void {
  const { line, target, base } = landing;
  if (base.takenBack !== null)
    return project.notices.warn(`Not all of it has landed: ${toRevert(project, landing, base.takenBack)}`);
  if (base.others.length === 0) return;
  const commits = nameSome(base.others.map((oid) => oid.slice(0, 10)));
  project.notices.warn(
    `${shortRef(target.ref)} already had code from another branch of ${line.session} (${commits}), which was kept.`,
  );
}

function toMoved({ name }: LandableLine): TeddyError {
  const hint = 'Run the command again when nobody else is working on it.';
  return new TeddyError('REF_MOVED', `The branch kept moving while ${name} was being landed.`, hint);
}

/** Warns of unfinished work on a line that is not yet part of its code. */
async function reportUnlanded(project: Project, line: LandableLine): Promise<void> {
  const { latest } = await readLine(project.repository.store, line.tip);
  if (latest?.status === 'planned') {
    const process = await project.journals.holder({ ...line, turn: latest.turn });
    const how = process === null ? 'has a plan that was not executed' : `is being executed by process ${process}`;
    project.notices.warn(`Turn ${latest.turn} ${how}: none of it is landed.`);
  }
  if (latest?.status === 'open' && userMessages(latest.records).length > 0)
    project.notices.warn(`Turn ${latest.turn} is waiting for an answer: none of it is landed.`);
  await reportEdits(project, line);
}

async function reportEdits({ repository, notices }: Project, { ref, name }: LandableLine): Promise<void> {
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

/**
 * Creates two commits outside every branch. `git cherry-pick` of the second commit merges these sides and keeps the
 * message, which identifies the landing later. git prunes the commits a few weeks later.
 */
async function preparePick(
  { repository: { store } }: Project,
  { base, theirs }: LandingSides,
  message: string,
): Promise<Oid> {
  const batch = store.batch();
  const ident = await store.ident();
  const parent = await batch.commit({ tree: base, parents: [], ...ident, message: 'teddy: before the landing\n' });
  const pick = await batch.commit({ tree: theirs, parents: [parent], ...ident, message });
  await batch.flush();
  return pick;
}
