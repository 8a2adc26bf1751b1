/**
 * Decides from a URL alone whether teddy may fetch the page, what to hide of it, and which forge it leads to. The fetch
 * itself checks the address behind the name.
 */
import { isAddressHost, isPublicAddress } from './public-address.ts';

type ParsedPageUrl = { url: string } | { problem: string };

/** Returns the normalized URL to fetch, without the fragment. `problem` is only the reason, without the URL. */
export function parsePageUrl(text: string): ParsedPageUrl {
  const url = parseUrl(text);
  if (url === null) return { problem: 'it is not a valid URL' };
  const unusable = whyNotFetched(url);
  if (unusable !== null) return { problem: unusable };
  url.hash = '';
  return { url: url.href };
}

function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

function whyNotFetched({ protocol, username, password, hostname }: URL): string | null {
  if (protocol !== 'https:') return `only \`https://\` is fetched, not \`${protocol}//\``;
  if (username !== '' || password !== '') return 'it has a user name or a password in it';
  const name = hostname.replace(/\.$/, '');
  if (name === 'localhost' || name.endsWith('.localhost')) return 'it names this machine';
  if (isAddressHost(name) && !isPublicAddress(name.replace(/^\[|\]$/g, ''))) return `${name} is not a public address`;
  return null;
}

/**
 * Hides everything before the last `@` of a host. If a name with a colon, and thus a password, precedes the host, hides
 * everything before the last `@` in the text. Keeps the user of an ssh address, because the user is part of the address
 * and not a secret.
 */
export function hideCredentials(text: string): string {
  return text.replace(
    /\b([a-z][a-z0-9+.-]*:\/\/)([^\s/'":@]*:(?!\d+\/)[^\s'"]*|[^\s/'"]*)@/gi,
    (whole, scheme: string, user: string) => (/ssh/i.test(scheme) && !user.includes(':') ? whole : `${scheme}***@`),
  );
}

/**
 * Reads the forge, the host and the repository from `https://host/owner/name.git`, `ssh://...` or
 * `git@host:owner/name.git`. Returns null for a server that is neither GitHub nor GitLab.
 */
export function parseForge(url: string): { forge: 'github' | 'gitlab'; host: string; path: string } | null {
  const [, named = '', path = ''] =
    /^(?:https?|ssh|git):\/\/(?:[^@/]*@)?([^/:]+)(?::\d+)?\/(.+)$/.exec(url) ??
    /^(?:[^@/:]+@)?([^/:]+):(?!\/)(.+)$/.exec(url) ??
    [];
  const host = named.toLowerCase();
  const forge = /(?:^|\.)(github|gitlab)\./.exec(host)?.[1] as 'github' | 'gitlab' | undefined;
  if (forge === undefined || !/^[\w./~-]+$/.test(path)) return null;
  return { forge, host, path: path.replace(/\/+$/, '').replace(/\.git$/, '') };
}
