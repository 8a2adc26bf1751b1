/** Whether a text is its source with some of it masked: what was masked is known to nobody any more, the rest of it is. */

const mask = /\[masked: \w[\w .-]{0,99}\]/;

/** Fences grow with the back-ticks of what was masked. */
const fences = /`{3,}/g;

/** At least one character of the source stands for each mask. Never true where something else differs. */
export function isMaskedFrom(shown: string, source: string): boolean {
  const pieces = shown.replace(fences, '```').split(mask);
  const text = source.replace(fences, '```');
  const first = pieces.shift() ?? '';
  const last = pieces.pop();
  if (last === undefined) return first === text;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const piece of pieces) {
    const found = text.indexOf(piece, at + 1);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return text.length - last.length > at && text.endsWith(last);
}
