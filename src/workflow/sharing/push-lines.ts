/** Pushes lines to a remote: searches them for secrets and faults first, then sends all in one push, each with its lease. */
import { RemoteRefusedError, TeddyError } from '../../errors.ts';
import type { RefTip, RefUpdate, TransferOptions } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef, type Oid, parseArchiveRef, parseLineRef, type RefName, type SessionId } from '../../names.ts';
import type { ChosenRemote } from './choose-remote.ts';
import type { StandingTips } from './plan-moves.ts';
import type { Standing } from './reconcile.ts';
import type { ShareRequest } from './shared-line.ts';
import { toTracking, type Scope, type TransferSides } from './shared-refs.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import type { VerifiedLine, Violation } from '../../session/entries/violation.ts';
import { moveRefs } from '../line/move-refs.ts';

const goes: ReadonlySet<Standing> = new Set(['push', 'only-local']);

/** Lists the refs to send; a push never deletes a ref on the remote. */
export function toPushes(lines: readonly StandingTips[]): RefUpdate[] {
  return lines.flatMap(({ ref, standing, local, remote }) =>
    goes.has(standing) ? [{ ref, old: remote, new: local }] : [],
  );
}

type SharedRefs = Pick<TransferSides, 'remote' | 'here'> & Pick<Scope, 'named'> & { listed: readonly RefTip[] };

/** The result of a push: the refs that arrived, and the error for each ref that the remote did not accept. */
export interface PushedRefs {
  done: RefUpdate[];
  refused: Map<RefName, TeddyError>;
}

/**
 * Returns `moved` when a lease did not hold; in that case nothing changes. A ref that the remote refuses does not stop
 * the others, unless `isWhole`. Throws SECRET_FOUND, FAULTY_SESSION, REMOTE_REFUSED when nothing arrives, and as
 * `Remotes.push` does.
 */
export async function pushLines(
  project: Project,
  { remote, named, ...refs }: SharedRefs,
  updates: readonly RefUpdate[],
  { dryRun = false, isWhole = false, signal, onProgress }: ShareRequest & { isWhole?: boolean },
): Promise<'moved' | PushedRefs> {
  const all = { done: [...updates], refused: new Map<RefName, TeddyError>() };
  if (updates.length === 0) return all;
  const known = await findKnown(project, remote, refs);
  const tips = [...new Set(known.map(({ oid }) => oid))];
  // The progress display covers the line check, which takes longer; teddy reports a secret first.
  const refusals = await Promise.allSettled([
    refuseSecrets(project, updates, tips, signal),
    refuseFaulty(project, updates, known, named, { signal, onProgress }),
  ]);
  for (const refusal of refusals) if (refusal.status === 'rejected') throw refusal.reason;
  if (dryRun) return all;
  const pushed: PushedRefs = { done: [], refused: new Map() };
  try {
    const outcome = await pushAccepted(project, remote, updates, { isWhole, pushed, signal, onProgress });
    return outcome === 'moved' ? 'moved' : pushed;
  } finally {
    if (pushed.done.length > 0) await notePushed(project, remote, pushed.done);
  }
}

/** Pushes everything in one step; if the remote refuses some of it, pushes the rest without that. */
async function pushAccepted(
  { repository: { remotes } }: Project,
  { name, label }: ChosenRemote,
  updates: readonly RefUpdate[],
  { isWhole, pushed, ...options }: TransferOptions & { isWhole: boolean; pushed: PushedRefs },
): Promise<'done' | 'moved'> {
  const waiting = [updates];
  let first: TeddyError | null = null;
  for (let some = waiting.shift(); some !== undefined; some = waiting.shift()) {
    try {
      if ((await remotes.push(name, some, options)) === 'done') pushed.done.push(...some);
      else if (pushed.done.length === 0) return 'moved';
      else for (const { ref } of some) pushed.refused.set(ref, toChanged(label));
    } catch (error) {
      if (!(error instanceof RemoteRefusedError) || isWhole) throw error;
      first ??= error;
      const rest = some.filter(({ ref }) => !error.refusals.has(ref));
      // A hook that refuses a push as a whole does not say which ref is to blame.
      if (rest.length === 0 && some.length > 1) waiting.push(...some.map((one) => [one]));
      else for (const [ref, refusal] of error.refusals) pushed.refused.set(ref as RefName, refusal);
      if (rest.length > 0) waiting.push(rest);
    }
  }
  if (pushed.done.length === 0 && first !== null) throw first;
  return 'done';
}

function toChanged(label: string): TeddyError {
  return new TeddyError('REMOTE_CHANGED', `${label} changed during the push.`, `Run \`teddy sync ${label}\`.`);
}

/** The push succeeded, even if this repository cannot record it. */
async function notePushed(project: Project, remote: ChosenRemote, updates: readonly RefUpdate[]): Promise<void> {
  try {
    await moveTracking(project, remote, updates);
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    const { code, message, hint } = error;
    throw new TeddyError(code, `${message} The push to ${remote.label} still succeeded.`, hint, {
      cause: error,
    });
  }
}

async function refuseSecrets(
  project: Project,
  updates: readonly RefUpdate[],
  known: readonly Oid[],
  signal: AbortSignal,
): Promise<void> {
  const tips = updates.flatMap(({ new: tip }) => tip ?? []);
  if (tips.length === 0) return;
  const { checkOutgoing } = await import('./check-outgoing.ts');
  const found = await checkOutgoing(project, tips, known, { signal });
  const [first] = found;
  if (first === undefined) return;
  const more = found.length === 1 ? '' : `, and ${found.length - 1} more`;
  throw new TeddyError(
    'SECRET_FOUND',
    `The push would include a secret: ${first.kind} in ${first.path ?? 'the message or a file name'} of ${first.commit.slice(0, 12)}${more}. Nothing was pushed.`,
    `Revoke the secret first. ${await adviseSharing(project, updates, first.commit)}`,
  );
}

