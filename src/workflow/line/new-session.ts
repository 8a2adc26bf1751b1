/** Starts a session: makes its branch with a `start` entry, and switches HEAD to it. */
import { TeddyError } from '../../errors.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Entry } from '../../session/entries/entry.ts';
import {
  attributesPath,
  attributesText,
  configPath,
  globalContextPath,
  memosPath,
  sessionContextText,
} from '../../session/global/global-files.ts';
import {
  deletedPrefix,
  joinPath,
  mainLineRef,
  sessionDir,
  shortRef,
  toSessionId,
  toSessionName,
  type Oid,
  type RefName,
  type RepoPath,
  type SessionId,
} from '../../names.ts';
import { beginLine, type Draft, type FileEdit, type StartPosition } from './append.ts';
import { chooseStart, type Base } from './choose-start.ts';
import { ensureGlobal, readGlobal, refuseTeddyBranch } from './global-branch.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { canStay, switchOrDelete, toSwitchCommand } from './switch.ts';
import { refuseOperation } from './refuse-operation.ts';
import { rememberStart } from './own-start.ts';
import { repair } from './repair.ts';
import { addOrDelete } from './open-work-tree.ts';

export interface NewSession {
  session: SessionId;
  ref: RefName;
  commit: Oid;
  /** Relative to the root of the work tree. */
  directory: RepoPath;
  switched: boolean;
  /** The absolute root of the linked work tree made for the session, or null. */
  workTree: string | null;
  /** A note on how teddy made `teddy/global`; null when the branch already existed. */
  made: string | null;
}

export interface NewSessionRequest {
  name: string;
  switch: boolean;
  /** True to make a linked work tree for the session, and switch nothing. */
  worktree?: boolean;
  /** The base branch. Defaults to HEAD, or to the base of a landed line. */
  from?: string | undefined;
  /** The session's owner when it is not the user; commands use the session only by name. */
  foreign?: Entry['foreign'];
}

/**
 * Starts the session and does not touch uncommitted work. Throws BAD_NAME, UNKNOWN_BRANCH, USAGE on `teddy/global`,
 * BRANCH_IN_THE_WAY, FILES_IN_THE_WAY, OPERATION_IN_PROGRESS.
 */
export async function newSession(project: Project, request: NewSessionRequest): Promise<NewSession> {
  const { repository, notices } = project;
  const name = toSessionName(request.name);
  const inWorkTree = request.worktree === true;
  const workspace = request.switch && !inWorkTree ? repository.workspace : null;
  await refuseTeddyBranch(repository.store);
  await repository.store.ident();
  await repair(project);
  if (workspace) await refuseBusyWorkspace(workspace);
  const { base, note } = await chooseStart(project, request.from);
  await refuseTrackedFile(project, base);
  const made = await ensureGlobal(project);
  await repository.installAttributes();
  const { session, commit } = await publishStart(project, name, base, request.foreign);
  if (base.branch !== null) await rememberStart(project, { branch: base.branch, oid: commit });
  const ref = mainLineRef(session);
  if (workspace) await switchOrDelete(project, workspace, ref, commit, canStay);
  const workTree = inWorkTree ? await addOrDelete(project, ref, commit) : null;
  if (name !== request.name) notices.info(`The name was changed to ${name}.`);
  if (note !== null) notices.info(note);
  if (!session.endsWith(`-${name}`)) notices.info(await describeTaken(project, session, name));
  return { session, ref, commit, directory: sessionDir(session), switched: workspace !== null, workTree, made };
}

/** Explains why the session's name ends with a number, and how to continue the existing one. */
async function describeTaken({ repository }: Project, session: SessionId, name: string): Promise<string> {
  const first = `${session.slice(0, '20260124-'.length)}${name}`;
  const [there] = await repository.store.listRefs(mainLineRef(first as SessionId), `refs/remotes/*/teddy/${first}`);
  const tree = (await repository.workTrees()).find(({ ref }) => ref === there?.ref);
  const step = tree ? `cd ${toShellWord(tree.root)}` : there && toSwitchCommand(shortRef(there.ref));
  const way = step === undefined ? '' : ` To continue that one: ${step}`;
  const taken =
    there === undefined ? `A session called ${first} already existed` : `A session called ${first} already exists`;
  return `${taken}, so this one is ${session}.${way}`;
}

