/** Transfers from and to other repositories. Fetched objects go to the quarantine; pushes are leased and never forced. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SimpleGit } from 'simple-git';
import { RemoteRefusedError, TeddyError } from '../../errors.ts';
import type { RefTip, RefUpdate, Remotes, Store, TransferOptions } from '../../ports/git.ts';
import { isRefName, parseOid, type RefName } from '../../names.ts';
import { findRemote, toRemoteNames, type RemoteAddress, callRemote, type RemoteResult } from './remote-call.ts';
import { cut, isPassing, toRemoteError } from './remote-errors.ts';
import type { RepositoryLayout } from '../run/layout.ts';
import { withRefRecord, type NotedUpdate } from '../refs/ref-record.ts';
import { wasKilled, type GitRunner } from '../run/run.ts';
import type { GitSetting } from '../refs/settings.ts';

const maxTries = 3;
const firstDelayMs = 300;
/** The number of concurrent git processes; on a typical machine with two cores, more of them would only wait for each other. */
const checksAtATime = 4;

type Ancestry = Pick<Store, 'readSize' | 'isAncestor'>;

export interface RemotesOptions {
  git: GitRunner;
  layout: RepositoryLayout;
  store: Ancestry;
  porcelain(): Promise<SimpleGit>;
  settings(): Promise<ReadonlyMap<string, GitSetting>>;
  /** The user's current directory. */
  cwd: string;
  /** Called after each transfer, so that a test can simulate a crash at that point. */
  onStep?: ((step: string) => void) | undefined;
}

export function gitRemotes({ git, layout, store, porcelain, settings, cwd, onStep }: RemotesOptions): Remotes {
  const names = async () => toRemoteNames(await settings());
  const find = async (remote: string) => findRemote(remote, await names(), cwd, porcelain);
  return {
    names,
    list: async (remote, prefixes, options) => listRemote(git, await find(remote), prefixes, options),
    async fetch(remote, refs, options) {
      await fetchRefs({ git, layout, address: await find(remote) }, refs, options);
      onStep?.('fetched');
    },
    async push(remote, updates, options) {
      const outcome = await pushRefs({ git, layout, store, address: await find(remote) }, updates, options);
      onStep?.('pushed');
      return outcome;
    },
  };
}

async function listRemote(
  git: GitRunner,
  address: RemoteAddress,
  prefixes: readonly string[],
  options: TransferOptions,
): Promise<{ refs: RefTip[]; isEmpty: boolean }> {
  // List all refs: git requests all of them anyway, and only a full list shows whether the remote is empty.
  const args = ['ls-remote', '--', address.argument];
  const { stdout } = await callUntilItWorks(git, address, { args, input: '' }, options);
  const rows = stdout.split('\n').filter((row) => /^[0-9a-f]{40,64}\trefs\/./.test(row) && !row.endsWith('^{}'));
  const refs = rows
    .map((row) => ({ ref: row.slice(row.indexOf('\t') + 1) as RefName, oid: row.slice(0, row.indexOf('\t')) }))
    .filter(({ ref }) => prefixes.some((prefix) => ref.startsWith(prefix)));
  return { refs: refs.map(({ ref, oid }) => ({ ref, oid: parseOid(oid) })), isEmpty: rows.length === 0 };
}

type Release = () => Promise<unknown>;
type Transfer = Pick<RemotesOptions, 'git' | 'layout'> & { address: RemoteAddress };

/**
 * Runs a transfer so that a git process that is killed, alone or with teddy, leaves no lock on `refs`. Passes
 * `transfer` a function that releases the locks of its own git.
 */
function withRefLocks<Value>(
  { git, layout }: Transfer,
  refs: readonly NotedUpdate[],
  transfer: (release: Release) => Promise<Value>,
): Promise<Value> {
  if (refs.length === 0) return transfer(() => Promise.resolve());
  return withRefRecord(git, layout, refs, (release) => {
    const notedMs = Date.now();
    return transfer(() => release({ notedMs, latestMs: Date.now() }));
  });
}

