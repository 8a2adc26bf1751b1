/** Has git check signatures and objects (`git fsck`), with one process each. */
import type { Signature, SignatureOptions } from '../../ports/git.ts';
import { parseOid, type Oid } from '../../names.ts';
import type { GitRunner } from '../run/run.ts';

/**
 * The meanings of `%G?`. Expired signatures and keys were once good. A revoked, missing or untrusted key proves
 * nothing; for ssh, U is any key that is not among the allowed signers.
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

/** States in which the key named by git signed the bytes and is not revoked, whether or not the key is trusted. */
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
    // git runs gpg for each signed commit, which can take long.
    if (signal?.aborted) break;
    const [oid = '', letter = '', key = '', primary = '', ...signer] = row.split('\t');
    const state = states[letter];
    const isProven = proving.has(letter);
    const keys = [...new Set([key, primary])].filter((one) => isProven && one !== '');
    if (state !== undefined) found.set(parseOid(oid), { state, keys, signer: isProven ? signer.join('\t') : '' });
  }
  return found;
}

/**
 * Uses an empty file of allowed signers when none is configured: without a file, git does not check ssh signatures at
 * all; with an empty file, git names the key.
 */
async function chooseSigners(git: GitRunner): Promise<string[]> {
  const { exitCode } = await git.run(['config', '--get', 'gpg.ssh.allowedSignersFile'], { accept: [1] });
  return exitCode === 0 ? [] : ['-c', 'gpg.ssh.allowedSignersFile=/dev/null'];
}

/** Runs `git fsck` from the tips, and omits objects that are merely unreachable. */
export async function runFsck(git: GitRunner, tips: readonly Oid[]): Promise<string[]> {
  const args = ['fsck', '--no-dangling', '--no-reflogs', '--no-progress', ...tips];
  // The exit code of `git fsck` combines one bit for each kind of problem.
  const accept = Array.from({ length: 64 }, (_, code) => code);
  const { exitCode, stdout, stderr } = await git.run(args, { accept });
  const said = `${stdout.toString('utf8')}\n${stderr}`.split('\n').map((line) => line.trim());
  const rows = said.filter((line) => line !== '' && !line.startsWith('notice: '));
  if (exitCode !== 0) return rows.length === 0 ? [`git fsck ended with exit code ${exitCode}.`] : rows;
  return rows.filter((line) => /^(?:error|missing|broken|fatal)/.test(line));
}
