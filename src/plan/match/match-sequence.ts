/**
 * Returns every index of `needle` in `haystack` in order, including overlapping matches; returns none for an empty
 * `needle`. Uses Knuth-Morris-Pratt, which is linear for any input; a search from each index would be quadratic in a
 * file of equal lines.
 */
export function findSequence(haystack: ArrayLike<string>, needle: ArrayLike<string>, from = 0): number[] {
  const found: number[] = [];
  if (needle.length === 0) return found;
  const borders = toBorders(needle);
  let matched = 0;
  for (let at = from; at < haystack.length; at += 1) {
    matched = extend(needle, borders, matched, haystack[at]!);
    if (matched === needle.length) found.push(at + 1 - matched);
  }
  return found;
}

/** Returns, for each prefix of `needle` by its length, the length of its longest proper prefix that is also its suffix. */
export function toBorders(needle: ArrayLike<string>): Int32Array {
  const borders = new Int32Array(needle.length + 1);
  for (let at = 1; at < needle.length; at += 1) borders[at + 1] = extend(needle, borders, borders[at]!, needle[at]!);
  return borders;
}

/**
 * Returns the length of the prefix of `needle` that ends at `next`, after a prefix of length `matched` has ended just
 * before.
 */
export function extend(needle: ArrayLike<string>, borders: Int32Array, matched: number, next: string): number {
  let length = matched === needle.length ? borders[matched]! : matched;
  while (length > 0 && needle[length] !== next) length = borders[length]!;
  return needle[length] === next ? length + 1 : 0;
}
