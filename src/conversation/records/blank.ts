/** Recognizes blank texts. ASCII control characters are blank too: providers written in Python see them as white space. */
export function isBlank(text: string): boolean {
  return !/[^\s\p{Cc}]/u.test(text);
}
