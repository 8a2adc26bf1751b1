/** Pulls, then pushes, and repeats while another push wins the race; afterwards both sides have the same refs. */
import { exitCodes, TeddyError } from '../../errors.ts';
import type { RefUpdate } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { RefName } from '../../names.ts';
import { chooseScope } from './choose-session.ts';
import { chooseRemote, readHeadRef, type ChosenRemote } from './choose-remote.ts';
import { readStandings } from './plan-moves.ts';
import { pullSessions } from './pull-sessions.ts';
import { pushLines, toPushes, type PushedRefs } from './push-lines.ts';
import { notePushed, pushSessions, toEmpty } from './push-sessions.ts';
import { repair } from '../line/repair.ts';
import { retryWhileChanged, sortLines, type Shared, type SharedLine, type ShareRequest } from './shared-line.ts';
import { listMonthsLeft, readSides } from './shared-refs.ts';
import { receiveBranches, type TakenIn } from './take-in.ts';

const nothing: PushedRefs = { done: [], refused: new Map() };

/** Throws as `pullSessions` does, and REMOTE_EMPTY. An error that prevents the push after the pull becomes the `refusal`. */
export async function syncSessions(project: Project, request: ShareRequest): Promise<Shared> {
  await repair(project);
  const head = await readHeadRef(project);
  const remote = await chooseRemote(project, request.remote, { isPush: false, head });
  const target = await chooseRemote(project, request.remote, { isPush: true, head });
  if (target.name !== remote.name) return pullThenPush(project, request, target);
  let before: SharedLine[] = [];
  return retryWhileChanged(request.signal, async ({ isLast }) => {
    const sides = await readSides(project, remote, request);
    const scope = await chooseScope(project, { ...request, offLine: 'open' }, sides);
    const { session } = scope;
    if (sides.isEmpty) throw await toEmpty(project, sides, session);
    const taken = await receiveBranches(project, { ...sides, scope }, request);
    before = joinRounds(before, taken.lines);
    const updates = toPushes(await readStandings(project, taken.tips));
    const refs = { ...sides, named: scope.named };
    const outcome = await tryPush(() => pushLines(project, refs, updates, request));
    if (outcome === 'moved' && !isLast) return 'changed';
    const pushed = outcome === 'moved' || outcome instanceof TeddyError ? nothing : outcome;
    const foreseen = request.dryRun === true && pushed !== nothing ? foresee(taken) : [];
    const refusal = outcome === 'moved' ? toBusy(remote) : outcome instanceof TeddyError ? outcome : null;
    const lines = sortLines(notePushed(before, { ...pushed, done: [...pushed.done, ...foreseen] }));
    const monthsLeft = listMonthsLeft(scope, sides.listed, [...taken.tips, ...lines]);
    return { remote, session, lines, leftOut: scope.leftOut, monthsLeft, notes: taken.notes, refusal };
  });
}

/** Sends nothing to a pull-only remote, because `remote.pushDefault` and similar settings name another remote for pushes. */
async function pullThenPush(project: Project, request: ShareRequest, target: ChosenRemote): Promise<Shared> {
  const pulled = await pullSessions(project, request, { offLine: 'open' });
  const pushed = await tryPush(() => pushSessions(project, { ...request, remote: target.name }));
  return pushed instanceof TeddyError ? { ...pulled, refusal: pushed } : { ...pulled, pushed };
}

/** Lists the refs that a dry run would first make and then push. */
function foresee({ lines }: TakenIn): RefUpdate[] {
  return lines.flatMap(({ ref, did, local, remote, standing }) => {
    const isOwn = did.includes('merged') || (did.includes('made') && standing === 'only-local');
    return isOwn ? [{ ref, old: remote, new: local }] : [];
  });
}

/** Returns the error instead of throwing it, so that teddy reports the pulled lines even if the push fails. */
async function tryPush<Pushed>(push: () => Promise<Pushed>): Promise<Pushed | TeddyError> {
  try {
    return await push();
  } catch (error) {
    if (error instanceof TeddyError && error.exitCode !== exitCodes.INTERRUPTED) return error;
    throw error;
  }
}

/** Reports a line that moved in two rounds only once. */
function joinRounds(before: readonly SharedLine[], lines: readonly SharedLine[]): SharedLine[] {
  const earlier = new Map<RefName, SharedLine>(before.map((line) => [line.ref, line]));
  return lines.map((line) => {
    const first = earlier.get(line.ref);
    if (first === undefined) return line;
    return { ...line, standing: first.standing, did: [...first.did, ...line.did], tail: line.tail ?? first.tail };
  });
}

function toBusy({ label }: ChosenRemote): TeddyError {
  const hint = 'Everything that others pushed is now here. Run the command again.';
  return new TeddyError('REMOTE_CHANGED', `${label} kept changing during the push.`, hint);
}
