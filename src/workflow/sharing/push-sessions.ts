/** Pushes a session's lines, provided that this repository has everything that the remote has. */
import { TeddyError } from '../../errors.ts';
import type { RefUpdate } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { globalRef, mainLineRef, shortRef, type RefName, type SessionId } from '../../names.ts';
import { readBaseBranch, readDefaultBranches } from '../../session/lines/lines.ts';
import { nameSome } from '../../session/text/name-some.ts';
import { chooseScope } from './choose-session.ts';
import { chooseRemote, type ChosenRemote } from './choose-remote.ts';
import { readStandings, type StandingTips } from './plan-moves.ts';
import { moveTracking, pushLines, toPushes, type PushedRefs } from './push-lines.ts';
import { repair } from '../line/repair.ts';
import { toSharedLine, type Shared, type SharedLine, type ShareRequest } from './shared-line.ts';
import { listRefsHere, readSides, toSharedTips, type TransferSides } from './shared-refs.ts';

/**
 * Pushes what the remote accepts; a line that it refuses has that as its `problem`. Throws REMOTE_EMPTY, REMOTE_AHEAD, REMOTE_CHANGED, SECRET_FOUND, UNKNOWN_REMOTE,
 * UNKNOWN_SESSION, and as `Remotes` does.
 */
export async function pushSessions(project: Project, request: ShareRequest): Promise<Shared> {
  await repair(project);
  const remote = await chooseRemote(project, request.remote, { isPush: true });
  const sides = await readSides(project, remote, request);
  const scope = await chooseScope(project, { ...request, offLine: 'open' }, sides);
  const { session } = scope;
  if (sides.isEmpty) throw await toEmpty(project, sides, session);
  const read = (here: TransferSides['here']) => readStandings(project, toSharedTips({ ...sides, here }, scope));
  const before = await read(sides.here);
  // Another process may have extended a local line, and pushed it, before the remote listed its refs.
  const tips = before.some(isBehind) ? await read(await listRefsHere(project.repository.store)) : before;
  refuseBehind(remote, tips);
  // Naming a session pushes it again even if it was deleted on the remote.
  const wished = request.selector === undefined ? tips : tips.map(revive);
  const updates = toPushes(wished);
  const outcome = await pushLines(project, { ...sides, named: scope.named }, updates, request);
  if (outcome === 'moved')
    throw new TeddyError(
      'REMOTE_CHANGED',
      `${remote.label} changed during the push. Nothing was pushed.`,
      `Somebody else pushed first: \`teddy sync ${remote.label}\`.`,
    );
  if (request.dryRun !== true) await moveTracking(project, remote, tips.filter(isUnseen).map(toSeen));
  const lines = notePushed(tips.map(toSharedLine), outcome);
  return { remote, session, lines, leftOut: scope.leftOut, monthsLeft: [], notes: [], refusal: null };
}

/** A killed push had sent the line, but could not record that. */
function isUnseen({ standing, known, remote }: StandingTips): boolean {
  return standing === 'same' && remote !== null && known !== remote;
}

function toSeen({ ref, remote }: StandingTips): Pick<RefUpdate, 'ref' | 'new'> {
  return { ref, new: remote };
}

function revive(line: StandingTips): StandingTips {
  const { standing } = line;
  return standing === 'gone' || standing === 'archived-there' ? { ...line, standing: 'only-local' } : line;
}

export function notePushed(lines: SharedLine[], { done, refused }: PushedRefs): SharedLine[] {
  const tips = new Map(done.map((update) => [update.ref, update.new]));
  return lines.map((one) => {
    const line = refused.has(one.ref) ? { ...one, problem: refused.get(one.ref) ?? null } : one;
    const tip = tips.get(line.ref);
    if (tip === undefined) return line;
    return { ...line, did: [...line.did, 'pushed'], remote: tip };
  });
}

function refuseBehind({ label }: ChosenRemote, lines: readonly StandingTips[]): void {
  const ahead = lines.filter(isBehind).map(({ ref }) => shortRef(ref));
  if (ahead.length === 0) return;
  throw new TeddyError(
    'REMOTE_AHEAD',
    `${label} has commits on ${nameSome(ahead)} that are not here. Nothing was pushed.`,
    `\`teddy sync ${label}\` pulls them, and pushes what only this clone has.`,
  );
}

/** `teddy/global` and the archives belong to others as well, so they matter only when this repository has added to them. */
function isBehind({ kind, standing, local, known }: StandingTips): boolean {
  if (kind === 'line') return standing === 'pull' || standing === 'diverged';
  return standing === 'diverged' && (known === null || known !== local);
}

/**
 * Refuses to push to an empty remote, because forges make the first branch that arrives their default. The only local
 * branch with the code may be another remote's.
 */
export async function toEmpty(
  project: Project,
  { remote: { label }, here }: Pick<TransferSides, 'remote' | 'here'>,
  session: SessionId | null,
): Promise<TeddyError> {
  const base = session === null ? null : await readBaseBranch(project, mainLineRef(session));
  const usual = (await readDefaultBranches(project)).filter(({ ref }) => ref !== globalRef);
  const remotes = here.filter(({ ref }) => /^refs\/remotes\/[^/]+\/(?!HEAD$|teddy\/)/.test(ref));
  const ref = [
    ...here.filter((one) => one.ref === `refs/heads/${base}`),
    ...remotes.filter((one) => toName(one.ref) === base),
    ...usual.filter((one) => one.ref.startsWith('refs/heads/')),
    ...remotes.filter((one) => one.oid === usual[0]?.oid),
  ][0]?.ref;
  const branch = ref === undefined ? '<branch>' : toName(ref);
  const source = ref?.startsWith('refs/remotes/') === true ? `${shortRef(ref)}:refs/heads/${branch}` : branch;
  return new TeddyError(
    'REMOTE_EMPTY',
    `${label} has no branch yet, and the first one that arrives becomes its default.`,
    `Push the code branch first: \`git push ${label} ${source}\`.`,
  );
}

function toName(ref: RefName): string {
  return ref.replace(/^refs\/(?:heads|remotes\/[^/]+)\//, '');
}
