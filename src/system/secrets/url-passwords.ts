/**
 * Finds passwords in URLs. secretlint's rules for them miss hosts without a dot, and passwords such as `secret` or ones
 * that contain `$AB`, so teddy uses only the rules' kinds and minimum lengths.
 */
import type { FoundSecret } from '../../session/masks/mask.ts';

/** A user and a password before an `@`. The password may contain further `@` characters, which most programs accept. */
const userInfo = /:\/\/([^:/\s]{0,100}):([^@/\s]{1,200}(?:@[^@/\s"'`<>()[\]{},;]{1,200}){0,3})@/g;
const hosts = /^[^\s/?#@,:"'`<>()[\]{}|\\;]+(?::\d+)?(?:,[^\s/?#@,:"'`<>()[\]{}|\\;]+(?::\d+)?)*/;
/**
 * The names that RFC 2606 reserves for documentation. It also reserves `localhost` and `test`, but real machines have
 * these names.
 */
const documentationName = /^(?:.*\.)?(?:example\.(?:com|net|org)|example|invalid)$/i;

const placeholder = /^(?:pass|(?:my|your[_-]?|replace[_-]with[_-])?(?:password|passwd|username)|user|x-oauth-basic)$/i;
const reference = /\$\{[^}]*\}|\$\([^)]*\)|\{[^}]+\}|^%\w+%$|^\$[A-Za-z_]\w*$|^<[^>]*>$|^(.)\1{3,}$/;

export function findWebPasswords(text: string): FoundSecret[] {
  return findPasswords(text).flatMap(({ scheme, userStart, end }) =>
    /^(?:https?|ftps?)$/i.test(scheme) ? [{ start: userStart, end, kind: 'basic auth' }] : [],
  );
}

/** Finds passwords of databases and of all other kinds of servers. */
export function findServerPasswords(text: string): FoundSecret[] {
  return findPasswords(text).flatMap(({ scheme, start, end }) => {
    if (/^(?:https?|ftps?)$/i.test(scheme)) return [];
    return [{ start, end, kind: isDatabase(scheme) ? 'database password' : 'url password' }];
  });
}

interface FoundPassword {
  scheme: string;
  userStart: number;
  start: number;
  end: number;
}

function findPasswords(text: string): FoundPassword[] {
  return [...text.matchAll(userInfo)].flatMap(({ 0: whole, 1: user = '', 2: password = '', index }) => {
    const scheme = /[a-z][a-z0-9+.-]*$/i.exec(text.slice(Math.max(0, index - 32), index))?.[0];
    const end = index + whole.length - 1;
    if (scheme === undefined || !isPassword(password, scheme)) return [];
    if (isDocumentation(text.slice(end + 1, end + 1024))) return [];
    return [{ scheme, userStart: index + '://'.length, start: index + `://${user}:`.length, end }];
  });
}

function isDatabase(scheme: string): boolean {
  return /(?:mongodb(?:\+srv)?|mysqlx?|postgres(?:ql)?)$/i.test(scheme);
}

/** Returns false for placeholders: `password`, `$PASS`, `<password>`. In a database URL, a password may contain quotes. */
export function isPassword(password: string, scheme = ''): boolean {
  if (password.length < 4 || placeholder.test(password) || reference.test(password)) return false;
  if (/^\d{1,5}["'`,;|)\]}&?#\\]/.test(password)) return false; // A port, and the text after a host without a password.
  return isDatabase(scheme) || !/["'`<>\\]/.test(password);
}

/** If the text names several hosts, all of them must be documentation names. */
function isDocumentation(text: string): boolean {
  const names = hosts.exec(text)?.[0].split(',') ?? [];
  return (
    names.length > 0 && names.every((name) => documentationName.test(name.replace(/(?::\d+)?[^\p{L}\p{N}]*$/u, '')))
  );
}
