/** Explains why a path is not usable for a given purpose; the reasons do not include the path. */
import type { FileTarget } from '../../ports/files.ts';
import type { RepoPath } from '../../names.ts';
import { describeTwin } from './twin-names.ts';

/** Returns the file's real or potential location, with links resolved, because git does not look behind a symbolic link. */
export function realPathOf(path: RepoPath, target: FileTarget): RepoPath {
  return target.kind === 'file' || target.kind === 'absent' ? (target.real ?? path) : path;
}

export function whyNotAFile(path: RepoPath, target: FileTarget): string | null {
  return target.kind === 'directory' ? 'it is a directory' : whyOutOfReach(path, target);
}

export function whyUnreadable(path: RepoPath, target: FileTarget): string | null {
  return target.kind === 'absent' ? 'there is no such path' : whyOutOfReach(path, target);
}

/** Explains why a path named by a model does not exist, and suggests its twin. */
export function whyMissing(path: RepoPath, target: FileTarget): string {
  const reason = whyUnreadable(path, target) ?? 'there is no such path';
  return target.kind === 'absent' && target.twin !== undefined
    ? `${reason}; did you mean ${describeTwin(path, target.twin)}`
    : reason;
}

function whyOutOfReach(path: RepoPath, target: FileTarget): string | null {
  switch (target.kind) {
    case 'outside':
      return `${target.link === path ? 'it' : `\`${target.link}\``} is a symlink that leads out of the project`;
    case 'foreign':
      return `\`${target.repository}\` is a repository of its own`;
    case 'blocked':
      return `\`${target.parent}\` is a file, not a directory`;
    case 'special':
      return 'it is a device, a socket or a pipe';
    case 'absent':
    case 'file':
    case 'directory':
      return null;
  }
}
