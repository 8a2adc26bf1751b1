/** Replaces `node:fs/promises` in the child program: the same calls, each of which is a point. */
import * as real from 'node:fs/promises';
import { constants } from 'node:os';
import type { FileHandle } from 'node:fs/promises';
import { passCall } from './fault-points.ts';

/** The product's file that a path belongs to; in the order in which they are tried. */
const places: [pattern: RegExp, name: string][] = [
  [/\/objects\/..\/tmp_obj/, 'temporary object'],
  [/\/objects\/..\/./, 'object'],
  [/\/objects(\/..)?$/, 'object directory'],
  [/\/teddy\/append-[^/]*\.tmp/, 'temporary record'],
  [/\/teddy\/append-/, 'record'],
  [/\/teddy\/lock-[^/]*\.tmp/, 'temporary claim'],
  [/\/teddy\/lock-/, 'claim'],
  [/\/teddy\/index-/, 'next index'],
  [/\/teddy\/snapshot-/, 'snapshot index'],
  [/\/teddy\/runs\/[^/]+\/kept$/, 'kept bytes'],
  [/\/teddy\/runs\/[^/]+(\/journal\.jsonl)?$/, 'journal'],
  [/\/write_sessions\/[^/]+\.claim\.(new|after)-/, 'temporary write claim'],
  [/\/write_sessions\/[^/]+\.claim$/, 'write claim'],
  [/\/write_sessions\/[^/]+\.(new|gone)(\/|$)/, 'unfinished write'],
  [/\/write_sessions\/[^/]+\/metadata/, 'write metadata'],
  [/\/write_sessions\/[^/]+\/state\.json\.tmp$/, 'temporary write state'],
  [/\/write_sessions\/[^/]+\/state\.json$/, 'write state'],
  [/\/write_sessions\/[^/]+\/content/, 'write content'],
  [/\/write_sessions\/[^/]+\/tail-/, 'write tail'],
  [/\/write_sessions(\/|$)/, 'write directory'],
  [/\/teddy\/journal\/[^/]*\.content$/, 'staged bytes'],
  [/\/teddy\/journal\/[^/]*\.json\./, 'temporary note'],
  [/\/teddy\/journal(\/|$)/, 'note'],
  [/\/teddy\/aside(\/|$)/, 'place aside'],
  [/\/teddy\/spool\/drainer/, 'drainer claim'],
  [/\/teddy\/spool(\/|$)/, 'spool'],
  [/\/teddy\/capture(\/|$)/, 'follower state'],
  [/\.home\//, 'agent log'],
  [/\/\.git\/index\.lock$/, 'index lock'],
  [/\/\.git\/index$/, 'index'],
  [/\/\.git\/HEAD$/, 'HEAD'],
  [/\/\.git\/info\//, 'attributes'],
  [/\/\.git\/(logs\/)?refs(\/|$)/, 'ref directory'],
  [/\/\.git(\/|$)/, 'git directory'],
  [/\/\.teddy(\/|$)/, 'session file'],
  [/^\/proc\//, 'boot id'],
];

function placeOf(path: unknown): string {
  return places.find(([pattern]) => pattern.test(String(path)))?.[1] ?? 'project file';
}

function toSystemError(code: string, call: string, path: unknown): NodeJS.ErrnoException {
  const errno = -((constants.errno as Record<string, number>)[code] ?? 5);
  return Object.assign(new Error(`${code}: made to fail, ${call} '${String(path)}'`), { code, errno, syscall: call });
}

type Call<Args extends unknown[], Result> = (...args: Args) => Promise<Result>;

/** `place` is the argument that names the changed path: the target of a rename or a link. */
function guard<Args extends unknown[], Result>(
  name: string,
  call: Call<Args, Result>,
  place: number = 0,
): Call<Args, Result> {
  return async (...args) => {
    // A look at all processes on the machine takes a different number of calls each time.
    const isScan = /^\/proc(?:\/\d+\/fd.*)?$/.test(String(args[place]));
    const code = isScan ? null : passCall(`${name} ${placeOf(args[place])}`);
    if (code !== null) throw toSystemError(code, name, args[place]);
    return call(...args);
  };
}

const handleCalls = new Set<string | symbol>([
  'write',
  'writeFile',
  'read',
  'readFile',
  'truncate',
  'sync',
  'datasync',
  'chmod',
  'utimes',
  'close',
  'stat',
]);

function guardHandle(handle: FileHandle, path: unknown): FileHandle {
  return new Proxy(handle, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      const call = (...args: unknown[]): unknown => Reflect.apply(value, target, args);
      if (!handleCalls.has(key)) return call;
      return async (...args: unknown[]) => {
        const code = passCall(`${String(key)} ${placeOf(path)}`);
        if (code === null) return call(...args);
        if (key === 'writeFile') await writeHalf(target, args[0]);
        if (key === 'write') await writeHalf(target, args[0], Number(args[3]));
        // A failing close still releases the file.
        if (key === 'close') await target.close();
        throw toSystemError(code, String(key), path);
      };
    },
  });
}

async function writeHalf(handle: FileHandle, bytes: unknown, at: number | null = null): Promise<void> {
  const all = Buffer.from(bytes as Uint8Array);
  await handle.write(all, 0, all.length >> 1, at);
}

export const open: typeof real.open = async (path, ...rest) =>
  guardHandle(await guard('open', real.open)(path, ...rest), path);
export const appendFile = guard('appendFile', real.appendFile as Call<[string, string | Uint8Array], unknown>);
export const access = guard('access', real.access);
export const cp = guard('cp', real.cp, 1);
export const symlink = guard('symlink', real.symlink, 1);
export const chmod = guard('chmod', real.chmod);
export const chown = guard('chown', real.chown);
export const copyFile = guard('copyFile', real.copyFile, 1);
export const link = guard('link', real.link, 1);
export const lstat = guard('lstat', real.lstat as Call<[string, object?], unknown>);
export const mkdir = guard('mkdir', real.mkdir as Call<[string, object?], unknown>);
export const mkdtemp = guard('mkdtemp', real.mkdtemp as Call<[string], string>);
export const readFile = guard('readFile', real.readFile as Call<[string, unknown?], unknown>);
export const readdir = guard('readdir', real.readdir as Call<[string], string[]>);
export const readlink = guard('readlink', real.readlink as Call<[string], string>);
export const realpath = guard('realpath', real.realpath as Call<[string], string>);
export const rename = guard('rename', real.rename, 1);
export const rm = guard('rm', real.rm);
export const rmdir = guard('rmdir', real.rmdir);
export const stat = guard('stat', real.stat as Call<[string, object?], unknown>);
export const unlink = guard('unlink', real.unlink);
export const utimes = guard('utimes', real.utimes);
export const writeFile = guard('writeFile', real.writeFile);
