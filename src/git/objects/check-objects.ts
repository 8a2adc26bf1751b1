/** Asks git itself about commits and objects: signatures and `git fsck`, one process each. */
import type { Signature, SignatureOptions } from '../../ports/git.ts';
import { parseOid, type Oid } from '../../names.ts';
import type { GitRunner } from '../run/run.ts';

/**
 * `%G?`. Expired signatures and keys were good in their time; of a key that is revoked, missing, or that nobody has called
 * trusted, nothing follows: of ssh, U is any key that is not among the allowed signers.
 */
const states: Record<string, Signature['state']> = {
  G: 'good',
  X: 'good',
  Y: 'good',
  B: 'bad',
  U: 'unknown',
  R: 'unknown',
  E: 'unknown',
};

/** The bytes are signed by the key that git names, and the key is not revoked, whether anybody trusts it or not. */
const proving: ReadonlySet<string> = new Set(['G', 'X', 'Y', 'U']);

export async function checkSignatures(
  git: GitRunner,
  from: Oid,
  not: readonly Oid[],
  { withKeys = false, signal }: SignatureOptions = {},
): Promise<Map<Oid, Signature>> {
  const found = new Map<Oid, Signature>();
  const signers = withKeys ? await chooseSigners(git) : [];
  const show = [
    '-c',
    'log.showSignature=false',
    ...signers,
    'log',
    '--first-parent',
    '--format=%H%x09%G?%x09%GF%x09%GP%x09%GS',
  ];
  for await (const row of git.lines([...show, from, '--not', ...not, '--'])) {
    // git asks gpg for each commit that has a signature: that can take long.
    if (signal?.aborted) break;
    const [oid = '', letter = '', key = '', primary = '', ...signer] = row.split('\t');
    const state = states[letter];
    const isProven = proving.has(letter);
    const keys = [...new Set([key, primary])].filter((one) => isProven && one !== '');
    if (state !== undefined) found.set(parseOid(oid), { state, keys, signer: isProven ? signer.join('\t') : '' });
  }
  return found;
}

/** Without a file of signers git does not look at a signature of ssh; with an empty one it says whose key it is. */
async function chooseSigners(git: GitRunner): Promise<string[]> {
  const { exitCode } = await git.run(['config', '--get', 'gpg.ssh.allowedSignersFile'], { accept: [1] });
  return exitCode === 0 ? [] : ['-c', 'gpg.ssh.allowedSignersFile=/dev/null'];
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
