/** Reads many blobs as a checkout would write them, through one git process, and finds files that already have that content. */
import { randomBytes } from 'node:crypto';
import { DamagedObjectError, type TeddyError } from '../../errors.ts';
import { parentsOf, type Oid, type RepoPath } from '../../names.ts';
import type { Store, TreeChange } from '../../ports/git.ts';
import { withPrivateIndex, type Checkout } from './index-lock.ts';
import type { GitRunner } from '../run/run.ts';

interface BlobAt {
  path: RepoPath;
  oid: Oid;
}

/** Reads the files by path; each path may appear once. Throws GIT_FAILED when a blob is missing or its filter fails. */
export async function readCheckouts(git: GitRunner, files: BlobAt[]): Promise<Map<RepoPath, Uint8Array>> {
  // On an input line, git treats leading whitespace in a path as part of the separator.
  const [alone, together] = [files.filter(beginsWithSpace), files.filter((file) => !beginsWithSpace(file))];
  const read = await readTogether(git, together);
  for (const { path, oid } of alone)
    read.set(path, (await git.run(['cat-file', '--filters', `--path=${path}`, oid])).stdout);
  return read;
}

function beginsWithSpace({ path }: BlobAt): boolean {
  return /^[ \t]/.test(path);
}

async function readTogether(git: GitRunner, files: BlobAt[]): Promise<Map<RepoPath, Uint8Array>> {
  if (files.length === 0) return new Map();
  // git prints the blob's size, not its size after filters. Instead, a random word that no file can contain marks the
  // end of each file.
  const word = randomBytes(16).toString('hex');
  const input = files.map(({ path, oid }) => `${oid} ${path}\0`).join('');
  const args = ['cat-file', `--batch=%(objectname) %(objecttype) ${word}`, '--filters', '-z'];
  return splitAnswers((await git.run(args, { input })).stdout, files, word);
}

function splitAnswers(answers: Buffer, files: BlobAt[], word: string): Map<RepoPath, Uint8Array> {
  const read = new Map<RepoPath, Uint8Array>();
  const headers = files.map(({ oid }) => `${oid} blob ${word}\n`);
  let at = 0;
  for (const [index, file] of files.entries()) {
    const [header = '', next] = headers.slice(index, index + 2);
    if (answers.toString('latin1', at, at + header.length) !== header) throw toRefusal(file);
    const start = at + header.length;
    // Every answer ends with a newline that is not part of the file.
    const end = next === undefined ? answers.length - 1 : answers.indexOf(`\n${next}`, start);
    if (end < start) throw toRefusal(files[index + 1] ?? file);
    read.set(file.path, answers.subarray(start, end));
    at = end + 1;
  }
  return read;
}

function toRefusal({ path, oid }: BlobAt): TeddyError {
  return new DamagedObjectError(
    `git cat-file has no file ${oid} for ${path}.`,
    'Run `git fsck` to see what is damaged.',
  );
}

interface EqualFilesOptions {
  git: GitRunner;
  store: Store;
  gitDir: string;
}

/** Overrides settings that could make git trust an index more than the files, or write the index in another format. */
const plainly = ['core.ignoreStat=false', 'core.fsmonitor=false', 'core.splitIndex=false', 'index.sparse=false'];

/**
 * Returns the target's index entries, for `update-index --index-info`, for all files in its way that already contain
 * what the checkout would write, by git's own comparison: filters, line endings, modes and links included. An agent
 * that works on one branch while teddy records its work on another leaves such files behind. With these entries, git
 * sees no edit and does not touch the files. Omits paths where the user has staged anything else.
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

/** Returns a predicate that is true when a path, or one above or below it, is staged with content that is not in the commit. */
async function readStaged(git: GitRunner, commit: Checkout['from']): Promise<(path: string) => boolean> {
  const diff = ['diff-index', '--cached', '--name-only', '--no-renames', '--no-relative', '--ita-invisible-in-index'];
  const staged = await git.list(
    commit === null ? ['ls-files', '-z'] : [...diff, '--ignore-submodules=none', '-z', commit],
  );
  const paths = new Set<string>(staged);
  const above = new Set<string>(staged.flatMap(parentsOf));
  return (path) => paths.has(path) || above.has(path) || parentsOf(path).some((parent) => paths.has(parent));
}