async function fetchRefs(
  place: Transfer,
  refs: readonly { from: RefName; to: RefName }[],
  options: TransferOptions,
): Promise<void> {
  if (refs.length === 0) return;
  const { git, address } = place;
  const args = toFetchArguments(address, options.isWhole);
  const input = toFetchInput(refs);
  const noted = refs.map(({ to }) => ({ ref: to, new: null }));
  await withRefLocks(place, noted, (release) => callUntilItWorks(git, address, { args, input, release }, options));
}

/** Repeats a call that may succeed later. A failed attempt leaves no state that affects the next one. */
async function callUntilItWorks(
  git: GitRunner,
  address: RemoteAddress,
  { args, input, release }: { args: string[]; input: string; release?: Release },
  options: TransferOptions,
): Promise<RemoteResult> {
  for (let tries = 1; ; tries += 1) {
    const result = await callRemote(git, args, input, options);
    if (result.exitCode === 0) return result;
    if (wasKilled(result.exitCode, result.endedBy)) await release?.();
    else if (!isPassing(result)) throw toRemoteError(address.label, result);
    if (tries === maxTries) throw toRemoteError(address.label, result);
    await waitBeforeTry(tries, options);
  }
}

/** Waits longer each time, with a random part, so that clients that failed together do not retry together. */
async function waitBeforeTry(tries: number, { signal }: TransferOptions): Promise<void> {
  // The next call reports the reason for the abort.
  await sleep(firstDelayMs * 2 ** (tries - 1) * (0.5 + Math.random() / 2), undefined, { signal }).catch(
    () => undefined,
  );
}

async function pushRefs(
  place: Transfer & { store: Ancestry },
  updates: readonly RefUpdate[],
  options: TransferOptions,
): Promise<'done' | 'moved'> {
  if (updates.length === 0) return 'done';
  const { address } = place;
  await refuseRewrites(place.store, address, updates);
  const args = toPushArguments(address, updates);
  const tracked = toTracked(address, updates);
  return withRefLocks(place, tracked, (release) => pushUntilItWorks(place, { args, updates, release }, options));
}

/** Lists the remote-tracking branches that git moves after a push. */
function toTracked({ argument, isNamed }: RemoteAddress, updates: readonly RefUpdate[]): NotedUpdate[] {
  const branches = updates.filter(({ ref }) => isNamed && ref.startsWith('refs/heads/'));
  return branches.map((update) => ({ ...update, ref: update.ref.replace('heads', `remotes/${argument}`) as RefName }));
}

async function pushUntilItWorks(
  { git, address }: Transfer,
  { args, updates, release }: { args: string[]; updates: readonly RefUpdate[]; release: Release },
  options: TransferOptions,
): Promise<'done' | 'moved'> {
  for (let tries = 1; ; tries += 1) {
    const result = await callRemote(git, args, '', options);
    const hasBeenKilled = wasKilled(result.exitCode, result.endedBy);
    if (hasBeenKilled) await release();
    const outcome = readPushOutcome(address.label, result, updates.length);
    if (outcome === 'done') return 'done';
    if (outcome === 'unknown' && result.exitCode !== 0 && !isPassing(result) && !hasBeenKilled)
      throw toRemoteError(address.label, result);
    const found = await findOutcome(git, address, updates, options);
    if (found !== 'untouched') return found;
    if (outcome === 'moved') return 'moved';
    if (outcome !== 'unknown') throw outcome.refusal;
    if (tries === maxTries) throw toRemoteError(address.label, result);
    await waitBeforeTry(tries, options);
  }
}

/**
 * Lists the remote's refs to find out whether a transfer succeeded. A server may have accepted everything before its
 * connection broke, and teddy's own first attempt may have moved the refs.
 */
async function findOutcome(
  git: GitRunner,
  address: RemoteAddress,
  updates: readonly RefUpdate[],
  options: TransferOptions,
): Promise<'done' | 'moved' | 'untouched'> {
  const { refs } = await listRemote(git, address, ['refs/'], options);
  const tips = new Map(refs.map(({ ref, oid }) => [ref, oid]));
  if (updates.every((update) => (tips.get(update.ref) ?? null) === update.new)) return 'done';
  return updates.every((update) => (tips.get(update.ref) ?? null) === update.old) ? 'untouched' : 'moved';
}

