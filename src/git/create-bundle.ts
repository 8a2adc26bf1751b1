/** A branch with its history as one file, which `git clone` and `git fetch` take for a remote. */
import { once } from 'node:events';
import { join } from 'node:path';
import { TeddyError } from '../errors.ts';
import type { RefName } from '../session/names.ts';
import { fileExists } from './index-lock.ts';
import type { GitRunner } from './run.ts';

export async function* createBundle(git: GitRunner, commonDir: string, ref: RefName): AsyncIterable<Uint8Array> {
  // git makes one all the same, and nobody could open it.
  if (await fileExists(join(commonDir, 'shallow'))) {
    throw new TeddyError(
      'DAMAGED_SESSION',
      'The history of this clone is cut off, so a bundle of it would not stand on its own.',
      'Fetch all of it: `git fetch --unshallow`.',
    );
  }
  const child = git.start(['bundle', 'create', '--quiet', '-', ref]);
  const said: Buffer[] = [];
  child.stderr.on('data', (chunk: Buffer) => said.push(chunk));
  child.stdin.on('error', () => undefined);
  child.stdin.end();
  const closed = once(child, 'close') as Promise<[number | null]>;
  closed.catch(() => undefined);
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) yield chunk;
  const [code] = await closed;
  if (code === 0) return;
  throw new TeddyError('GIT_FAILED', `git bundle failed: ${Buffer.concat(said).toString('utf8').trim()}`);
}
