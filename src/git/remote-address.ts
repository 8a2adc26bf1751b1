/** Resolves the name of a remote, a URL or a path as a user types it, and finds the words that name it to a person. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { TeddyError } from '../errors.ts';
import { hideCredentials } from '../session/urls.ts';
import { answerOf } from './porcelain.ts';
import type { GitSetting } from './settings.ts';
import type { SimpleGit } from 'simple-git';

export interface RemoteAddress {
  /** For git's command line, behind `--`. */
  argument: string;
  /** For a person: without credentials. */
  label: string;
  isNamed: boolean;
}

/** `names`: the remotes that are configured. `cwd`: where the user stands; paths are counted from there. Throws UNKNOWN_REMOTE. */
export async function findRemote(
  remote: string,
  names: readonly string[],
  cwd: string,
  porcelain: () => Promise<SimpleGit>,
): Promise<RemoteAddress> {
  const label = hideCredentials(remote);
  if (names.includes(remote) && !remote.startsWith('-')) return { argument: remote, label, isNamed: true };
  // git would take it for an option, some commands of it even behind `--`.
  if (remote === '' || remote.startsWith('-')) throw toUnknown(label, names);
  const path = resolve(cwd, remote);
  if (isPath(remote) && existsSync(path)) return { argument: path, label, isNamed: false };
  if (/[/:\\]/.test(remote) || (await isRewritten(await porcelain(), remote)))
    return { argument: remote, label, isNamed: false };
  throw toUnknown(label, names);
}

/** Those that `git remote` would print: any setting of a remote makes it one. */
export function toRemoteNames(settings: ReadonlyMap<string, GitSetting>): string[] {
  const names = [...settings.keys()].flatMap((key) => /^remote\.(.+)\.[^.]+$/s.exec(key)?.[1] ?? []);
  return [...new Set(names)].toSorted();
}

/** Tells a path from `host:path` by git's own rule. */
function isPath(remote: string): boolean {
  const colon = remote.indexOf(':');
  const slash = remote.search(/[/\\]/);
  return colon === -1 || (slash !== -1 && slash < colon) || /^[A-Za-z]:[/\\]/.test(remote);
}

/** `url.<base>.insteadOf` may make an address of any word. */
async function isRewritten(git: SimpleGit, remote: string): Promise<boolean> {
  return (await answerOf('ls-remote', () => git.listRemote(['--get-url', '--', remote]))).replace(/\n$/, '') !== remote;
}

function toUnknown(label: string, names: readonly string[]): TeddyError {
  return new TeddyError(
    'UNKNOWN_REMOTE',
    `There is no remote ${JSON.stringify(label)}.`,
    names.length === 0
      ? 'No remote is configured: `git remote add origin <url>`, or give a URL or a path.'
      : `Configured are: ${names.join(', ')}. A URL or a path works as well.`,
  );
}
