/**
 * Loads the bundle together with V8's cached compiled code. Because a short command spends most of its time compiling,
 * the cache reduces the time of `teddy plan` to about two thirds.
 */
import { isAscii } from 'node:buffer';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { Script } from 'node:vm';
import { toShortForm } from './arguments.ts';

export interface CompiledCode<Exports> {
  exports: Exports;
  /** Stores the code compiled so far for the next process, once for each version of the bundle. */
  keep(): void;
}

/** Returns a command's name as part of a file name: `teddy ls` uses the code of `list`. */
export function nameUse(argv: readonly string[]): string {
  const isWord = (word: string) => /^[a-z]+$/.test(word);
  return toShortForm(argv).slice(0, 2).filter(isWord).join('-');
}

/**
 * Loads the bundle and its cache. Each `use` has its own cache next to the bundle, because each compiles other parts.
 * The caches' names also depend on the bundle's content, because V8 itself compares only the length.
 */
export function loadCompiled<Exports>(path: string, use: string): CompiledCode<Exports> {
  const bytes = readFileSync(path);
  // The build keeps the bundle plain ASCII: V8 then makes a string from it in a third of the time, and compiles half
  // the bytes.
  const source = isAscii(bytes) ? bytes.toString('latin1') : bytes.toString('utf8');
  const key = createHash('sha1').update(bytes).digest('hex').slice(0, 16);
  const cachePath = `${path}-${key}-${use}.cache`;
  const cachedData = existsSync(cachePath) ? readFileSync(cachePath) : undefined;
  const wrapped = `(function (exports, require, module, __filename, __dirname) {${source}\n})`;
  const script = new Script(wrapped, { filename: path, ...(cachedData ? { cachedData } : {}) });
  const module = { exports: {} };
  const run = script.runInThisContext() as (...args: unknown[]) => void;
  run(module.exports, createRequire(path), module, path, dirname(path));
  const isFresh = cachedData !== undefined && script.cachedDataRejected !== true;
  return {
    exports: module.exports as Exports,
    keep: () => (isFresh ? undefined : keepCache(cachePath, script.createCachedData())),
  };
}

/** If teddy cannot write the cache, as in a global installation that another user owns, it compiles the code each time. */
function keepCache(path: string, bytes: Buffer): void {
  const temporary = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    writeFileSync(temporary, bytes, { flag: 'wx' });
    renameSync(temporary, path);
  } catch {
    if (existsSync(temporary)) unlinkSync(temporary);
  }
}
