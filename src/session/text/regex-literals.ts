/** Finds the literal texts that every match of a JavaScript regular expression (flag `u`) contains. */

export interface RegexLiterals {
  /** Every match contains one text from each group, ignoring case. Empty when no text is certain. */
  needed: string[][];
  /** True when the expression repeats a part, so that it may backtrack a lot. */
  repeats: boolean;
}

/** Matches one part of an expression; only `escaped` and `plain` are characters that every match contains. */
const token = new RegExp(
  [
    String.raw`\\[bBdDsSwWtnrvf]`,
    String.raw`\\k<[^>]*>|\\[pPu]\{[^}]*\}|\\[0-9A-Za-z]\w*`,
    String.raw`\\(?<escaped>.)`,
    String.raw`\[(?:\\.|[^\]\\])*\]`,
    String.raw`(?<repeat>[*+?]|\{[^}]*\})`,
    String.raw`(?<mark>\((?:\?(?:<(?![=!])[^>]*>|<?[=!]|:))?|[|)])`,
    String.raw`[.^$]`,
    String.raw`(?<plain>.)`,
  ].join('|'),
  'gsu',
);

/** Reads an expression that JavaScript has accepted. Ignores the content of groups of any kind. */
export function readLiterals(source: string): RegexLiterals {
  const options: string[][] = [];
  let runs = [''];
  let [depth, repeats] = [0, false];
  for (const { groups = {} } of source.matchAll(token)) {
    const { escaped, plain, repeat, mark } = groups;
    repeats ||= repeat !== undefined;
    if (mark?.startsWith('(')) depth += 1;
    if (mark === ')') depth -= 1;
    if (depth > 0) continue;
    const character = escaped ?? plain;
    const last = runs.length - 1;
    if (character !== undefined) {
      runs[last] += character;
      continue;
    }
    if (repeat !== undefined) runs[last] = (runs[last] ?? '').replace(/.$/su, '');
    runs.push('');
    if (mark === '|') {
      options.push(runs);
      runs = [''];
    }
  }
  return { needed: toNeeded([...options, runs]), repeats };
}

function toNeeded(options: readonly string[][]): string[][] {
  const needed = options.map((runs) => runs.filter((run) => run !== '').map((run) => [run]));
  const [only] = needed;
  if (needed.length === 1 && only !== undefined) return only;
  // A match comes from one of the alternatives.
  const best = needed.map((groups) => sortNeeded(groups)[0]);
  return best.every((group) => group !== undefined) ? [best.flat()] : [];
}

/** Sorts the most selective group first: the one whose shortest text is longest. */
export function sortNeeded(needed: readonly string[][]): string[][] {
  const shortest = (group: string[]) => Math.min(...group.map((text) => text.length));
  return needed.toSorted((a, b) => shortest(b) - shortest(a));
}