/** Throws REMOTE_AHEAD when a push would drop commits. git permits a rewrite when the lease holds, so check this first. */
async function refuseRewrites(store: Ancestry, address: RemoteAddress, updates: readonly RefUpdate[]): Promise<void> {
  const moves = updates.filter((update) => update.old !== null && update.new !== null && update.old !== update.new);
  for (let at = 0; at < moves.length; at += checksAtATime) {
    const some = moves.slice(at, at + checksAtATime);
    const results = await Promise.all(some.map((update) => isFastForward(store, update)));
    const rewritten = some.find((_, i) => results[i] === false);
    if (rewritten === undefined) continue;
    throw new TeddyError(
      'REMOTE_AHEAD',
      `${address.label} has commits on ${rewritten.ref.replace(/^refs\/heads\//, '')} that are not part of what would be pushed.`,
      'Run `teddy sync` first to bring them in. teddy never force-pushes.',
    );
  }
}

/** Returns false when teddy has never fetched the remote's commit. */
async function isFastForward(store: Ancestry, { old, new: tip }: RefUpdate): Promise<boolean> {
  if (old === null || tip === null || (await store.readSize(old)) === null) return false;
  return store.isAncestor(old, tip);
}

/** The result for one ref, from `git push --porcelain`. */
interface PushedRef {
  ref: string;
  flag: string;
  /** For example `[remote rejected] (pre-receive hook declined)`. */
  summary: string;
}

/**
 * The outcome that git reports. `moved`: a lease did not hold. `unknown`: the server's report is missing or incomplete,
 * so only its list of refs shows whether it accepted the push. teddy checks that list after a refusal too, because curl
 * may have sent everything twice over a broken connection.
 */
type PushOutcome = 'done' | 'moved' | 'unknown' | { refusal: TeddyError };

/** Reads git's report. A refusal becomes REMOTE_REFUSED with the server's message. */
function readPushOutcome(label: string, result: RemoteResult, count: number): PushOutcome {
  const refs = readRows(result.stdout);
  const rejected = refs.filter(({ flag }) => flag === '!');
  if (rejected.some(({ summary }) => isMoved(summary))) return 'moved';
  const refused = rejected.filter(({ summary }) => summary.startsWith('[remote rejected]'));
  // An atomic push rejects all refs; only the refs that caused the rejection have another reason.
  const reasons = refused.filter(({ summary }) => !/atomic (?:push|transaction) fail/.test(summary));
  const named = reasons.length > 0 ? reasons : refused;
  if (named.length > 0) return { refusal: toAllRefused(label, named, result.serverSaid) };
  return result.exitCode === 0 && refs.length >= count ? 'done' : 'unknown';
}

function readRows(stdout: string): PushedRef[] {
  return stdout.split('\n').flatMap((row) => {
    const [flag = '', refspec = '', summary = ''] = row.split('\t');
    if (flag.length !== 1 || !refspec.includes(':')) return [];
    return [{ flag, ref: refspec.slice(refspec.indexOf(':') + 1), summary }];
  });
}

/** Returns true if the ref had moved: git noticed before sending anything, or the server noticed after another push. */
function isMoved(summary: string): boolean {
  return /stale info|fetch first|non-fast-forward|needs force|but expected|reference already exists|incorrect old value|remote ref updated since checkout/.test(
    summary,
  );
}

function toAllRefused(label: string, refused: readonly PushedRef[], serverSaid: readonly string[]): TeddyError {
  const each = refused.map((one) => [one.ref, toRefused(label, [one], serverSaid)] as const);
  return new RemoteRefusedError(toRefused(label, refused, serverSaid), new Map(each));
}

