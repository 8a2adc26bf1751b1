/**
 * Every index at which `needle` stands in `haystack`, overlapping ones as well, in order. Knuth, Morris and Pratt: linear
 * for any input, where a search from each index is quadratic in a file of equal lines. None for an empty `needle`.
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

/** For each length of a beginning of `needle`, the longest shorter beginning that it also ends with. */
export function toBorders(needle: ArrayLike<string>): Int32Array {
  const borders = new Int32Array(needle.length + 1);
  for (let at = 1; at < needle.length; at += 1) borders[at + 1] = extend(needle, borders, borders[at]!, needle[at]!);
  return borders;
}

/** How long a beginning of `needle` ends at `next`, where one of the length `matched` has ended before it. */
export function extend(needle: ArrayLike<string>, borders: Int32Array, matched: number, next: string): number {
  let length = matched === needle.length ? borders[matched]! : matched;
  while (length > 0 && needle[length] !== next) length = borders[length]!;
  return needle[length] === next ? length + 1 : 0;
}
