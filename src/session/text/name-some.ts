/** Names files in a sentence, and finds similar names. */
import type { RepoPath, SessionId } from '../../names.ts';

/** Names only the first few, because a sentence has no room for more. */
export function nameSome(names: readonly string[]): string {
  return names.length <= 5 ? names.join(', ') : `${names.slice(0, 5).join(', ')} and ${names.length - 5} more`;
}

/** An edit of a file that no turn of its session made. */
export interface OwnEdit {
  path: RepoPath;
  /** True when the user made the edit before the session's first message. */
  isEarly: boolean;
  /** The other agent's session that left the file in this state; null for the user's own edit. */
  of: SessionId | null;
}

/** Names edits by their author: `your own edits of a.txt`, `b.txt of <session>`. */
export function nameEdits(edits: readonly OwnEdit[], own: (names: string) => string): string[] {
  const sessions = [...new Set(edits.map(({ of }) => of))].toSorted((a, b) =>
    a === null ? -1 : b === null ? 1 : a < b ? -1 : 1,
  );
  return sessions.map((session) => {
    const names = nameSome(edits.filter(({ of }) => of === session).map(({ path }) => path));
    return session === null ? own(names) : `${names} of ${session}`;
  });
}

/** Finds the most similar known name; null when none is similar enough. */
export function nearestName<Name extends string>(wanted: string, names: readonly Name[]): Name | null {
  const typed = wanted.toLowerCase().slice(0, maxLength);
  const distances = names.map((name) => ({ name, distance: editDistance(typed, name.toLowerCase()) }));
  // The one of the same length comes first: `status` for `stauts`, and not `stats`.
  const offset = ({ name }: { name: string }) => Math.abs(name.length - typed.length);
  const [nearest] = distances.toSorted((a, b) => a.distance - b.distance || offset(a) - offset(b));
  if (nearest === undefined || nearest.distance > Math.ceil(typed.length / 3)) return null;
  return nearest.name;
}

// No name is longer, and the work grows with the square of the length.
const maxLength = 60;

/** Computes the Levenshtein distance; two neighbouring letters in the wrong order, `lsit`, count as one mistake. */
function editDistance(a: string, b: string): number {
  let [before, row]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, at) => at)];
  for (const [line, letter] of [...a].entries()) {
    const next = [line + 1];
    for (const [at, other] of [...b].entries()) {
      const replaced = (row[at] ?? 0) + (letter === other ? 0 : 1);
      const isSwapped = line > 0 && at > 0 && letter === b[at - 1] && a[line - 1] === other;
      const swapped = isSwapped ? (before[at - 1] ?? 0) + 1 : replaced;
      next.push(Math.min(replaced, swapped, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}
