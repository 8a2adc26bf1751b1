/**
 * A temporary repository with an identity and one commit, and the queries that tests make.
 *
 *   const repo = await makeScratchRepository({ 'src/a.ts': 'export {};\n' });
 *   const before = await repo.fingerprint();
 *   ...
 *   expect(await repo.fingerprint()).toEqual(before);
 *   await repo.close(); // `git fsck --strict`, then removes it
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFile,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { keepRepository, writeRepository, type KeptRepository } from './repository-copy.ts';

export interface ScratchRepository {
  /** The root of the work tree; absolute, without links in the path. */
  root: string;
  /** Runs git in the work tree; its stdout without the last newline. Throws with stderr when git fails. */
  git(...args: string[]): Promise<string>;
  /** Whether git exits with 0. */
  gitSucceeds(...args: string[]): Promise<boolean>;
  write(path: string, content: string | Uint8Array): Promise<void>;
  read(path: string): Promise<string>;
  /** Sorted; empty if the directory does not exist. */
  list(path: string): Promise<string[]>;
  /** Writes the files, adds exactly them and commits. Returns the commit's id. */
  commit(files: Record<string, string>, message?: string): Promise<string>;
  fingerprint(): Promise<Fingerprint>;
  /** Throws the findings of `git fsck --strict`. */
  fsck(): Promise<void>;
  /** Checks with fsck, then removes everything. */
  close(): Promise<void>;
}

/** Everything that a command without permission to touch the repository must leave alone. Compare with `toEqual`. */
export interface Fingerprint {
  head: string;
  /** sha256 of the index file; `none` if it does not exist. */
  index: string;
  /** The reflog of the stash; `none` if it does not exist. */
  stash: string;
  config: string;
  refs: string[];
  /** Path of each file in the work tree (`.git` excluded) with its mode and sha256. */
  workTree: Record<string, string>;
}

/** The first of its kind is made by git, and the others are copies of it. */
const kept = new Map<string, KeptRepository>();

export async function makeScratchRepository(
  files: Record<string, string> = { 'README.md': '# Scratch\n' },
  options: { objectFormat?: 'sha1' | 'sha256'; firstCommit?: boolean } = {},
): Promise<ScratchRepository> {
  const environment = Object.entries(process.env).filter(([name]) => name === 'HOME' || name.startsWith('GIT_'));
  const key = JSON.stringify([files, options, environment]);
  const known = kept.get(key);
  if (known !== undefined) return writeScratch(known);
  const repository = openScratchRepository(await makeRoot());
  await initialize(repository, files, options);
  kept.set(key, keepRepository(repository.root));
  return repository;
}

async function initialize(
  repository: ScratchRepository,
  files: Record<string, string>,
  options: { objectFormat?: 'sha1' | 'sha256'; firstCommit?: boolean },
): Promise<void> {
  await repository.git('init', '--quiet', '-b', 'main', `--object-format=${options.objectFormat ?? 'sha1'}`);
  const config = join(repository.root, '.git', 'config');
  await appendFile(config, '[user]\n\tname = Ada Example\n\temail = ada@example.org\n');
  if (!(options.firstCommit ?? true)) return;
  for (const [path, text] of Object.entries(files)) await repository.write(path, text);
  await repository.git('add', '--force', '--', ...Object.keys(files));
  await repository.git('commit', '--quiet', '-m', 'First commit');
}

async function makeRoot(): Promise<string> {
  return realpath(await mkdtemp(join(tmpdir(), 'teddy-scratch-')));
}

async function writeScratch(repository: KeptRepository): Promise<ScratchRepository> {
  const root = await makeRoot();
  writeRepository(repository, root);
  return openScratchRepository(root);
}

/** A copy in its own place: a scene that many tests begin with is made once. */
export function copyScratchRepository(from: ScratchRepository): Promise<ScratchRepository> {
  return writeScratch(keepRepository(from.root));
}

