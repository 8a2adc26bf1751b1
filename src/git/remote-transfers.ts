/** Transfers from and to other repositories: what comes in goes to quarantine; what goes out is leased and never forced. */
import { setTimeout as sleep } from 'node:timers/promises';
import { TeddyError } from '../errors.ts';
import type { RefTip, RefUpdate, Remotes, TransferOptions } from '../ports/git.ts';
import { parseOid, type RefName } from '../names.ts';
import { readPushOutcome } from './push-outcome.ts';
import { findRemote, readRemoteNames, type RemoteAddress } from './remote-address.ts';
import { callRemote, type RemoteResult } from './remote-call.ts';
import { isPassing, toRemoteError } from './remote-errors.ts';
import { toFetchArguments, toFetchInput, toPushArguments } from './remote-arguments.ts';
import type { GitRunner } from './run.ts';

const maxTries = 3;
const firstDelayMs = 300;
/** So many git processes at a time: two cores are usual, and each of them only waits for the other. */
const checksAtATime = 4;

/** `cwd`: where the user stands. */
export function gitRemotes(git: GitRunner, cwd: string, onStep?: (step: string) => void): Remotes {
  const find = (remote: string) => findRemote(git, cwd, remote);
  return {
    names: () => readRemoteNames(git),
    list: async (remote, prefixes, options) => listRemote(git, await find(remote), prefixes, options),
    async fetch(remote, refs, options) {
      await fetchRefs(git, await find(remote), refs, options);
      onStep?.('fetched');
    },
    async push(remote, updates, options) {
      const outcome = await pushRefs(git, await find(remote), updates, options);
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
  // All of them: git asks for all in any case, and only so it is known whether there is any.
  const { stdout } = await callUntilItWorks(git, address, ['ls-remote', '--', address.argument], '', options);
  const rows = stdout.split('\n').filter((row) => /^[0-9a-f]{40,64}\trefs\/./.test(row) && !row.endsWith('^{}'));
  const refs = rows
    .map((row) => ({ ref: row.slice(row.indexOf('\t') + 1) as RefName, oid: row.slice(0, row.indexOf('\t')) }))
    .filter(({ ref }) => prefixes.some((prefix) => ref.startsWith(prefix)));
  return { refs: refs.map(({ ref, oid }) => ({ ref, oid: parseOid(oid) })), isEmpty: rows.length === 0 };
}

async function fetchRefs(
  git: GitRunner,
  address: RemoteAddress,
  refs: readonly { from: RefName; to: RefName }[],
  options: TransferOptions,
): Promise<void> {
  if (refs.length === 0) return;
  await callUntilItWorks(git, address, toFetchArguments(address, options.isAgain), toFetchInput(refs), options);
}

/** A try that failed has changed nothing that another one would have to know of. */
async function callUntilItWorks(
  git: GitRunner,
  address: RemoteAddress,
  args: string[],
  input: string,
  options: TransferOptions,
): Promise<RemoteResult> {
  for (let tries = 1; ; tries += 1) {
    const result = await callRemote(git, args, input, options);
    if (result.exitCode === 0) return result;
    if (tries === maxTries || !isPassing(result)) throw toRemoteError(address.label, result);
    await waitBeforeTry(tries, options);
  }
}

/** Longer each time, and never as long as another one who failed at the same moment. */
async function waitBeforeTry(tries: number, { signal }: TransferOptions): Promise<void> {
  // What aborts the wait is told by the next call.
  await sleep(firstDelayMs * 2 ** (tries - 1) * (0.5 + Math.random() / 2), undefined, { signal }).catch(
    () => undefined,
  );
}

async function pushRefs(
  git: GitRunner,
  address: RemoteAddress,
  updates: readonly RefUpdate[],
  options: TransferOptions,
): Promise<'done' | 'moved'> {
  if (updates.length === 0) return 'done';
  await refuseRewrites(git, address, updates);
  const args = toPushArguments(address, updates);
  for (let tries = 1; ; tries += 1) {
    const result = await callRemote(git, args, '', options);
    const outcome = readPushOutcome(address.label, result, updates.length);
    if (outcome === 'done') return 'done';
    if (outcome === 'unknown' && !isPassing(result) && result.exitCode !== 0)
      throw toRemoteError(address.label, result);
    const found = await findOutcome(git, address, updates, options);
    if (found !== 'untouched') return found;
    if (outcome === 'moved') return 'moved';
    if (outcome !== 'unknown') throw outcome.refusal;
    if (tries === maxTries) throw toRemoteError(address.label, result);
    await waitBeforeTry(tries, options);
  }
}

/** A server that was cut off may have taken everything, and a first try of ours may be what moved the refs. */
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

/** To git, a lease that holds is leave to rewrite: that there is nothing to rewrite has to be seen before. */
async function refuseRewrites(git: GitRunner, address: RemoteAddress, updates: readonly RefUpdate[]): Promise<void> {
  const moves = updates.filter((update) => update.old !== null && update.new !== null && update.old !== update.new);
  for (let at = 0; at < moves.length; at += checksAtATime) {
    const some = moves.slice(at, at + checksAtATime);
    const results = await Promise.all(some.map((update) => isFastForward(git, update)));
    const rewritten = some.find((_, i) => results[i] === false);
    if (rewritten === undefined) continue;
    throw new TeddyError(
      'REMOTE_AHEAD',
      `${address.label} has commits of ${rewritten.ref.replace(/^refs\/heads\//, '')} that are not part of what would be pushed.`,
      'Bring them in first: `teddy session sync`. Nothing is ever pushed by force.',
    );
  }
}

async function isFastForward(git: GitRunner, update: RefUpdate): Promise<boolean> {
  // 128: what is there was never fetched.
  const args = ['merge-base', '--is-ancestor', `${update.old}`, `${update.new}`];
  return (await git.run(args, { accept: [1, 128] })).exitCode === 0;
}
