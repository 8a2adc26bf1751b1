/** Makes the names of objects durable that a git has written for us: it waits for their content, and not for their names. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { syncDir } from '../../disk/replace-file.ts';

/** The clock of files goes in steps. */
const clockStepMs = 50;

/** `make` runs git; every folder of objects that has changed since it began is on disk when this returns. */
export async function withDurableNames<Value>(objectsDir: string, make: () => Promise<Value>): Promise<Value> {
  const sinceMs = Date.now() - clockStepMs;
  const made = await make();
  const names = (await readdir(objectsDir)).filter((name) => /^(?:[0-9a-f]{2}|pack)$/.test(name));
  const dirs = [objectsDir, ...names.map((name) => join(objectsDir, name))];
  const changed = await Promise.all(dirs.map(async (dir) => ((await changedMs(dir)) >= sinceMs ? [dir] : [])));
  await Promise.all(changed.flat().map(syncDir));
  return made;
}

/** A folder that a `git gc` removes meanwhile holds nothing any more. */
async function changedMs(dir: string): Promise<number> {
  return stat(dir).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
}
