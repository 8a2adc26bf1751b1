/** Makes the names of objects that git wrote for teddy durable, because git syncs their content but not their names. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { syncDirectoryIfPossible } from '../../disk/replace-file.ts';

/** File times advance in steps. */
const clockStepMs = 50;

/** Runs `make`, which calls git. Resolves once every object folder that changed meanwhile is on disk. */
export async function withDurableNames<Value>(objectsDir: string, make: () => Promise<Value>): Promise<Value> {
  const sinceMs = Date.now() - clockStepMs;
  const made = await make();
  const names = (await readdir(objectsDir)).filter((name) => /^(?:[0-9a-f]{2}|pack)$/.test(name));
  const dirs = [objectsDir, ...names.map((name) => join(objectsDir, name))];
  const changed = await Promise.all(dirs.map(async (dir) => ((await changedMs(dir)) >= sinceMs ? [dir] : [])));
  await Promise.all(changed.flat().map(syncDirectoryIfPossible));
  return made;
}

/** Returns 0 for a folder that `git gc` removed, because the folder was empty. */
async function changedMs(dir: string): Promise<number> {
  return stat(dir).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
}
