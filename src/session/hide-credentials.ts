/** Addresses of other repositories for a person, without what is secret in them. */

/**
 * Whatever stands before the last `@` of a host goes; behind a name with a colon, which is a password, before the last `@` of
 * all. The user of an ssh address is no secret, and part of it.
 */
export function hideCredentials(text: string): string {
  return text.replace(
    /\b([a-z][a-z0-9+.-]*:\/\/)([^\s/'":@]*:(?!\d+\/)[^\s'"]*|[^\s/'"]*)@/gi,
    (whole, scheme: string, user: string) => (/ssh/i.test(scheme) && !user.includes(':') ? whole : `${scheme}***@`),
  );
}
