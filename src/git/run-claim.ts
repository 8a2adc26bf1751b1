/** One process at a time executes a turn: what a plan does must not be done twice. */
import { link, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TeddyError } from '../errors.ts';
import type { RunClaim, RunPlace } from '../ports.ts';
import { runName } from '../session/names.ts';
import { removeFile, toWriteError } from './durable-file.ts';
import { isAlive, readBootId } from './index-lock.ts';

/** Throws LOCKED while another process executes the turn. */
export async function claimRun(commonDir: string, place: RunPlace): Promise<RunClaim> {
  const dir = join(commonDir, 'teddy', 'runs');
  const path = join(dir, `${runName(place)}.json`);
  const mine = join(dir, `claim-${process.pid}`);
  try {
    await mkdir(dir, { recursive: true });
    await writeFile(mine, JSON.stringify({ pid: process.pid, bootId: await readBootId() }));
    await removeStale(dir);
    await takeOver(path, mine, place);
    return { release: () => removeFile(path) };
  } catch (error) {
    throw toWriteError(error, path);
  } finally {
    await removeFile(mine);
  }
}

async function takeOver(path: string, mine: string, { session, turn }: RunPlace): Promise<void> {
  if (await linkNew(mine, path)) return;
  const holder = JSON.parse(await readFile(path, 'utf8').catch(() => '{}')) as { pid?: number; bootId?: string };
  if (typeof holder.pid === 'number' && (await isAlive(holder.pid, holder.bootId ?? ''))) {
    throw new TeddyError(
      'LOCKED',
      `Turn ${turn} of ${session} is being executed by process ${holder.pid}.`,
      'Wait for it, or stop it; `teddy session show` shows its report when it is done.',
    );
  }
  // Of two that find a dead claim, the rename lets one go first; the other then finds a living one.
  await rename(path, `${path}.dead-${process.pid}`).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  await removeFile(`${path}.dead-${process.pid}`);
  if (await linkNew(mine, path)) return;
  throw new TeddyError('LOCKED', `Turn ${turn} of ${session} is being executed by another process.`, 'Wait for it.');
}

/** What a process that was killed while it took a claim has left. */
async function removeStale(dir: string): Promise<void> {
  for (const name of await readdir(dir)) {
    const pid = Number(/(?:^claim|\.dead)-(\d+)$/.exec(name)?.[1] ?? process.pid);
    if (pid !== process.pid && !(await isAlive(pid, await readBootId()))) await removeFile(join(dir, name));
  }
}

async function linkNew(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
