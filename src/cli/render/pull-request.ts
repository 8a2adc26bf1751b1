/** Tells how to open a pull request for a branch: the address of the forge's page, and the command of its client. */
import { toShellWord } from '../../session/text/shell-word.ts';

export interface PullRequest {
  /** The remote's URL; null when it is not known. */
  url: string | null;
  base: string;
  branch: string;
  title: string;
  session: string;
}

export interface WayToOpen {
  /** The forge's client. */
  program: 'gh' | 'glab';
  /** Opens the pull request, with the session's review as its text. */
  command: string;
  /** The page that asks for the title and the text. */
  address: string;
}

/** Returns null for a remote that is not on GitHub or GitLab. */
export function findWayToOpen({ url, base, branch, title, session }: PullRequest): WayToOpen | null {
  const place = url === null ? null : parsePlace(url);
  if (place === null) return null;
  const { host, path } = place;
  if (/(?:^|\.)github\./.test(host))
    return {
      program: 'gh',
      command: `teddy review ${session} | gh pr create --base ${toShellWord(base)} --head ${toShellWord(branch)} --title ${toShellWord(title)} --body-file -`,
      address: `https://${host}/${path}/compare/${toPath(base)}...${toPath(branch)}?expand=1`,
    };
  if (!/(?:^|\.)gitlab\./.test(host)) return null;
  const query = new URLSearchParams({
    'merge_request[source_branch]': branch,
    'merge_request[target_branch]': base,
  });
  return {
    program: 'glab',
    command: `glab mr create --target-branch ${toShellWord(base)} --source-branch ${toShellWord(branch)} --title ${toShellWord(title)} --description "$(teddy review ${session})"`,
    address: `https://${host}/${path}/-/merge_requests/new?${query.toString()}`,
  };
}

/** Reads the host and the repository from `https://host/owner/name.git`, `ssh://...` or `git@host:owner/name.git`. */
function parsePlace(url: string): { host: string; path: string } | null {
  const [, host, path] =
    /^(?:https?|ssh|git):\/\/(?:[^@/]*@)?([^/:]+)(?::\d+)?\/(.+)$/.exec(url) ??
    /^(?:[^@/:]+@)?([^/:]+):(?!\/)(.+)$/.exec(url) ??
    [];
  if (host === undefined || path === undefined || !/^[\w./~-]+$/.test(path)) return null;
  return { host: host.toLowerCase(), path: path.replace(/\/+$/, '').replace(/\.git$/, '') };
}

function toPath(branch: string): string {
  return branch.split('/').map(encodeURIComponent).join('/');
}
