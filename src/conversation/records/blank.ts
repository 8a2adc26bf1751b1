/**
 * Recognizes blank texts. ASCII control characters also count as blank: providers written in Python treat them as white
 * space.
 */
export function isBlank(text: string): boolean {
  return !/[^\s\p{Cc}]/u.test(text);
}
