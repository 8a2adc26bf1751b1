/** One process at a time executes a turn, or answers one in a conversation: what tools do must not be done twice. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { TeddyError } from '../errors.ts';
import { asDiskErrors } from '../disk/system-error.ts';
import type { RunClaim, RunDirs } from '../ports/git.ts';
import { runName } from '../names.ts';
import { claimFile, type ClaimOptions } from '../disk/claim-file.ts';

const doings = {
  executed: 'Wait for it, or stop it; `teddy session show` shows its report when it is done.',
  answered: 'Wait for the answer, and say it then; `teddy session say` adds it now, without asking a model.',
};

export const claimPath = (runs: string, place: RunDirs): string => join(runs, `${runName(place)}.json`);

/** `runs`: the directory of claims. Throws LOCKED, also while this very process has the claim; WRITE_FAILED, DISK_FULL, as does `release`. */
export async function claimRun(
  runs: string,
  place: RunDirs,
  options: ClaimOptions,
  doing: keyof typeof doings = 'executed',
): Promise<RunClaim> {
  await orUnclaimed(() => mkdir(runs, { recursive: true }));
  const claim = await orUnclaimed(() => claimFile(claimPath(runs, place), options));
  if ('release' in claim) return { release: () => orUnclaimed(claim.release) };
  const who = claim.heldBy === process.pid ? 'this process' : `process ${claim.heldBy}`;
  throw new TeddyError('LOCKED', `Turn ${place.turn} of ${place.session} is being ${doing} by ${who}.`, doings[doing]);
}

function orUnclaimed<Value>(act: () => Promise<Value>): Promise<Value> {
  const what = 'The claim of a turn could not be taken or given back';
  return asDiskErrors([what, 'Check the permissions of `.git/teddy`.'], act);
}
