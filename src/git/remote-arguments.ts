/** The command lines of fetch and push: everything that a user's configuration may add to them is taken away again. */
import { TeddyError } from '../errors.ts';
import type { RefUpdate } from '../ports/git.ts';
import type { RefName } from '../names.ts';
import type { RemoteAddress } from './remote-address.ts';

const quarantine = 'refs/teddy/quarantine/';
/** What a command line can hold on any system of today, with room to spare for the environment. */
const maxArgumentsChars = 1_000_000;

const silent = ['-c', 'credential.interactive=false'];

const fetchFlags = [
  '--progress',
  '--stdin',
  '--atomic',
  // Without it git would also move the remote-tracking branches of what is fetched.
  '--refmap=',
  '--no-tags',
  '--no-write-fetch-head',
  '--no-auto-maintenance',
  '--no-recurse-submodules',
  '--no-prune',
  '--no-show-forced-updates',
  // What is checked has to be there, also in a partial clone.
  '--no-filter',
];

export function toFetchArguments(address: RemoteAddress, isAgain = false): string[] {
  const checks = ['-c', 'fetch.fsckObjects=true', '-c', 'transfer.fsckObjects=true'];
  // Refs of the quarantine are derived: to wait for the disk with each of thousands would be for nothing.
  // Loose objects that are in an old pack already are not written: a `git gc` may be about to drop that pack. A pack of their own stays.
  const whole = isAgain ? ['-c', 'fetch.unpackLimit=1'] : [];
  return [...silent, ...checks, ...whole, '-c', 'core.fsync=committed', 'fetch', ...fetchFlags, '--', address.argument];
}

/** Throws HOSTILE_SESSION for a name that no ref has, GIT_FAILED for a destination outside of the quarantine. */
export function toFetchInput(refs: readonly { from: RefName; to: RefName }[]): string {
  return refs.map(({ from, to }) => `+${requireRefName(from)}:${requireQuarantine(to)}\n`).join('');
}

function requireQuarantine(ref: RefName): RefName {
  if (requireRefName(ref).startsWith(quarantine)) return ref;
  throw new TeddyError('GIT_FAILED', `Nothing is fetched into ${ref}, which is outside of ${quarantine}.`);
}

function requireRefName(ref: RefName): RefName {
  if (isRefName(ref)) return ref;
  throw new TeddyError(
    'HOSTILE_SESSION',
    `No ref can have the name ${JSON.stringify(ref)}.`,
    'Nothing of it was taken.',
  );
}

/** git's rules for the names of refs (`git help check-ref-format`). */
function isRefName(ref: string): boolean {
  // oxlint-disable-next-line no-control-regex
  if (!ref.startsWith('refs/') || /[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|\/$|\.$/.test(ref)) return false;
  return ref.split('/').every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock'));
}

/** Throws GIT_FAILED when there are more updates than one call can hold: they would not be all or nothing. */
export function toPushArguments(address: RemoteAddress, updates: readonly RefUpdate[]): string[] {
  const leases = updates.map(({ ref, old }) => `--force-with-lease=${requireRefName(ref)}:${old ?? ''}`);
  const refspecs = updates.map((update) => `${update.new ?? ''}:${update.ref}`);
  const flags = ['--progress', '--porcelain', '--atomic', '--no-verify', '--no-follow-tags', '--recurse-submodules=no'];
  const chars = [...leases, ...refspecs].reduce((sum, part) => sum + part.length + 9, 0);
  if (chars > maxArgumentsChars) {
    throw new TeddyError(
      'GIT_FAILED',
      `${updates.length} branches are too many for one push.`,
      'Push some of them at a time, by their names.',
    );
  }
  return [...silent, ...withoutMirror(address), 'push', ...flags, ...leases, '--', address.argument, ...refspecs];
}

/** Of a mirror git pushes everything or refuses. */
function withoutMirror({ argument, isNamed }: RemoteAddress): string[] {
  return isNamed && !argument.includes('=') ? ['-c', `remote.${argument}.mirror=false`] : [];
}