/** Opens a scene that tests begin with: `make` makes the first, and the others are copies of it. */
export function sceneOf(make: () => Promise<ScratchRepository>): () => Promise<ScratchRepository> {
  let known: KeptRepository | null = null;
  return async () => {
    if (known !== null) return writeScratch(known);
    const made = await make();
    known = keepRepository(made.root);
    return made;
  };
}

/** The same view of an existing repository: a clone, a linked work tree. */
export function openScratchRepository(root: string): ScratchRepository {
  const git = (...args: string[]) => runGit(root, args);
  const write = async (path: string, content: string | Uint8Array) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  };
  const fsck = async () => {
    const info = await Promise.all(
      ['info', 'pack'].map((name) => readdir(join(root, '.git', 'objects', name)).catch(() => null)),
    );
    // Git starts a process for each of these, whether it exists or not.
    const none = info.every((names) => names?.every((name) => /\.(?:pack|idx|rev)$/.test(name)));
    const settings = none ? ['-c', 'core.commitGraph=false', '-c', 'core.multiPackIndex=false'] : [];
    await git(...settings, 'fsck', '--strict', '--no-dangling', '--no-progress');
  };
  return {
    root,
    git,
    gitSucceeds: (...args) =>
      git(...args).then(
        () => true,
        () => false,
      ),
    write,
    read: (path) => readFile(join(root, path), 'utf8'),
    list: async (path) => (await readdir(join(root, path)).catch(() => [])).toSorted(),
    async commit(content, message = 'Change') {
      for (const [path, text] of Object.entries(content)) await write(path, text);
      await git('add', '--force', '--', ...Object.keys(content));
      await git('commit', '--quiet', '-m', message);
      return await git('rev-parse', 'HEAD');
    },
    fingerprint: () => takeFingerprint(root),
    fsck,
    async close() {
      try {
        await fsck();
      } finally {
        await rm(root, { recursive: true, force: true });
      }
    },
  };
}

function runGit(cwd: string, args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile('git', args, { cwd, maxBuffer: 256 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout.replace(/\n$/, ''));
      else reject(new Error(`git ${args.join(' ')}: ${stderr}${stdout}`, { cause: error }));
    });
  });
}

async function takeFingerprint(root: string): Promise<Fingerprint> {
  const { gitDir, commonDir } = await findGitDirs(root);
  const orNone = (promise: Promise<string>) => promise.catch(() => 'none');
  const config = await readFile(join(commonDir, 'config'), 'utf8');
  return {
    head: await readFile(join(gitDir, 'HEAD'), 'utf8'),
    index: await orNone(readFile(join(gitDir, 'index')).then(sha256)),
    stash: await orNone(readFile(join(commonDir, 'logs/refs/stash'), 'utf8')),
    // Other files have the settings that it includes.
    config: /^\s*\[include/im.test(config)
      ? await runGit(root, ['config', '--list', '--local', '--show-origin'])
      : config,
    refs: (await runGit(root, ['for-each-ref', '--format=%(refname) %(objectname)'])).split('\n'),
    workTree: await hashTree(root, ''),
  };
}

/** Git is asked only if a repository differs from most of them. */
async function findGitDirs(root: string): Promise<{ gitDir: string; commonDir: string }> {
  const usual = join(root, '.git');
  const stats = await lstat(usual).catch(() => null);
  if (stats?.isDirectory()) return { gitDir: usual, commonDir: usual };
  const dirs = await runGit(root, ['rev-parse', '--path-format=absolute', '--git-dir', '--git-common-dir']);
  const [gitDir = '', commonDir = ''] = dirs.split('\n');
  return { gitDir, commonDir };
}

async function hashTree(root: string, below: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of (await readdir(join(root, below)).catch(() => [])).toSorted()) {
    const path = below === '' ? name : `${below}/${name}`;
    if (path === '.git') continue;
    const stat = await lstat(join(root, path));
    if (stat.isDirectory()) Object.assign(found, await hashTree(root, path));
    else if (stat.isSymbolicLink()) found[path] = `link ${await readlink(join(root, path))}`;
    else found[path] = `${(stat.mode & 0o777).toString(8)} ${sha256(await readFile(join(root, path)))}`;
  }
  return found;
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
