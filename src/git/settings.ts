/** git's configuration as a whole, with where each value comes from, in one process. */
import { splitNul, type Environment, type GitRunner } from './run.ts';

export interface GitSetting {
  value: string;
  /** `local .git/config`, `global ~/.gitconfig`, `command line`. */
  origin: string;
  /** The value is of the repository's own configuration, which may be somebody else's. */
  isForeign: boolean;
  /** All values that the user has chosen: those of the system, the global configuration, the environment and the command line. */
  chosen: readonly string[];
}

/** Keys as git prints them, in lower case but for the subsection; the last value wins. */
export async function readGitSettings(git: GitRunner, env: Environment): Promise<ReadonlyMap<string, GitSetting>> {
  const { stdout } = await git.run(['config', '--list', '--show-scope', '--show-origin', '-z']);
  const fields = splitNul(stdout);
  const settings = new Map<string, GitSetting>();
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const [scope = '', source = '', row = ''] = fields.slice(at, at + 3);
    const end = row.indexOf('\n');
    // A key without `=` counts as true.
    const [key, value] = end < 0 ? [row, 'true'] : [row.slice(0, end), row.slice(end + 1)];
    const isForeign = scope === 'local' || scope === 'worktree';
    const before = settings.get(key)?.chosen ?? [];
    const chosen = isForeign ? before : [...before, value];
    settings.set(key, { value, origin: toOrigin(scope, source, env['HOME']), isForeign, chosen });
  }
  return settings;
}

/** All values of the key are replaced. False: it was not set. */
export async function changeGitSetting(
  git: GitRunner,
  scope: 'local' | 'global',
  key: string,
  value: string | null,
): Promise<boolean> {
  const change = value === null ? ['--unset-all', '--', key] : ['--replace-all', '--', key, value];
  // git says 5 for a key that is not there.
  const { exitCode } = await git.run(['config', `--${scope}`, ...change], { accept: value === null ? [5] : [] });
  return exitCode === 0;
}

function toOrigin(scope: string, source: string, home: string | undefined): string {
  const path = source.replace(/^file:/, '');
  if (scope === 'command' || path === source) return source.replace(/:$/, '');
  return `${scope} ${home && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path}`;
}
