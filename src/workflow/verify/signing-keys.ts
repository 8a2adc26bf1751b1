/** Reads the keys that must sign entries, in any form in which the user names them. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';

/** An OpenPGP or SSH key's fingerprint, as `git log --format=%GF` shows it. */
const fingerprint = /^(?:[0-9A-F]{40}|[0-9A-F]{64}|SHA256:[A-Za-z0-9+/]{43})$/;
const sshKey =
  /(?:^|[\s,"])(?:sk-)?(?:ssh-[a-z0-9]+|ecdsa-sha2-nistp\d+)(?:@openssh\.com)?\s+([A-Za-z0-9+/]{40,}={0,2})(?=\s|$)/;

/**
 * Returns fingerprints. `named` contains fingerprints, or files with one public SSH key per line: `id_ed25519.pub`,
 * `allowed_signers`, `authorized_keys`. `readText` returns null for anything that is not a file. Throws USAGE.
 */
export async function readSigningKeys(
  { hash }: Pick<Project, 'hash'>,
  named: readonly string[],
  readText: (path: string) => Promise<string | null>,
): Promise<Set<string>> {
  const keys = new Set<string>();
  for (const name of named) {
    const direct = name.startsWith('SHA256:') ? name.replace(/=+$/, '') : name.replaceAll(/[\s:]/g, '').toUpperCase();
    if (fingerprint.test(direct)) keys.add(direct);
    else for (const key of parseKeys(hash, name, await readText(name))) keys.add(key);
  }
  return keys;
}

function parseKeys(hash: Project['hash'], name: string, text: string | null): string[] {
  if (text === null)
    throw new TeddyError(
      'USAGE',
      `${JSON.stringify(name)} is neither a key fingerprint nor a file.`,
      '`ssh-keygen -lf <key>.pub` or `gpg --list-keys --with-fingerprint` shows fingerprints.',
    );
  const found = text.split('\n').flatMap((line) => {
    const blob = line.trimStart().startsWith('#') ? undefined : sshKey.exec(line)?.[1];
    return blob === undefined ? [] : [toFingerprint(hash, Buffer.from(blob, 'base64'))];
  });
  if (found.length > 0) return found;
  throw new TeddyError(
    'USAGE',
    `${JSON.stringify(name)} contains no public SSH key.`,
    'Name a file such as `~/.ssh/id_ed25519.pub` or an allowed signers file; for an OpenPGP key, name its fingerprint.',
  );
}

function toFingerprint(hash: Project['hash'], blob: Uint8Array): string {
  return `SHA256:${Buffer.from(hash(blob), 'hex').toString('base64').replace(/=+$/, '')}`;
}
