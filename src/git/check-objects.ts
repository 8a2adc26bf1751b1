/** What git itself says of commits and objects: signatures, and `git fsck`. One process each. */
import type { SignatureState } from '../ports.ts';
import { parseOid, type Oid } from '../session/names.ts';
import type { GitRunner } from './run.ts';

/**
 * `%G?`. Expired signatures and keys were good in their time; of a key that is revoked, missing, or that nobody has called
 * trusted, nothing follows: of ssh, U is any key that is not among the allowed signers.
 */
const states: Record<string, SignatureState> = {
  G: 'good',
  X: 'good',
  Y: 'good',
  B: 'bad',
  U: 'unknown',
  R: 'unknown',
  E: 'unknown',
};

export async function checkSignatures(
  git: GitRunner,
  from: Oid,
  not: readonly Oid[],
  signal?: AbortSignal,
): Promise<Map<Oid, SignatureState>> {
  const found = new Map<Oid, SignatureState>();
  const show = ['-c', 'log.showSignature=false', 'log', '--first-parent', '--format=%H %G?'];
  for await (const row of git.lines([...show, from, '--not', ...not, '--'])) {
    // git asks gpg for each commit that has a signature: that can take long.
    if (signal?.aborted) break;
    const [oid = '', letter = ''] = row.split(' ');
    const state = states[letter];
    if (state !== undefined) found.set(parseOid(oid), state);
  }
  return found;
}

/** Without what is merely unreachable. */
export async function runFsck(git: GitRunner, tips: readonly Oid[]): Promise<string[]> {
  const args = ['fsck', '--no-dangling', '--no-reflogs', '--no-progress', ...tips];
  // Its exit code is a sum of what it found.
  const accept = Array.from({ length: 64 }, (_, code) => code);
  const { exitCode, stdout, stderr } = await git.run(args, { accept });
  const said = `${stdout.toString('utf8')}\n${stderr}`.split('\n').map((line) => line.trim());
  const rows = said.filter((line) => line !== '' && !line.startsWith('notice: '));
  if (exitCode !== 0) return rows.length === 0 ? [`git fsck ended with exit code ${exitCode}.`] : rows;
  return rows.filter((line) => /^(?:error|missing|broken|fatal)/.test(line));
}
