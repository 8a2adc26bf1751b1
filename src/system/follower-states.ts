/** Keeps what is known about each followed log: sealed JSON, replaced as a whole. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceDurably } from '../disk/durable-file.ts';
import { makePrivateDirectory } from '../disk/durable-file.ts';
import { seal, unseal } from '../disk/sealed-json.ts';
import { removeFile } from '../disk/replace-file.ts';
import { fallBackTo } from '../disk/system-error.ts';
import type { FollowerStates } from '../ports/agent-logs.ts';
import { sha256 } from './hash.ts';

/** A damaged file counts as none: the log is then read from its beginning, and nothing of it is taken twice. */
export function followerStates(dir: string): FollowerStates {
  const fileOf = (path: string) => join(dir, `${sha256(path).slice(0, 32)}.json`);
  const read = async (file: string) => {
    const text = await readFile(file, 'utf8').catch(fallBackTo(null, 'ENOENT'));
    return text === null ? null : unseal(text);
  };
  return {
    async list() {
      const names = await readdir(dir).catch(fallBackTo([], 'ENOENT'));
      const states = await Promise.all(
        names.filter((name) => /^[0-9a-f]{32}\.json$/.test(name)).map((name) => read(join(dir, name))),
      );
      return states.filter((state) => state !== null);
    },
    read: (path) => read(fileOf(path)),
    async write(path, state) {
      await makePrivateDirectory(dir);
      await replaceDurably(fileOf(path), `${JSON.stringify(seal(state))}\n`, 0o600);
    },
    remove: (path) => removeFile(fileOf(path)),
  };
}
