/** Finds the earlier turns that added the lines that a hunk removes. */
import type { Oid, RepoPath, TurnName } from '../names.ts';
import type { PageFile, PageTurn } from './session-page.ts';

/** A version of a file, and the turns that added its lines, by line number. The origin of all other lines is unknown. */
interface KnownVersion {
  blob: Oid | null;
  turns: ReadonlyMap<number, TurnName>;
}

type KnownFiles = ReadonlyMap<RepoPath, KnownVersion>;

/**
 * Adds `replaces` to the turns' files. Considers only the diffs on the page: when a file changed in between (by hand,
 * or by an undo), its lines no longer belong to any turn.
 */
export function withOrigins(turns: readonly PageTurn[]): PageTurn[] {
  const after = new Map<TurnName, KnownFiles>();
  return turns.map((turn) => {
    const known = new Map((turn.parent === null ? undefined : after.get(turn.parent)) ?? []);
    const files = turn.files.map((file) => {
      const before = known.get(file.path);
      const { replaces, lines } = followFile(file, before?.blob === file.before ? before.turns : new Map(), turn.turn);
      known.set(file.path, { blob: file.after, turns: lines });
      return { ...file, replaces };
    });
    after.set(turn.turn, known);
    return { ...turn, files };
  });
}

function followFile(
  { kind, diff }: PageFile,
  before: ReadonlyMap<number, TurnName>,
  turn: TurnName,
): { replaces: TurnName[][]; lines: Map<number, TurnName> } {
  const lines = new Map<number, TurnName>();
  if (kind !== 'text' || diff.cut !== null) return { replaces: [], lines };
  const replaces: TurnName[][] = [];
  const kept = [...before].toSorted(([a], [b]) => a - b);
  let [next, old, now, rest] = [0, 1, 1, 0];
  const carryTo = (end: number) => {
    for (let one = kept[next]; one !== undefined && one[0] < end; one = kept[(next += 1)])
      lines.set(one[0] - old + now, one[1]);
  };
  for (const line of diff.text.split('\n')) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (hunk !== null) {
      const [, start = '', count = '1', , added = '1'] = hunk;
      // A hunk without old lines has the number of the line before it.
      const begin = Number(start) + (count === '0' ? 1 : 0);
      carryTo(begin);
      [old, now, rest] = [begin, now + begin - old, Number(count) + Number(added)];
      replaces.push([]);
    } else if (rest > 0 && line.startsWith('-')) {
      const own = kept[next]?.[0] === old ? kept[next]?.[1] : undefined;
      if (own !== undefined) next += 1;
      if (own !== undefined && replaces.at(-1)?.includes(own) === false) replaces.at(-1)?.push(own);
      [old, rest] = [old + 1, rest - 1];
    } else if (rest > 0 && line.startsWith('+')) {
      lines.set(now, turn);
      [now, rest] = [now + 1, rest - 1];
    } else if (rest > 0 && !line.startsWith('\\')) {
      carryTo(old + 1);
      [old, now, rest] = [old + 1, now + 1, rest - 2];
    }
  }
  carryTo(Infinity);
  return { replaces, lines };
}
