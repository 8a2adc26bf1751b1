/** Recognizes blank texts. ASCII control characters also count: providers in Python treat them as white space. */
export function isBlank(text: string): boolean {
  return !/[^\s\p{Cc}]/u.test(text);
}
