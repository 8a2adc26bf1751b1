/** Finds what JSON leaves open: which value a key has that stands twice in an object. `JSON.parse` takes the last one, others the first. */

/** The first key that an object has twice; null: none. The text is JSON already. Takes time in proportion to it. */
export function findEqualKey(text: string): string | null {
  /** The keys of each object that is open; null is an array. */
  const open: (Set<string> | null)[] = [];
  let isKey = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') {
      const end = endOfString(text, at);
      const keys = isKey ? open.at(-1) : null;
      const key = keys ? (JSON.parse(text.slice(at, end)) as string) : '';
      if (keys?.has(key)) return key;
      keys?.add(key);
      isKey = false;
      at = end - 1;
    } else if (char === '{') {
      open.push(new Set());
      isKey = true;
    } else if (char === '[') open.push(null);
    else if (char === '}' || char === ']') {
      open.pop();
      isKey = false;
    } else if (char === ',') isKey = open.at(-1) != null;
  }
  return null;
}

/** After its closing quote. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length && text[at] !== '"'; at += 1) if (text[at] === '\\') at += 1;
  return at + 1;
}
