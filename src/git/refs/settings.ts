/** Reads git's entire configuration, with the origin of each value, in one process, and changes single settings. */
import { repairRefLocks, withRefRecord, type LockDirs } from './ref-record.ts';
import { maxDeaths, splitNul, type Environment, type GitRunner } from '../run/run.ts';

interface SettingValue {
  value: string;
  /** Names the source: `local .git/config`, `global ~/.gitconfig`, `command line`. */
  origin: string;
  /** True when the value comes from the repository's own configuration, which somebody else may have written. */
  isForeign: boolean;
}

export interface GitSetting extends SettingValue {
  /** The values that git read before this one, oldest first. */
  earlier: readonly SettingValue[];
}

/** Reads all settings, keyed as git prints them: in lower case except for the subsection. The last value wins. */
export async function readGitSettings(git: GitRunner, env: Environment): Promise<ReadonlyMap<string, GitSetting>> {
  const { stdout } = await git.run(['config', '--list', '--show-scope', '--show-origin', '-z']);
  const fields = splitNul(stdout);
  const settings = new Map<string, GitSetting>();
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const [scope = '', source = '', row = ''] = fields.slice(at, at + 3);
    const end = row.indexOf('\n');
    // A key without `=` means true.
    const [key, value] = end < 0 ? [row, 'true'] : [row.slice(0, end), row.slice(end + 1)];
    const known = settings.get(key);
    const isForeign = scope === 'local' || scope === 'worktree';
    const earlier = known === undefined ? [] : [...known.earlier, known];
    settings.set(key, { value, origin: toOrigin(scope, source, env['HOME']), isForeign, earlier });
  }
  return settings;
}

/** Replaces or removes all values of the key. Returns false when the key was not set. Releases a dead git's lock. */
export async function changeGitSetting(
  git: GitRunner,
  layout: LockDirs,
  scope: 'local' | 'global',
  key: string,
  value: string | null,
): Promise<boolean> {
  if (scope === 'global') return change(git, scope, key, value);
  await repairRefLocks(git, layout);
  return withRefRecord(git, layout, [{ ref: 'config', new: null }], async (release) => {
    for (let tries = 1; ; tries += 1) {
      const notedMs = Date.now();
      try {
        return await change(git, scope, key, value);
      } catch (error) {
        // A dead git's lock would block the next attempt.
        const mayBeOurs = error instanceof Error && /was killed|could not lock config file/.test(error.message);
        if (!mayBeOurs) throw error;
        if (!(await release({ notedMs, latestMs: Date.now() })) || tries === maxDeaths) throw error;
      }
    }
  });
}

async function change(git: GitRunner, scope: 'local' | 'global', key: string, value: string | null): Promise<boolean> {
  const words = value === null ? ['--unset-all', '--', key] : ['--replace-all', '--', key, value];
  // git exits with 5 when the key does not exist.
  const { exitCode } = await git.run(['config', `--${scope}`, ...words], { accept: value === null ? [5] : [] });
  return exitCode === 0;
}

function toOrigin(scope: string, source: string, home: string | undefined): string {
  const path = source.replace(/^file:/, '');
  if (scope === 'command' || path === source) return source.replace(/:$/, '');
  return `${scope} ${home && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path}`;
}
