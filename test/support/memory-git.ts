/**
 * The few git commands that tests use to inspect a repository and to work in it by hand, for an in-memory repository.
 * All others throw, because everything that depends on git itself is tested with real git.
 */
import type { Oid } from '../../src/names.ts';
import type { RepoPath } from '../../src/names.ts';
import { shortRef } from '../../src/names.ts';
import type { MemoryProject } from './memory-repository.ts';
import type { ScratchRepository } from './scratch-repository.ts';

export type MemoryScratch = Pick<
  ScratchRepository,
  'root' | 'git' | 'read' | 'write' | 'list' | 'commit' | 'fingerprint'
>;

export function memoryScratch(project: MemoryProject, root: string): MemoryScratch {
  const { fs } = project;
  const { store, workspace } = project.repository;
  const list = async (path: string) => {
    const names = await fs.promises.readdir(`${root}/${path}`).catch(() => []);
    return (names as string[]).toSorted();
  };
  return {
    root,
    git: (...args) => runGit(project, args),
    async read(path) {
      const text = await project.read(path);
      if (text === null) throw new Error(`There is no ${path}.`);
      return text;
    },
    write: (path, content) => project.write({ [path]: content.toString() }),
    list,
    commit: (files, message = 'More files') => project.commit(`${message}\n`, files),
    fingerprint: async () => ({
      head: JSON.stringify(await workspace.head()),
      index: JSON.stringify([...project.state.index]),
      stash: 'none',
      config: JSON.stringify([...project.configuration]),
      refs: (await store.listRefs('refs/')).map(({ ref, oid }) => `${oid} ${ref}`),
      workTree: Object.fromEntries(await readAll(fs, root, '')),
    }),
  };
}

async function readAll(fs: MemoryProject['fs'], root: string, dir: string): Promise<[path: string, text: string][]> {
  const found: [string, string][] = [];
  for (const name of (await fs.promises.readdir(`${root}/${dir}`)) as string[]) {
    const path = dir === '' ? name : `${dir}/${name}`;
    if (name === '.git') continue;
    if ((await fs.promises.stat(`${root}/${path}`)).isDirectory()) found.push(...(await readAll(fs, root, path)));
    else found.push([path, String(await fs.promises.readFile(`${root}/${path}`, 'utf8'))]);
  }
  return found;
}

type Command = (project: MemoryProject, words: string[], flags: string[]) => Promise<string>;

const commands: Record<string, Command> = {
  'rev-parse': async (project, words) =>
    (await Promise.all(words.map((revision) => resolve(project, revision)))).join('\n'),
  async switch(project, [name = ''], flags) {
    if (flags.includes('--detach')) await project.detach();
    else await project.switchTo(name, flags.includes('-c') ? await resolve(project, 'HEAD') : undefined);
    return '';
  },
  async config(project, [key = '', value], flags) {
    if (flags.includes('--unset')) project.configuration.delete(key);
    else if (value === undefined) return project.configuration.get(key) ?? '';
    else project.configuration.set(key, value);
    return '';
  },
  async show(project, [name = '']) {
    const [revision = '', path] = name.split(':');
    if (path === undefined) throw new Error('Only files of commits are shown in memory.');
    const text = await project.readAt(await resolve(project, revision), path);
    if (text === null) throw new Error(`${revision} has no ${path}.`);
    return text.replace(/\n$/, '');
  },
  async 'symbolic-ref'(project) {
    const { ref } = await project.repository.workspace.head();
    if (ref === null) throw new Error('HEAD is detached.');
    return shortRef(ref);
  },
  async branch(project, _words, flags) {
    if (!flags.includes('--show-current')) throw new Error('Only the current branch is told in memory.');
    const { ref } = await project.repository.workspace.head();
    return ref === null ? '' : shortRef(ref);
  },
  async log(project, [revision = 'HEAD'], flags) {
    const format = flags.find((flag) => flag.startsWith('--format='))?.slice('--format='.length) ?? '';
    const most = flags.includes('-1') ? 1 : Infinity;
    const rows: string[] = [];
    for (let oid: Oid | null = await resolve(project, revision); oid !== null && rows.length < most;) {
      const commit = await project.repository.store.readCommit(oid);
      rows.push(formatCommit(format, oid, commit.message));
      oid = commit.parents[0] ?? null;
    }
    return rows.join('\n').trimEnd();
  },
  async 'for-each-ref'(project, prefixes, flags) {
    const isShort = flags.includes('--format=%(refname:short)');
    const all = prefixes.length === 0 ? ['refs/'] : prefixes.map((prefix) => prefix.replace(/\*$/, ''));
    const refs = await project.repository.store.listRefs(...all);
    return refs.map(({ ref }) => (isShort ? shortRef(ref) : ref)).join('\n');
  },
  async 'ls-tree'(project, [revision = 'HEAD']) {
    const files = await project.repository.store.listTree(await resolve(project, revision));
    return files.map(({ path }) => path).join('\n');
  },
  async commit(project, words, flags) {
    if (!flags.some((flag) => /^-(?:am|qam|a|-all)$/.test(flag))) throw new Error('Only `commit -a` is in memory.');
    await project.commit(`${words[0] ?? ''}\n`);
    return '';
  },
};

const known = new Set([
  '-q',
  '--quiet',
  '-c',
  '--detach',
  '--unset',
  '--short',
  '--first-parent',
  '-1',
  '-r',
  '--show-current',
  '--no-renames',
]);
const isKnown = (flag: string) =>
  known.has(flag) || /^(?:--name-only|--format=.*|-am|-qam|-a|--all|-m|--)$/s.test(flag);

async function runGit(project: MemoryProject, [name = '', ...args]: string[]): Promise<string> {
  const command = commands[name];
  const isFlag = (word: string) => word.startsWith('-');
  const strange = args.find((word) => isFlag(word) && !isKnown(word));
  if (command === undefined || strange !== undefined)
    throw new Error(`git ${name} ${strange ?? ''} is tried on real git only.`);
  return command(
    project,
    args.filter((word) => !isFlag(word)),
    args.filter(isFlag),
  );
}

async function resolve(project: MemoryProject, name: string): Promise<Oid> {
  const { store } = project.repository;
  const [revision = '', path] = name.split(':');
  const [, base = '', steps = ''] = /^(.*?)((?:~\d*|\^)*)$/s.exec(revision) ?? [];
  let oid = await store.resolve(base);
  for (const [, count = '1'] of steps.matchAll(/~(\d*)|\^/g))
    for (let left = Number(count === '' ? 1 : count); left > 0 && oid !== null; left -= 1)
      oid = (await store.readCommit(oid)).parents[0] ?? null;
  const found = oid === null || path === undefined ? oid : await store.findOid(oid, path as RepoPath);
  if (found === null) throw new Error(`There is no ${name}.`);
  return found;
}

function formatCommit(format: string, oid: Oid, message: string): string {
  const [subject = ''] = message.split('\n');
  const values: Record<string, string> = { '%H': oid, '%h': oid.slice(0, 7), '%s': subject, '%B': message };
  return format.replaceAll(/%[a-zA-Z]/g, (place) => {
    const value = values[place];
    if (value === undefined) throw new Error(`${place} is tried on real git only.`);
    return value;
  });
}
