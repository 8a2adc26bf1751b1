/** The few file system calls that the reader itself makes; isomorphic-git makes all others. */

type Call = (...args: never[]) => unknown;

/** The methods of `node:fs` that are needed for reading; `openBundle` also needs the methods that write. */
interface FileCalls {
  readFile: Call;
  readdir: Call;
  stat: Call;
  lstat: Call;
  readlink: Call;
  writeFile: Call;
  mkdir: Call;
  unlink: Call;
  rmdir: Call;
  symlink: Call;
}

/** `node:fs`, memfs, LightningFS, or a similar file system, with methods that return promises or take callbacks. */
export type FileSystem = { promises: FileCalls } | FileCalls;

export interface Files {
  /** Returns null when the file does not exist. */
  read(path: string): Promise<Uint8Array | null>;
  write(path: string, bytes: Uint8Array): Promise<void>;
  /** Also creates the parent directories. */
  makeDir(path: string): Promise<void>;
  /** Does not fail when the file does not exist. */
  remove(path: string): Promise<void>;
}

const absent = new Set<unknown>(['ENOENT', 'ENOTDIR', 'EISDIR']);

export function openFiles(fs: FileSystem): Files {
  const call = (name: keyof FileCalls, ...args: unknown[]): Promise<unknown> => {
    if ('promises' in fs) return Reflect.apply(fs.promises[name], fs.promises, args) as Promise<unknown>;
    return new Promise((resolve, reject) => {
      const settle = (error: unknown, value: unknown) => (error ? reject(error as Error) : resolve(value));
      Reflect.apply(fs[name], fs, [...args, settle]);
    });
  };
  const unless = (codes: ReadonlySet<unknown>) => (error: unknown) => {
    if (codes.has((error as { code?: unknown }).code)) return null;
    throw error;
  };
  return {
    // LightningFS returns undefined for a directory.
    read: async (path) => ((await call('readFile', path).catch(unless(absent))) as Uint8Array | undefined) ?? null,
    write: async (path, bytes) => void (await call('writeFile', path, bytes)),
    async makeDir(path) {
      const parts = path.split('/');
      for (let length = 1; length <= parts.length; length += 1) {
        const dir = parts.slice(0, length).join('/');
        if (dir !== '') await call('mkdir', dir).catch(unless(new Set(['EEXIST', 'EISDIR'])));
      }
    },
    remove: async (path) => void (await call('unlink', path).catch(unless(absent))),
  };
}
