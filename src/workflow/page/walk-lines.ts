/** The commits on all of a page's lines, each once and with its changes, and their turns. */
import { isDamage, nullIfDamaged } from '../../errors.ts';
import type { CommitChange, Store } from '../../ports/git.ts';
import type { Masker, Project } from '../../ports/project.ts';
import { noStartError } from '../line/session-start.ts';
import { mayFollowTurn } from '../../session/entries/entry.ts';
import type { Oid, SessionId, TurnName } from '../../names.ts';
import type { PageSource } from '../../page/session-page.ts';
import { parseIdent } from '../../session/entries/logged-entry.ts';
import { maskString } from '../line/mask-text.ts';
import { groupByTurn, readLines, type OwnPart, type Step } from '../../view/view.ts';

/** One of a page's commits. `author` is the masked name of the commit's author; the names in its entry are masked as well. */
export interface PageStep extends Step {
  /** The time of the commit, in ISO 8601. */
  at: string;
  author: string;
  /** Null when the changes are unreadable. */
  changes: CommitChange[] | null;
}

export interface WalkedLine {
  name: string;
  tip: Oid;
  /** The point where it leaves an earlier line; null when it begins the session or its known part. */
  leaves: { commit: Oid; line: WalkedLine } | null;
  /** The commit before the line's first one. */
  below: Oid | null;
  /** The commits that are on no earlier line, oldest first. */
  own: PageStep[];
  /** All commits, including shared ones. */
  all: PageStep[];
  /** Its turns, with their names on the page. */
  turns: Map<TurnName, WalkedTurn>;
}

export interface WalkedTurn {
  /** Its name on the page. */
  turn: TurnName;
  name: TurnName;
  parent: TurnName | null;
  steps: PageStep[];
  /** False when an earlier line contains all of the turn, or more. */
  isOwn: boolean;
}

/**
 * Walks the lines in source order. Throws GIT_FAILED when a commit is missing, DAMAGED_SESSION in a clone that lacks
 * the beginning.
 */
export async function walkLines(project: Project, { session, lines }: PageSource): Promise<WalkedLine[]> {
  const { store } = project.repository;
  const toPageStep = stepReader(project.masker);
  const taken = new Set<TurnName>();
  const walked = new Map<OwnPart<PageSource['lines'][number]>, WalkedLine>();
  for (const part of await readLines(store, session, lines)) {
    const { line, steps, below, hasStart } = part;
    // A line without its own commits shows nothing.
    if (steps.length === 0) continue;
    if (!hasStart && part.leaves === null && (await store.cutCommits()).size > 0) throw noStartError(line.name);
    const changes = await readChanges(store, steps, below);
    const own = await Promise.all(steps.map((step) => toPageStep(step, changes.get(step.commit))));
    const left = part.leaves && walked.get(part.leaves.part);
    const shared = left?.all.slice(0, left.all.findIndex(({ commit }) => commit === below) + 1) ?? [];
    const leaves = left == null || below === null ? null : { commit: below, line: left };
    const { name, tip } = line;
    const read: WalkedLine = { name, tip, leaves, below, own, all: [...shared, ...own], turns: new Map() };
    nameTurns(read, session, taken);
    walked.set(part, read);
  }
  return [...walked.values()];
}

/**
 * Reads the changes; when an object is missing, reads each commit's changes separately, so that the others are still
 * available.
 */
async function readChanges(
  store: Store,
  steps: readonly Step[],
  below: Oid | null,
): Promise<ReadonlyMap<Oid, CommitChange[]>> {
  const changes = new Map<Oid, CommitChange[]>();
  try {
    for await (const walked of store.walkChanges(lastOf(steps), below === null ? [] : [below]))
      changes.set(walked.oid, walked.changes);
  } catch (error) {
    if (!isDamage(error)) throw error;
    for (const { commit, parent } of steps) {
      const alone = await store.diffTrees(parent, commit).catch(nullIfDamaged);
      if (alone !== null)
        changes.set(
          commit,
          alone.map((change) => ({ ...change, oldMode: null })),
        );
    }
  }
  return changes;
}

function lastOf(steps: readonly Step[]): Oid {
  return (steps.at(-1) as Step).commit;
}

/** Makes steps with authors and models masked; masks each name once, because the same few names are on every commit. */
export function stepReader(masker: Masker): (step: Step, changes?: CommitChange[]) => Promise<PageStep> {
  const known = new Map<string, Promise<string>>();
  const mask = (name: string) => {
    const masked = known.get(name) ?? maskString(masker, name);
    known.set(name, masked);
    return masked;
  };
  return async (step, changes) => {
    // Drops the address, whatever its form in the commit.
    const name = parseIdent(step.ident).name.split('<', 1)[0]?.trim() ?? '';
    const { entry } = step;
    for (const key of ['agent', 'provider', 'model', 'baseBranch'] as const)
      if (entry?.[key] !== undefined) entry[key] = await mask(entry[key]);
    return { ...step, at: parseIdent(step.committer).time, author: await mask(name), changes: changes ?? null };
  };
}

/** Names the turns. A turn belongs to a line with its own step in that turn; undoing an earlier turn's code does not count. */
function nameTurns({ leaves, own, all, turns }: WalkedLine, session: SessionId, taken: Set<TurnName>): void {
  const isOwn = new Set(own);
  let parent: TurnName | null = null;
  for (const [name, steps] of groupByTurn(all.filter(({ entry }) => entry?.session === session))) {
    const inherited = leaves?.line.turns.get(name);
    const isNew = steps.some(
      (step) => isOwn.has(step) && (inherited === undefined || !mayFollowTurn(step.entry?.kind)),
    );
    const turn: TurnName = isNew || inherited === undefined ? toFree(name, taken) : inherited.turn;
    turns.set(name, { turn, name, parent, steps, isOwn: isNew });
    taken.add(turn);
    parent = turn;
  }
}

function toFree(name: TurnName, taken: ReadonlySet<TurnName>): TurnName {
  for (let free = name, number = 2; ; number += 1) {
    if (!taken.has(free)) return free;
    free = `${name}-${number}` as TurnName;
  }
}