/** Returns the commands that share everything before the secret; empty when no line contains the secret. */
async function adviseSharing(project: Project, updates: readonly RefUpdate[], commit: Oid): Promise<string> {
  const { store } = project.repository;
  const parent = (await store.readCommit(commit)).parents[0];
  for (const { ref, new: tip } of updates) {
    const isHeld = tip !== null && ref.startsWith('refs/heads/') && (await store.isAncestor(commit, tip));
    if (!isHeld || parent === undefined) continue;
    const name = shortRef(ref);
    const clean = `${name.replace(/^teddy\//, '')}-clean`;
    const steps = [`git switch -c ${clean} ${parent.slice(0, 12)}`, `git branch -D ${name}`, 'teddy push'];
    return `To share everything before it, on a branch that ends there: ${steps.map((step) => `\`${step}\``).join(', then ')}.`;
  }
  return 'The commits that contain it cannot be shared as they are.';
}

/** Lists the remote's tips that this repository also has. */
async function findKnown(
  { repository: { store } }: Project,
  remote: ChosenRemote,
  { listed, here }: Pick<SharedRefs, 'listed' | 'here'>,
): Promise<RefTip[]> {
  const prefix = `refs/remotes/${remote.name}/`;
  const tracked = remote.isConfigured ? here.filter(({ ref }) => ref.startsWith(prefix)) : [];
  const fetched = new Set(tracked.map(({ oid }) => oid));
  const isHere = await Promise.all(listed.map(({ oid }) => fetched.has(oid) || store.readSize(oid)));
  return [...listed.filter((_, at) => isHere[at] !== null), ...tracked];
}

/** git itself has updated the tracking refs if the remote has a name; a `git fetch` may have updated them too. */
export async function moveTracking(
  project: Project,
  remote: ChosenRemote,
  updates: readonly Pick<RefUpdate, 'ref' | 'new'>[],
): Promise<void> {
  const { store } = project.repository;
  const wanted = updates.flatMap(({ ref, new: tip }) => {
    const tracked = toTracking(remote, ref);
    return tracked === null ? [] : [{ ref: tracked, new: tip }];
  });
  if (wanted.length === 0) return;
  const now = await Promise.all(wanted.map(async (one) => ({ ...one, old: await store.readRef(one.ref) })));
  const moves = now.filter(({ old, new: tip }) => old !== tip);
  // The tracking refs only record the last known state; a process that has moved them meanwhile has newer information.
  await moveRefs(project, moves, 'pushed');
}

/**
 * Refuses to send lines that nobody else would accept, with the same check as a pull. `known` are the remote's tips;
 * `named` maps custom-named lines to their sessions. Throws FAULTY_SESSION.
 */
async function refuseFaulty(
  project: Project,
  updates: readonly RefUpdate[],
  known: readonly RefTip[],
  named: ReadonlyMap<RefName, SessionId>,
  { signal, onProgress }: TransferOptions,
): Promise<void> {
  const { verifyLine } = await import('../verify/line.ts');
  const checked = new Map<string, Set<Oid>>();
  const addChecked = (session: string, tip: Oid) => checked.set(session, (checked.get(session) ?? new Set()).add(tip));
  const sessionOf = (ref: RefName) => named.get(toBranch(ref)) ?? sessionOfName(ref);
  const pushed = new Set(updates.map(({ ref }) => sessionOf(ref)));
  for (const { ref, oid } of known) {
    const session = sessionOf(ref);
    if (session !== null && pushed.has(session)) addChecked(session, oid);
  }
  for (const { ref, new: tip } of updates) {
    const session = sessionOf(ref);
    if (session === null || tip === null || checked.get(session)?.has(tip)) continue;
    const line = { session, name: shortRef(ref), ref, tip, after: null };
    const onEntries = (done: number) => onProgress?.({ phase: 'Checking entries', done, total: null });
    const verified = await verifyLine(project, line, {
      known: [...(checked.get(session) ?? [])],
      // teddy has already searched the whole push for secrets.
      isSearched: true,
      signal,
      onProgress: onEntries,
    });
    const [first, ...more] = verified.violations;
    if (first !== undefined) throw toFaulty(verified, first, more.length);
    addChecked(session, tip);
  }
}

function toBranch(ref: RefName): RefName {
  return ref.replace(/^refs\/remotes\/[^/]+\//, 'refs/heads/') as RefName;
}

/** Returns the session of a ref, which may be a remote-tracking branch. */
function sessionOfName(ref: RefName): SessionId | null {
  const name = ref.replace(/^refs\/remotes\/.*?\/(?=teddy\/)/, 'refs/heads/');
  return (parseLineRef(name) ?? parseArchiveRef(name))?.session ?? null;
}

function toFaulty(
  { line: name, tip }: VerifiedLine,
  { commit, path, message }: Violation,
  moreFaults: number,
): TeddyError {
  const place = `${commit.slice(0, 12)}${path === null ? '' : `, ${path}`}`;
  const more = moreFaults === 0 ? '' : ` (and ${moreFaults} more)`;
  return new TeddyError(
    'FAULTY_SESSION',
    `${name} fails its checks, so nobody else could pull it: ${place}: ${message.replace(/\.$/, '')}${more}. Nothing was pushed.`,
    `\`teddy verify ${toShellWord(name)}\` shows it. To share everything before it: keep the branch under another name (\`git branch <name> ${tip.slice(0, 12)}\`), then end it there (on it: \`git reset --keep ${commit.slice(0, 12)}^\`).`,
  );
}
