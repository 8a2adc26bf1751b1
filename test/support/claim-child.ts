/**
 * A separate process that takes claims and begins write sessions, for tests that let several race or kill one. It reads
 * one job per line from stdin, as JSON, and answers each with a line.
 */
import { createInterface } from 'node:readline';
import { isAlive, readBootId } from '../../src/disk/process-identity.ts';
import type { RepoPath } from '../../src/names.ts';
import { claimFile, type Claim } from '../../src/disk/claim-file.ts';
import { writeStaging } from '../../src/system/writes/write-staging.ts';
import { writeLimits } from '../../src/session/settings/write-limits.ts';
import { initialState } from '../../src/write/write.ts';

export type ClaimJob =
  | { job: 'claim'; path: string; startAtMs: number; dieAt?: string }
  | { job: 'release' }
  | { job: 'begin'; dir: string; id: string; startAtMs: number; dieAt?: string };

let held: Claim | null = null;

async function perform(job: ClaimJob): Promise<string> {
  if (job.job === 'release') {
    await held?.release();
    held = null;
    return 'released';
  }
  const onStep = (step: string) => {
    if (step === job.dieAt) process.kill(process.pid, 'SIGKILL');
  };
  const processes = { bootId: readBootId, isAlive, onStep };
  while (Date.now() < job.startAtMs);
  if (job.job === 'claim') {
    const claim = await claimFile(job.path, processes);
    if ('release' in claim) held = claim;
    return 'release' in claim ? 'taken' : 'held';
  }
  const { dir, id } = job;
  const writes = writeStaging({ dir, clock: { now: () => new Date() }, ...processes });
  const nothing = {
    root: '/project',
    isLinked: false,
    line: null,
    base: null,
    endMarker: 'DONE',
    hasController: false,
  };
  const begunAt = new Date().toISOString();
  const wish = { id, intent: 'Race', target: 'a.txt' as RepoPath, operation: 'create' as const, begunAt, ...nothing };
  const staged = await writes.begin(wish, initialState(Date.now()), writeLimits);
  await staged.close();
  return 'begun';
}

for await (const line of createInterface({ input: process.stdin })) {
  const answer = await perform(JSON.parse(line) as ClaimJob).catch((error: unknown) =>
    error instanceof Error && 'code' in error ? String(error.code) : String(error),
  );
  process.stdout.write(`${answer}\n`);
}
