/** One process at a time executes a turn: what a plan does must not be done twice. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { TeddyError } from '../errors.ts';
import type { RunClaim, RunPlace } from '../ports.ts';
import { runName } from '../session/names.ts';
import { claimFile, type ClaimOptions } from './claim-file.ts';

/** `runs`: the directory of claims. Throws LOCKED, also while this very process executes the turn. */
export async function claimRun(runs: string, place: RunPlace, options: ClaimOptions): Promise<RunClaim> {
  await mkdir(runs, { recursive: true });
  const claim = await claimFile(join(runs, `${runName(place)}.json`), options);
  if ('release' in claim) return claim;
  const who = claim.heldBy === process.pid ? 'this process' : `process ${claim.heldBy}`;
  throw new TeddyError(
    'LOCKED',
    `Turn ${place.turn} of ${place.session} is being executed by ${who}.`,
    'Wait for it, or stop it; `teddy session show` shows its report when it is done.',
  );
}
