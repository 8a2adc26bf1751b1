/** Chooses where a session starts: at HEAD, at a named branch, or at the base of a line that has landed. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { globalRef, shortRef, type Oid, type RefName } from '../../names.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { hasLandedAsItStands } from './find-open.ts';
import { chooseMain, isLine, listLines, readBaseBranch, readDefaultBranches } from '../../session/lines/lines.ts';
import { findNearestEntry, type NearestEntry } from '../../session/entries/nearest-entry.ts';

export interface Base {
  oid: Oid | null;
  /** Never a line: for a session on top of another one, the branch where the whole stack started. */
  branch: string | null;
}

export interface ChosenStart {
  base: Base;
  /** A sentence that explains the choice to the user. */
  note: string | null;
}

/**
 * Chooses the start. `from` is a branch or a session. Throws UNKNOWN_BRANCH; USAGE for `teddy/global`, which contains
 * no code.
 */
export async function chooseStart(project: Project, from?: string): Promise<ChosenStart> {
  const { ref, oid } = from === undefined ? await readHead(project) : await findNamed(project, from);
  if (ref === globalRef) throw await globalError(project, from !== undefined);
  const name = ref === null ? null : shortRef(ref);
  const nearest = oid === null ? null : await findNearestEntry(project, oid);
  if (oid === null || nearest === null) return { base: { oid, branch: name }, note: null };
  const { session } = nearest.entry;
  const branchRef = ref ?? ('HEAD' as RefName);
  if (!(await isLine(project, { branchRef, session, nearest }))) return { base: { oid, branch: name }, note: null };
  return startOnLine(project, { oid, nearest }, from !== undefined);
}

async function startOnLine(
  project: Project,
  { oid, nearest }: { oid: Oid; nearest: NearestEntry },
  isNamed: boolean,
): Promise<ChosenStart> {
  const { session } = nearest.entry;
  const branch = await readBaseBranch(project, oid);
  const hasLanded = await hasLandedAsItStands(project, { oid, session, nearest });
  const base = branch === null ? null : await project.repository.store.resolve(`refs/heads/${branch}`);
  if (hasLanded && base !== null && !isNamed)
    return {
      base: { oid: base, branch },
      note: `Starts at ${branch}, where ${session} has landed.`,
    };
  const note = `Starts on top of ${session}, which has ${hasLanded ? '' : 'not '}landed.`;
  const other = isNamed || branch === null ? '' : ` To start without it: --from ${toShellWord(branch)}`;
  return { base: { oid, branch }, note: `${note}${other}` };
}

/** Reads HEAD; in a bare repository, the commit that its HEAD points to. */
async function readHead({
  repository: { store, workspace },
}: Project): Promise<{ ref: RefName | null; oid: Oid | null }> {
  const head = await workspace?.head();
  return head ?? { ref: null, oid: await store.resolve('HEAD') };
}

/** Finds a local branch, a remote one by its short or full name, otherwise a session's main line. */
async function findNamed(project: Project, from: string): Promise<{ ref: RefName; oid: Oid }> {
  const { store } = project.repository;
  const name = from.replace(/^refs\/heads\//, '');
  const refs = await store.listRefs('refs/heads/', 'refs/remotes/');
  const found =
    refs.find(({ ref }) => ref === `refs/heads/${name}`) ??
    refs.find(({ ref }) => ref === `refs/remotes/${name}` || ref.replace(/^refs\/remotes\/[^/]+\//, '') === name);
  if (found === undefined) return findSession(project, from);
  // A session started from a remote's branch lands on the local branch of the same name.
  const ref = found.ref.replace(/^refs\/remotes\/[^/]+\//, 'refs/heads/') as RefName;
  return { ref, oid: found.oid };
}

async function findSession(project: Project, from: string): Promise<{ ref: RefName; oid: Oid }> {
  const lines = (await listLines(project)).filter(
    ({ session, remote }) => remote === null && (session === from || session.slice('20260124-'.length) === from),
  );
  const main = new Set(lines.map(({ session }) => session)).size === 1 ? chooseMain(lines) : undefined;
  if (main !== undefined) return { ref: main.ref, oid: main.oid };
  throw new TeddyError(
    'UNKNOWN_BRANCH',
    `There is no branch or session ${JSON.stringify(from)}.`,
    '`git branch --all` lists the branches.',
  );
}

async function globalError(project: Project, isNamed: boolean): Promise<TeddyError> {
  const branch = (await readDefaultBranches(project)).find(({ ref }) => /^refs\/heads\/(?!teddy\/)/.test(ref));
  const name = branch === undefined ? '<branch>' : toShellWord(shortRef(branch.ref));
  return new TeddyError(
    'USAGE',
    'teddy/global contains what all sessions share; it has no code to start from.',
    isNamed
      ? `Name a branch with code: \`teddy new <name> --from ${name}\`.`
      : `Switch to a branch with code first: \`git switch ${name}\`.`,
  );
}