async function refuseBusyWorkspace(workspace: Workspace): Promise<void> {
  const head = await workspace.head();
  await refuseOperation(workspace, head.ref ?? ('HEAD' as RefName));
  const { unmerged } = await workspace.status({ untracked: false });
  if (unmerged.length > 0) {
    throw new TeddyError(
      'OPERATION_IN_PROGRESS',
      `These files have merge conflicts: ${unmerged.slice(0, 5).join(', ')}.`,
      'Resolve the conflicts and commit first.',
    );
  }
  // Includes ignored files, which git would overwrite silently.
  const inTheWay = await workspace.untrackedBelow('.teddy' as RepoPath);
  if (inTheWay.length === 0) return;
  throw new TeddyError(
    'FILES_IN_THE_WAY',
    `Untracked files in .teddy/ are in the way: ${inTheWay.slice(0, 3).join(', ')}.`,
    inTheWay.includes(configPath)
      ? `Commit the project's settings: \`git add --force ${configPath}\`, \`git commit -m "Settings of teddy" -- ${configPath}\`. Move other files away.`
      : 'Move them away, or commit them, and run the command again.',
  );
}

/** Refuses a project that has a file or link called `.teddy`. */
export async function refuseTrackedFile(project: Project, { oid }: Base): Promise<void> {
  const root = oid === null ? null : await project.repository.store.readDir(oid, '' as RepoPath);
  const found = root?.entries.find(({ name }) => name === '.teddy');
  if (found === undefined || found.mode === '40000') return;
  throw new TeddyError(
    'FILES_IN_THE_WAY',
    'The project has a file called .teddy, where the session needs a directory.',
    'Rename it and commit: `git mv .teddy <other>`.',
  );
}

async function publishStart(
  project: Project,
  name: string,
  base: Base,
  foreign: Entry['foreign'],
): Promise<{ session: SessionId; commit: Oid }> {
  const now = project.clock.now();
  const taken = await readTakenIds(project);
  for (let attempt = 1; ; attempt += 1) {
    const session = toSessionId(now, name, attempt);
    if (taken.has(session)) continue;
    const draft = await draftStart(project, session, now, base, foreign === undefined ? {} : { foreign });
    // Two processes may want the same name at the same time, so this makes the ref only if it does not exist.
    const begun = await beginLine(project, mainLineRef(session), toStartPosition(session, now, base), draft);
    if (begun !== null) return { session, commit: begun.commit };
    taken.add(session);
  }
}

export async function readTakenIds(project: Project): Promise<Set<string>> {
  const refs = await project.repository.store.listRefs(
    'refs/heads/teddy/',
    'refs/remotes/*/teddy/*',
    'refs/teddy/archive/',
    deletedPrefix,
  );
  return new Set(refs.map(({ ref }) => ref.split('/').at(-1)?.split('--')[0] ?? ''));
}

/** The position of a session's first entry. */
export function toStartPosition(session: SessionId, now: Date, { oid }: Base): StartPosition {
  return { tip: oid, session, created: now.toISOString(), entry: null };
}

/** Drafts the `start` entry. The trailers in `origin` name the session's source when it is not a commit. */
export async function draftStart(
  project: Project,
  session: SessionId,
  now: Date,
  base: Base,
  { id, ...origin }: Partial<Pick<Entry, 'sha256' | 'importFormat' | 'foreign' | 'id'>> = {},
): Promise<Draft> {
  const global = await readGlobal(project);
  const files: FileEdit[] = [
    { path: attributesPath, bytes: attributesText },
    { path: globalContextPath, bytes: global?.globalContext ?? '' },
    { path: memosPath, bytes: global?.memos ?? '' },
    { path: joinPath(sessionDir(session), 'session.context'), bytes: sessionContextText },
  ];
  const trailers = { ...(base.branch === null ? {} : { baseBranch: base.branch }), ...origin };
  const label = { title: session, details: [] };
  return { kind: 'start', id: id ?? project.ids.entryId(now), label, trailers, code: { files } };
}
