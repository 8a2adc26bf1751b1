/** Reads in a regular expression of JavaScript, with the flag `u`, what the texts that match it hold. */

export interface RegexLiterals {
  /** Every match holds one text of each group as it is, apart from its case. Empty: nothing is known of matches. */
  needed: string[][];
  /** It repeats something, so that it may try many ways through a text. */
  repeats: boolean;
}

/** One part of an expression; only `escaped` and `plain` are characters that every match holds. */
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

/** `source`: an expression that JavaScript has taken. What a group holds counts for nothing, whatever kind of group it is. */
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
  // A match is one of any of them.
  const best = needed.map((groups) => sortNeeded(groups)[0]);
  return best.every((group) => group !== undefined) ? [best.flat()] : [];
}

/** The group that says most comes first: its shortest text is the longest. */
export function sortNeeded(needed: readonly string[][]): string[][] {
  const shortest = (group: string[]) => Math.min(...group.map((text) => text.length));
  return needed.toSorted((a, b) => shortest(b) - shortest(a));
}
