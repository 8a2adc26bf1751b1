/** Recognizes secret files by name alone. */
import { foldPart } from '../paths/paths.ts';
import type { RepoPath } from '../../names.ts';

const secretDirectories = new Set(['.ssh', '.aws', '.gnupg']);
const secretFiles = new Set([
  '.npmrc',
  '.netrc',
  '_netrc',
  '.pgpass',
  '.pypirc',
  '.htpasswd',
  '.dockercfg',
  '.git-credentials',
  '.my.cnf',
  'id_rsa',
  'id_dsa',
  'id_ecdsa',
  'id_ed25519',
  'credentials.json',
  'secrets.json',
  'secrets.yaml',
  'secrets.yml',
]);
const secretExtensions = /\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk)$/;
/** Matches `.env` files, including the names that direnv and editors use. */
const environmentFile = /^\.env(?:rc|[._~-].*)?$|\.env$/;
const environmentExample = /\.(?:example|sample|template|dist|defaults)$/;

/**
 * Returns true for `.env`, `.env.local`, `id_rsa`, `server.pem`, ... and false for `.env.example`. Also returns true
 * for any spelling that a file system treats as one of these names: `.ENV`, `.env.`, `.env::$DATA`.
 */
export function isSecretName(path: RepoPath): boolean {
  const parts = path.split('/').map((part) => foldPart(part.normalize('NFKC')));
  const name = parts.pop() ?? '';
  if (parts.some((part) => secretDirectories.has(part))) return true;
  if (environmentFile.test(name)) return !environmentExample.test(name);
  return secretFiles.has(name) || secretExtensions.test(name);
}

/** Tells the model why it may not ask for a file. */
export const onlyTheUser = "only the user's own global.context or session.context can show it";
