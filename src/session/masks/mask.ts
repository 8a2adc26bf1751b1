/** Masks, which replace secrets in a text. */

/** A secret from `start` to `end` (UTF-16 units, exclusive). */
export interface FoundSecret {
  start: number;
  end: number;
  /** A few words of letters, digits, `_`, `.` and `-`: `github token`, `env DEPLOY_TOKEN`. */
  kind: string;
}

/** The kind of a masked secret, and its line (from 1) in the text before masking. */
export interface MaskedSecret {
  kind: string;
  line: number;
}

/** Matches a mask, but not the literal `[masked: <kind>]` of documentation. */
const mask = /\[masked: \w[\w .-]{0,99}\]/g;

function renderMask(kind: string): string {
  return `[masked: ${kind}]`;
}

/** Counts how often each mask occurs in a text. */
export function countMasks(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  if (!text.includes('[masked: ')) return counts;
  for (const [found] of text.matchAll(mask)) counts.set(found, (counts.get(found) ?? 0) + 1);
  return counts;
}

/** Replaces each secret with a mask. Overlapping secrets become one, with the longest one's kind. */
export function applyMasks(text: string, secrets: FoundSecret[]): { text: string; found: MaskedSecret[] } {
  const merged = mergeOverlaps(outsideMasks(text, secrets));
  const parts: string[] = [];
  const found: MaskedSecret[] = [];
  let at = 0;
  let line = 1;
  for (const { start, end, kind } of merged) {
    const before = text.slice(at, start);
    line += countNewlines(before);
    found.push({ kind, line });
    parts.push(before, renderMask(kind));
    line += countNewlines(text.slice(start, end));
    at = end;
  }
  return { text: parts.join('') + text.slice(at), found };
}

/** Drops secrets within masks, because a mask's kind may contain the name of a variable with a similar value. */
function outsideMasks(text: string, secrets: FoundSecret[]): FoundSecret[] {
  if (secrets.length === 0 || !text.includes('[masked: ')) return secrets;
  const masks = [...text.matchAll(mask)].map((found) => ({ start: found.index, end: found.index + found[0].length }));
  let next = 0;
  return [...secrets].sort(byStart).filter(({ start, end }) => {
    while (next < masks.length && (masks[next]?.end ?? 0) <= start) next += 1;
    const near = masks[next];
    return near === undefined || start < near.start || end > near.end;
  });
}

function mergeOverlaps(secrets: FoundSecret[]): FoundSecret[] {
  const merged: (FoundSecret & { longest: number })[] = [];
  for (const secret of [...secrets].sort(byStart)) {
    const length = secret.end - secret.start;
    const last = merged.at(-1);
    if (last === undefined || secret.start >= last.end) {
      merged.push({ ...secret, longest: length });
      continue;
    }
    last.end = Math.max(last.end, secret.end);
    if (length > last.longest) Object.assign(last, { longest: length, kind: secret.kind });
  }
  return merged;
}

/** Sorts the longer secret first, so that the order of discovery does not matter. */
function byStart(a: FoundSecret, b: FoundSecret): number {
  return a.start - b.start || b.end - a.end || (a.kind < b.kind ? -1 : 1);
}

export function countNewlines(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}