function toRefused(label: string, refused: readonly PushedRef[], serverSaid: readonly string[]): TeddyError {
  const [first] = refused;
  const reason = /\((.*)\)$/.exec(first?.summary ?? '')?.[1] ?? first?.summary ?? '';
  const others = refused.length === 1 ? '' : ` and ${refused.length - 1} more`;
  const words = serverSaid.length === 0 ? '' : ` It says: ${serverSaid.join(' ')}`;
  const name = first?.ref.replace(/^refs\/heads\//, '') ?? '';
  return new TeddyError(
    'REMOTE_REFUSED',
    cut(`${label} refused ${name}${others}: ${reason}.${words}`),
    `It is as before there. Check the rules of ${label}: protected branches, hooks, quotas.`,
  );
}

/** The command lines of fetch and push. They override everything that the user's configuration could add. */
const quarantine = 'refs/teddy/quarantine/';
/** Current systems accept a command line of this length and still have room for the environment. */
const maxArgumentsChars = 1_000_000;

const silent = ['-c', 'credential.interactive=false'];

/**
 * Omits --atomic: with that flag, git releases a pack before a ref points to its objects, and a `git repack -ad` could
 * drop the pack.
 */
const fetchFlags = [
  '--progress',
  '--stdin',
  // Without this flag, git would also move remote-tracking branches.
  '--refmap=',
  '--no-tags',
  '--no-write-fetch-head',
  '--no-auto-maintenance',
  '--no-recurse-submodules',
  '--no-prune',
  '--no-show-forced-updates',
  // git can only check objects that are present, even in a partial clone.
  '--no-filter',
];

function toFetchArguments({ argument }: RemoteAddress, isWhole = false): string[] {
  const checks = ['-c', 'fetch.fsckObjects=true', '-c', 'transfer.fsckObjects=true'];
  // git does not write loose objects that are already in an old pack, even if a `git gc` is about to drop that pack.
  // Keep the fetched objects in a separate pack.
  if (isWhole) checks.push('-c', 'fetch.unpackLimit=1');
  const flags = isWhole ? ['--refetch', ...fetchFlags] : fetchFlags;
  // Quarantine refs can be fetched again, so do not sync thousands of them to disk.
  return [...silent, ...checks, '-c', 'core.fsync=committed', 'fetch', ...flags, '--', argument];
}

/** Throws HOSTILE_SESSION for an invalid ref name, and GIT_FAILED for a destination outside the quarantine. */
function toFetchInput(refs: readonly { from: RefName; to: RefName }[]): string {
  return refs.map(({ from, to }) => `+${requireRefName(from)}:${requireQuarantine(to)}\n`).join('');
}

function requireQuarantine(ref: RefName): RefName {
  if (requireRefName(ref).startsWith(quarantine)) return ref;
  throw new TeddyError('GIT_FAILED', `Refused to fetch into ${ref}, which is outside ${quarantine}.`);
}

function requireRefName(ref: RefName): RefName {
  if (isRefName(ref)) return ref;
  throw new TeddyError('HOSTILE_SESSION', `${JSON.stringify(ref)} is not a valid ref name.`, 'Nothing was fetched.');
}

/** Throws GIT_FAILED when one call cannot contain all updates, because several calls would not be atomic. */
function toPushArguments(address: RemoteAddress, updates: readonly RefUpdate[]): string[] {
  const leases = updates.map(({ ref, old }) => `--force-with-lease=${requireRefName(ref)}:${old ?? ''}`);
  const refspecs = updates.map((update) => `${update.new ?? ''}:${update.ref}`);
  const flags = ['--progress', '--porcelain', '--atomic', '--no-verify', '--no-follow-tags', '--recurse-submodules=no'];
  const chars = [...leases, ...refspecs].reduce((sum, part) => sum + part.length + 9, 0);
  if (chars > maxArgumentsChars) {
    throw new TeddyError(
      'GIT_FAILED',
      `${updates.length} branches are too many for one push.`,
      'Push fewer at a time, by name.',
    );
  }
  return [...silent, ...withoutMirror(address), 'push', ...flags, ...leases, '--', address.argument, ...refspecs];
}

/** Turns off `mirror`, which makes git either push everything or refuse. */
function withoutMirror({ argument, isNamed }: RemoteAddress): string[] {
  return isNamed && !argument.includes('=') ? ['-c', `remote.${argument}.mirror=false`] : [];
}
