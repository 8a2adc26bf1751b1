/** The remote of the code, for a landing that becomes a pull request there. */
import { TeddyError } from '../../errors.ts';
import type { RefTip, TransferOptions } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef, type Oid, type RefName, type SessionId } from '../../names.ts';
import { findUsualRemote } from '../../session/settings/decide-setting.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { withQuarantine } from '../line/quarantine.ts';
import { chooseRemote, type ChosenRemote } from './choose-remote.ts';
import { fetchVerified } from './fetch-verified.ts';
import { pushLines } from './push-lines.ts';
import { pushSessions } from './push-sessions.ts';
import type { Shared } from './shared-line.ts';

export interface CodeRemote {
  remote: ChosenRemote;
  /** The URL, as configured; null when the remote is a URL or a path itself. */
  url: string | null;
  /** The base branch as the remote calls it, and its tip there. */
  base: { ref: RefName; tip: Oid };
  /** The branches on the remote. */
  branches: ReadonlyMap<RefName, Oid>;
  /** Fetches a branch's commits, and keeps them while `withCodeRemote` runs. */
  fetch(ref: RefName): Promise<void>;
  /** Pushes a session's lines, to the remote for sessions if that is another one. Throws as `pushSessions` does. */
  pushSession(session: SessionId): Promise<Shared>;
  /** Pushes a branch with code. Throws REMOTE_CHANGED, and as `pushLines` does. */
  pushCode(ref: RefName, tip: Oid | null): Promise<void>;
}

/**
 * Opens the remote that the local branch `base` tracks, and fetches that branch. Moves no ref except refs in
 * quarantine. Throws UNKNOWN_REMOTE, UNKNOWN_BRANCH when the remote has no such branch, and as `Remotes` does.
 */
export async function withCodeRemote<Value>(
  project: Project,
  base: string,
  options: TransferOptions,
  use: (remote: CodeRemote) => Promise<Value>,
): Promise<Value> {
  const { remotes, store } = project.repository;
  const setting = async (name: string) => (await store.setting(name)) || undefined;
  const tracked = await setting(`branch.${base}.remote`);
  const name = tracked === undefined || tracked === '.' ? findUsualRemote(await remotes.names()) : tracked;
  const remote = await chooseRemote(project, name, { isPush: true });
  const ref = ((await setting(`branch.${base}.merge`)) ?? `refs/heads/${base}`) as RefName;
  const { refs: listed } = await remotes.list(remote.name, ['refs/heads/'], options);
  const branches = new Map(listed.map((one) => [one.ref, one.oid]));
  const tip = branches.get(ref);
  if (tip === undefined) throw toNoBase(remote, ref);
  const url = remote.isConfigured ? ((await setting(`remote.${remote.name}.url`)) ?? null) : null;
  return withQuarantine(project, async (toRef) => {
    let count = 0;
    const fetch = (from: RefName) => fetchBranch(project, remote, { from, to: toRef((count += 1)) }, options);
    await fetch(ref);
    return use({
      remote,
      url,
      branches,
      fetch,
      base: { ref, tip },
      pushSession: async (session) => {
        const forSessions = await project.settings.get('sessionsRemote');
        return pushSessions(project, { ...options, remote: forSessions ?? remote.name, selector: session });
      },
      pushCode: (branch, oid) => pushCode(project, { remote, listed }, { ref: branch, tip: oid }, options),
    });
  });
}

function toNoBase({ label }: ChosenRemote, base: RefName): TeddyError {
  const branch = shortRef(base);
  return new TeddyError(
    'UNKNOWN_BRANCH',
    `${label} has no branch ${JSON.stringify(branch)}, so nothing can be merged into it there.`,
    `\`git ls-remote --heads ${toShellWord(label)}\` lists its branches; name one with --onto.`,
  );
}

async function fetchBranch(
  project: Project,
  { name, label }: ChosenRemote,
  wanted: { from: RefName; to: RefName },
  options: TransferOptions,
): Promise<void> {
  const [refused] = await fetchVerified(project, name, [wanted], options);
  if (refused === undefined) return;
  const message = `${shortRef(refused.ref)} could not be fetched from ${label}: ${refused.reason}`;
  throw new TeddyError('HOSTILE_SESSION', message, 'Nothing was landed.');
}

async function pushCode(
  project: Project,
  { remote, listed }: { remote: ChosenRemote; listed: readonly RefTip[] },
  { ref, tip }: { ref: RefName; tip: Oid | null },
  options: TransferOptions,
): Promise<void> {
  const old = listed.find((one) => one.ref === ref)?.oid ?? null;
  if (tip === old) return;
  const here = await project.repository.store.listRefs('refs/remotes/');
  const refs = { remote, listed, here, named: new Map() };
  const outcome = await pushLines(project, refs, [{ ref, old, new: tip }], options);
  if (outcome === 'moved')
    throw new TeddyError(
      'REMOTE_CHANGED',
      `${shortRef(ref)} changed on ${remote.label} during the push.`,
      'Run the command again.',
    );
}
