/** A disk of plain values: paths and their contents. Directories follow from the paths. */
import type { FileTarget } from '../../src/ports/files.ts';
import type { RepoPath } from '../../src/names.ts';

export const path = (text: string) => text as RepoPath;
export const bytes = (text: string) => new TextEncoder().encode(text);

export function diskOf(content: Record<string, string | FileTarget>): (path: RepoPath) => Promise<FileTarget> {
  const targets = new Map(
    Object.entries(content).map(([name, target]): [string, FileTarget] => [
      name,
      typeof target === 'string' ? { kind: 'file', bytes: bytes(target), executable: false } : target,
    ]),
  );
  return async (wanted) => {
    const target = targets.get(wanted);
    if (target !== undefined) return target;
    const parent = [...targets].find(([name, { kind }]) => kind === 'file' && wanted.startsWith(`${name}/`))?.[0];
    if (parent !== undefined) return { kind: 'blocked', parent: path(parent) };
    const isDirectory = [...targets.keys()].some((name) => name.startsWith(`${wanted}/`));
    return { kind: isDirectory ? 'directory' : 'absent' };
  };
}
