/** The port `ProjectFiles` on memfs. Without symlinks, which are left to the tests of the real one. */
import { TeddyError } from '../../src/errors.ts';
import type { ProjectFiles } from '../../src/ports/disk.ts';
import type { FileTarget } from '../../src/ports/files.ts';
import type { RepoPath } from '../../src/names.ts';
import { findTwin } from '../../src/session/paths/twin-names.ts';
import { root, type MemoryDisk } from './memory-objects.ts';

export function memoryFiles({ fs }: MemoryDisk): ProjectFiles {
  const inspect = async (path: RepoPath): Promise<FileTarget> => {
    const parts = path.split('/');
    for (let depth = 1; depth < parts.length; depth += 1) {
      const parent = parts.slice(0, depth).join('/') as RepoPath;
      const stats = await fs.promises.stat(`${root}/${parent}`).catch(() => null);
      if (stats === null) return { kind: 'absent' };
      if (!stats.isDirectory()) return { kind: 'blocked', parent };
    }
    const stats = await fs.promises.stat(`${root}/${path}`).catch(() => null);
    if (stats === null) return { kind: 'absent' };
    if (stats.isDirectory()) return { kind: 'directory' };
    const bytes = Buffer.from(await fs.promises.readFile(`${root}/${path}`));
    return { kind: 'file', bytes, executable: (Number(stats.mode) & 0o100) !== 0 };
  };
  const install: ProjectFiles['install'] = async (path, bytes, executable) => {
    const { kind } = await inspect(path);
    if (kind !== 'absent' && kind !== 'file') throw new TeddyError('WRITE_FAILED', `${path} is ${kind}.`);
    const target = `${root}/${path}`;
    await fs.promises.mkdir(target.slice(0, target.lastIndexOf('/')), { recursive: true });
    await fs.promises.writeFile(target, bytes);
    if (executable !== undefined) await fs.promises.chmod(target, executable ? 0o755 : 0o644);
  };
  return {
    inspect,
    inside: async (path) => (path.startsWith(`${root}/`) ? path.slice(root.length + 1) : null),
    findTwin: (path) =>
      findTwin(path, async (dir) => (await fs.promises.readdir(`${root}/${dir}`).catch(() => [])).map(String)),
    install,
    async installNew(path, bytes) {
      if ((await inspect(path)).kind === 'file') return 'exists';
      await install(path, bytes);
      return 'done';
    },
    async remove(path) {
      await fs.promises.rm(`${root}/${path}`, { force: true });
      const parents = path.split('/').slice(0, -1);
      for (; parents.length > 0; parents.pop()) {
        const parent = `${root}/${parents.join('/')}`;
        if ((await fs.promises.readdir(parent).catch(() => ['gone'])).length > 0) return;
        await fs.promises.rmdir(parent);
      }
    },
    removeLeftovers: () => Promise.resolve(),
    async readState(path) {
      const stats = await fs.promises.lstat(`${root}/${path}`).catch(() => null);
      if (stats === null) return { kind: 'absent' };
      if (!stats.isFile()) return { kind: 'other' };
      const bytes = Buffer.from(await fs.promises.readFile(`${root}/${path}`));
      return { kind: 'file', bytes, mode: Number(stats.mode) & 0o7777 };
    },
    async putState(path, state) {
      const target = `${root}/${path}`;
      if (state.kind === 'absent') return fs.promises.rm(target, { force: true });
      if (state.kind === 'other' || state.kind === 'link')
        throw new TeddyError('WRITE_FAILED', `${path}: no links here.`);
      await fs.promises.mkdir(target.slice(0, target.lastIndexOf('/')), { recursive: true });
      await fs.promises.writeFile(target, state.bytes);
      await fs.promises.chmod(target, state.kind === 'file' ? state.mode : state.executable ? 0o755 : 0o644);
    },
    findAge: async () => 'since',
    async removeEmptyDirectories(directories) {
      for (const path of directories) {
        const directory = `${root}/${path}`;
        if ((await fs.promises.readdir(directory).catch(() => ['gone'])).length === 0)
          await fs.promises.rmdir(directory);
      }
    },
  };
}
