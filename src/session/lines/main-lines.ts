/** Lists every session through the line that represents it: local, known only from a remote, or archived. */
import { groupBy } from '../text/group-by.ts';
import type { RefName } from '../../names.ts';
import type { SessionSource } from '../../ports/git.ts';
import type { EntryHead } from './line-index.ts';
import { chooseMain, listLines, type KnownLine } from './lines.ts';

export interface MainLine extends KnownLine {
  /** When the session started, in ISO 8601. */
  created: string;
  /** The tip's own entry; null when the tip is one of the user's commits. */
  entry: EntryHead | null;
  /** The session's other local lines. */
  others: KnownLine[];
  /** The remotes that have the line, if there is no local branch. */
  remotes: string[];
  /** The local line that commands use by default; null when the session has no local branch. */
  own: KnownLine | null;
}

/** A source with this machine's time. */
export interface DatedSource extends SessionSource {
  clock: { now(): Date };
}

/** The accepted difference between two machines' clocks. */
export const skewMs = 10 * 60 * 1000;

/**
 * Lists sessions by creation time, oldest first; sessions that claim a future time come before all others. With
 * `archived`, includes sessions without a local or remote branch.
 */
export async function listMainLines(project: DatedSource, options: { archived?: boolean } = {}): Promise<MainLine[]> {
  return toMainLines(await listLines(project, options), project.clock.now());
}

export function toMainLines(lines: readonly KnownLine[], now: Date): MainLine[] {
  const latest = new Date(now.getTime() + skewMs).toISOString();
  // A future time must not make a session the newest.
  const timeOf = ({ created }: MainLine) => (created > latest ? '' : created);
  return [...groupBy(lines, ({ session }) => session).values()]
    .flatMap((own) => toMainLine(own) ?? [])
    .toSorted((a, b) => {
      const [one, other] = [timeOf(a), timeOf(b)];
      return one < other || (one === other && a.session < b.session) ? -1 : 1;
    });
}

/** Prefers a local branch to a remote one; a conversation branch never comes before a main line. */
function toMainLine(lines: readonly KnownLine[]): MainLine | null {
  const [first] = lines;
  // Most sessions have only one line.
  if (first !== undefined && lines.length === 1)
    return toChosen(first, first.remote === null && !first.isArchived ? first : null, lines, []);
  const local = lines.filter(({ remote, isArchived }) => remote === null && !isArchived);
  const own = chooseMain(local) ?? null;
  const elsewhere = [lines.filter(({ remote }) => remote !== null), lines.filter(({ isArchived }) => isArchived)];
  const candidates = [own, ...elsewhere.map(chooseMain)].filter((line) => line != null);
  const main = candidates.find(({ branch }) => branch === null) ?? candidates[0];
  if (main === undefined) return null;
  const others = local.filter(({ ref }) => ref !== main.ref);
  return toChosen(main, own, lines, others);
}

function toChosen(main: KnownLine, own: KnownLine | null, lines: readonly KnownLine[], others: KnownLine[]): MainLine {
  const { oid, entry } = main.nearest;
  const same = main.remote === null ? [] : lines.filter(({ branchRef }) => branchRef === main.branchRef);
  // Spreading an object with this many properties takes ten times as long.
  return {
    ref: main.ref,
    oid: main.oid,
    session: main.session,
    branchRef: main.branchRef,
    remote: main.remote,
    isArchived: main.isArchived,
    isMain: main.isMain,
    branch: main.branch,
    nearest: main.nearest,
    created: entry.created,
    entry: oid === main.oid ? entry : null,
    own,
    others,
    remotes: same.flatMap(({ remote }) => remote ?? []),
  };
}

/** A branch in its newest known state, which may be one that was only fetched. */
export interface NewestLine {
  line: KnownLine;
  /** True when a local branch exists, and lacks some of the steps. */
  isBehind: boolean;
}

/** Chooses the newest state of each branch, local or fetched, by the branch's local name. Entry ids sort by time. */
export function findNewest(lines: readonly KnownLine[]): Map<RefName, NewestLine> {
  const local = new Set(lines.flatMap(({ ref, remote }) => (remote === null ? [ref] : [])));
  const newest = new Map<RefName, NewestLine>();
  for (const line of lines) {
    const { branchRef, nearest, remote } = line;
    const known = newest.get(branchRef)?.line;
    if (known === undefined || nearest.entry.id > known.nearest.entry.id)
      newest.set(branchRef, { line, isBehind: remote !== null && local.has(branchRef) });
  }
  return newest;
}
