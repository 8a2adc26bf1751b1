/** Nothing in it says anything. Providers written in Python take control characters of ASCII for white space as well. */
export function isBlank(text: string): boolean {
  return !/[^\s\p{Cc}]/u.test(text);
}
