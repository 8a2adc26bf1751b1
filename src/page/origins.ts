/** Follows lines through diffs: which of several changes added the lines that a hunk has, and which removed them. */
import type { Oid, RepoPath, TurnName } from '../names.ts';
import type { PageFile, PageTurn } from './session-page.ts';

/** A version of a file, and the origins of its lines, by line number. The origin of all other lines is unknown. */
interface KnownVersion<Origin> {
  blob: Oid | null;
  lines: ReadonlyMap<number, Origin>;
}

/** A hunk's first lines on both sides, and the sign of each of its lines: `+`, `-` or a space. */
interface Hunk {
  old: number;
  now: number;
  signs: string;
}

/**
 * Adds `replaces` to the turns' files. Considers only the diffs on the page: when a file changed in between (by hand,
 * or by an undo), its lines no longer belong to any turn.
 */
export function withOrigins(turns: readonly PageTurn[]): PageTurn[] {
  const after = new Map<TurnName, ReadonlyMap<RepoPath, KnownVersion<TurnName>>>();
  return turns.map((turn) => {
    const known = new Map((turn.parent === null ? undefined : after.get(turn.parent)) ?? []);
    const files = turn.files.map((file) => {
      const { version, removed } = follow(known.get(file.path), file, turn.turn);
      known.set(file.path, version);
      return { ...file, replaces: removed.map((origins) => [...new Set(origins)]) };
    });
    after.set(turn.turn, known);
    return { ...turn, files };
  });
}

/** One of the changes that led from a file's first version to its last one. */
export interface FileStep<Origin> {
  file: PageFile;
  origin: Origin;
}

/**
 * Returns what made each hunk of `whole`, in the order of `steps`, which are the file's changes, oldest first. A line
 * that was added belongs to the step that added it, and a line that was removed to the step that removed it.
 */
export function findOrigins<Origin>(whole: PageFile, steps: readonly FileStep<Origin>[]): Origin[][] {
  const added = followAll(steps);
  // Going back from the last version, a step adds the lines that it removed.
  const removed = followAll(steps.toReversed().map(({ file, origin }) => ({ file: reverse(file), origin })));
  const order = new Map(steps.map(({ origin }, at) => [origin, at]));
  return listHunks(whole).map((hunk) => {
    const found = new Set<Origin>();
    let { old, now } = hunk;
    for (const sign of hunk.signs) {
      const origin = sign === '+' ? added.get(now) : sign === '-' ? removed.get(old) : undefined;
      if (origin !== undefined) found.add(origin);
      if (sign !== '+') old += 1;
      if (sign !== '-') now += 1;
    }
    return [...found].toSorted((one, other) => (order.get(one) ?? 0) - (order.get(other) ?? 0));
  });
}

function followAll<Origin>(steps: readonly FileStep<Origin>[]): ReadonlyMap<number, Origin> {
  let version: KnownVersion<Origin> | undefined;
  for (const { file, origin } of steps) ({ version } = follow(version, file, origin));
  return version?.lines ?? new Map<number, Origin>();
}

function reverse(file: PageFile): PageFile {
  const flipped: Record<string, string> = { '+': '-', '-': '+' };
  const text = file.diff.text
    .replace(/^@@ -(\S+) \+(\S+) @@/gm, '@@ -$2 +$1 @@')
    .replace(/^[+-]/gm, (sign) => flipped[sign] ?? sign);
  return { ...file, before: file.after, after: file.before, diff: { ...file.diff, text } };
}

/** `removed`: for each hunk, the known origins of the lines that it removes. */
function follow<Origin>(
  before: KnownVersion<Origin> | undefined,
  file: PageFile,
  origin: Origin,
): { version: KnownVersion<Origin>; removed: Origin[][] } {
  const lines = new Map<number, Origin>();
  const version = { blob: file.after, lines };
  if (file.kind !== 'text' || file.diff.cut !== null) return { version, removed: [] };
  const kept = [...(before !== undefined && before.blob === file.before ? before.lines : [])].toSorted(
    ([one], [other]) => one - other,
  );
  let [next, shift] = [0, 0];
  const carryTo = (end: number) => {
    for (let one = kept[next]; one !== undefined && one[0] < end; one = kept[(next += 1)])
      lines.set(one[0] + shift, one[1]);
  };
  const removed = listHunks(file).map((hunk) => {
    const gone: Origin[] = [];
    let { old, now } = hunk;
    carryTo(old);
    for (const sign of hunk.signs) {
      if (sign === '+') lines.set(now, origin);
      const own = kept[next];
      if (sign !== '+' && own?.[0] === old) {
        if (sign === '-') gone.push(own[1]);
        else lines.set(now, own[1]);
        next += 1;
      }
      if (sign !== '+') old += 1;
      if (sign !== '-') now += 1;
    }
    shift = now - old;
    return gone;
  });
  carryTo(Infinity);
  return { version, removed };
}

function listHunks({ kind, diff }: PageFile): Hunk[] {
  const hunks: Hunk[] = [];
  if (kind !== 'text' || diff.cut !== null) return hunks;
  let rest = 0;
  for (const line of diff.text.split('\n')) {
    const [found, start = '', count = '1', begin = '', added = '1'] =
      (rest === 0 ? /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line) : null) ?? [];
    const last = hunks.at(-1);
    if (found !== undefined) {
      // A side without lines has the number of the line before it.
      const first = (at: string, size: string) => Number(at) + (size === '0' ? 1 : 0);
      hunks.push({ old: first(start, count), now: first(begin, added), signs: '' });
      rest = Number(count) + Number(added);
    } else if (rest > 0 && last !== undefined && !line.startsWith('\\')) {
      const sign = line.startsWith('+') || line.startsWith('-') ? line.slice(0, 1) : ' ';
      last.signs += sign;
      rest -= sign === ' ' ? 2 : 1;
    }
  }
  return hunks;
}
