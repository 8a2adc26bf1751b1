/**
 * Files in the way of a checkout that hold what it would write, as git compares them: filters, line ends, modes and links included.
 * An agent that works on one branch while its work is recorded on another leaves such files.
 */
import type { Store, TreeChange } from '../ports/git.ts';
import type { Checkout } from './index-lock.ts';
import { withPrivateIndex } from './index-lock.ts';
import type { GitRunner } from './run.ts';

interface EqualFilesOptions {
  git: GitRunner;
  store: Store;
  gitDir: string;
}

/** Settings that could make git trust an index more than the files, or write it in another form. */
const plainly = ['core.ignoreStat=false', 'core.fsmonitor=false', 'core.splitIndex=false', 'index.sparse=false'];

/**
 * Index entries of the target for all such files, as `update-index --index-info` reads them. With these, git sees no edit there
 * and leaves the files alone. A path at which the user has staged anything else is not among them.
 */
export async function listEqualFiles(options: EqualFilesOptions, { from, to }: Checkout): Promise<string> {
  const { git, store, gitDir } = options;
  const isStaged = await readStaged(git, from);
  const candidates = (await store.diffTrees(from, to)).filter(
    ({ path, after, mode }) => after !== null && mode !== '160000' && !isStaged(path),
  );
  if (candidates.length === 0) return '';
  return withPrivateIndex(gitDir, async (index) => {
    const run = { env: { GIT_INDEX_FILE: index } };
    const settings = plainly.flatMap((setting) => ['-c', setting]);
    await git.run([...settings, 'update-index', '-z', '--index-info'], { ...run, input: toRows(candidates) });
    await git.run([...settings, 'update-index', '-q', '--refresh'], { ...run, accept: [1] });
    const differing = await git.list([...settings, 'diff-files', '--name-only', '--no-relative', '-z'], run);
    const others = new Set<string>(differing);
    return toRows(candidates.filter(({ path }) => !others.has(path)));
  });
}

function toRows(changes: readonly TreeChange[]): string {
  return changes.map(({ path, after, mode }) => `${mode} ${after}\t${path}\0`).join('');
}

/** Whether a path, a directory above it or anything below it is staged as something that the commit does not have. */
async function readStaged(git: GitRunner, commit: Checkout['from']): Promise<(path: string) => boolean> {
  const diff = ['diff-index', '--cached', '--name-only', '--no-renames', '--no-relative', '--ita-invisible-in-index'];
  const staged = await git.list(
    commit === null ? ['ls-files', '-z'] : [...diff, '--ignore-submodules=none', '-z', commit],
  );
  const paths = new Set(staged);
  const above = new Set(staged.flatMap(parentsOf));
  return (path) => paths.has(path) || above.has(path) || parentsOf(path).some((parent) => paths.has(parent));
}

function parentsOf(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join('/'));
}
