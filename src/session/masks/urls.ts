/** Decides by the URL alone whether a page may be fetched. The address behind its name is checked when it is fetched. */
import { isAddressHost, isPublicAddress } from './public-address.ts';

type ParsedPageUrl = { url: string } | { problem: string };

/** Returns the normalized URL that is fetched, without the fragment. `problem` is only the reason, without the URL. */
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
 * Hides what precedes the last `@` of a host. When a name with a colon, and thus a password, precedes it, hides
 * everything before the last `@` of the text. The user of an ssh address is kept, because it is part of the address and
 * not a secret.
 */
export function hideCredentials(text: string): string {
  return text.replace(
    /\b([a-z][a-z0-9+.-]*:\/\/)([^\s/'":@]*:(?!\d+\/)[^\s'"]*|[^\s/'"]*)@/gi,
    (whole, scheme: string, user: string) => (/ssh/i.test(scheme) && !user.includes(':') ? whole : `${scheme}***@`),
  );
}
