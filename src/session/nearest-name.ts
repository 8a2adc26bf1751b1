/** Guesses which name was meant by one that does not exist. */

/** The known name that is nearest; null when none is near enough to be meant. */
export function nearestName<Name extends string>(wanted: string, names: readonly Name[]): Name | null {
  const typed = wanted.toLowerCase().slice(0, maxLength);
  const distances = names.map((name) => ({ name, distance: editDistance(typed, name.toLowerCase()) }));
  const [nearest] = distances.toSorted((a, b) => a.distance - b.distance);
  if (nearest === undefined || nearest.distance > Math.ceil(typed.length / 3)) return null;
  return nearest.name;
}

// No name is longer, and the work grows with the square.
const maxLength = 60;

/** Levenshtein's. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (const [line, letter] of [...a].entries()) {
    const next = [line + 1];
    for (const [at, other] of [...b].entries()) {
      const replaced = (row[at] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
