/** The commits of all lines of a page: each once, with what it changed, and the turns that they make. */
import { isDamage, nullIfDamaged, TeddyError } from '../../errors.ts';
import type { Commit, CommitChange, Store } from '../../ports/git.ts';
import type { Masker, Project } from '../../ports/project.ts';
import { comesLater, decodeEntry } from '../../session/entry.ts';
import type { Oid, SessionId, TurnName } from '../../names.ts';
import type { PageSource } from '../../page/session-page.ts';
import { isStartOf, parseIdent, type LoggedEntry } from '../../session/logged-entry.ts';
import { maskString } from '../line/mask-text.ts';
import { groupByTurn, toStep, type Step } from '../../view/view.ts';

/** `author` is the name of the commit's author, masked, and the names in its entry are masked as well. */
export interface PageStep extends Step, Pick<LoggedEntry, 'time' | 'author'> {
  /** Null: they cannot be read. */
  changes: CommitChange[] | null;
}

export interface WalkedLine {
  name: string;
  tip: Oid;
  /** Where it leaves a line before it; null: it begins the session, or what is known of it. */
  leaves: { commit: Oid; line: WalkedLine } | null;
  /** The commit before its first one. */
  below: Oid | null;
  /** The commits that no line before it has, oldest first. */
  own: PageStep[];
  /** With those that it shares. */
  all: PageStep[];
  /** Its turns, with their names in the page. */
  turns: Map<TurnName, WalkedTurn>;
}

export interface WalkedTurn {
  /** Its name in the page. */
  turn: TurnName;
  name: TurnName;
  parent: TurnName | null;
  steps: PageStep[];
  /** False: a line before this one has all of it, or more. */
  isOwn: boolean;
}

/** In order of the source. Throws GIT_FAILED where a commit is missing, DAMAGED_SESSION in a clone that lacks the beginning. */
export async function walkLines(project: Project, { session, lines }: PageSource): Promise<WalkedLine[]> {
  const { store } = project.repository;
  const toStep = stepReader(project.masker);
  const { parents, starts } = await readParents(store, session, lines);
  const owners = new Map<Oid, WalkedLine>();
  const taken = new Set<TurnName>();
  const walked: WalkedLine[] = [];
  for (const { name, tip } of lines) {
    const chain: Oid[] = [];
    let [below, isBegun]: [Oid | null, boolean] = [tip, false];
    while (below !== null && !owners.has(below) && !isBegun) {
      chain.push(below);
      isBegun = starts.has(below);
      below = parents.get(below) ?? null;
    }
    // A line with nothing of its own shows nothing.
    if (chain.length === 0) continue;
    const left = isBegun || below === null ? undefined : owners.get(below);
    if (left === undefined && !isBegun && (await store.isShallow())) throw shallowError(name);
    const own = await readSteps(store, chain.toReversed(), below, toStep);
    const shared =
      left === undefined ? [] : left.all.slice(0, left.all.findIndex(({ commit }) => commit === below) + 1);
    const leaves = left === undefined || below === null ? null : { commit: below, line: left };
    const line: WalkedLine = { name, tip, leaves, below, own, all: [...shared, ...own], turns: new Map() };
    for (const oid of chain) owners.set(oid, line);
    nameTurns(line, session, taken);
    walked.push(line);
  }
  return walked;
}

function shallowError(name: string): TeddyError {
  return new TeddyError(
    'DAMAGED_SESSION',
    `The history of ${name} does not go back to the start of its session.`,
    'In a shallow clone: `git fetch --unshallow`; in CI, check out with the whole history.',
  );
}

/** One walk for all lines, as far as the start of the session. */
async function readParents(
  store: Store,
  session: SessionId,
  lines: PageSource['lines'],
): Promise<{ parents: Map<Oid, Oid | null>; starts: Set<Oid> }> {
  const tips = [...new Set(lines.map(({ tip }) => tip))];
  const [parents, starts, waiting] = [new Map<Oid, Oid | null>(), new Set<Oid>(), new Set(tips)];
  for await (const { oid, parent, message } of store.firstParentsOf(tips)) {
    waiting.delete(oid);
    parents.set(oid, parent);
    if (message.includes('Teddy-Entry: start') && isStartOf({ entry: decodeEntry(message) }, session)) starts.add(oid);
    else if (parent !== null && !parents.has(parent)) waiting.add(parent);
    if (waiting.size === 0) break;
  }
  return { parents, starts };
}

/** Where an object is missing, each commit is read by itself, so that the others are there. */
async function readSteps(
  store: Store,
  chain: readonly Oid[],
  below: Oid | null,
  toStep: ReadStep,
): Promise<PageStep[]> {
  const changes = new Map<Oid, CommitChange[]>();
  const commits = new Map<Oid, Commit>();
  try {
    for await (const walked of store.walkChanges(chain.at(-1) as Oid, below === null ? [] : [below])) {
      commits.set(walked.oid, walked.commit);
      changes.set(walked.oid, walked.changes);
    }
  } catch (error) {
    if (!isDamage(error)) throw error;
    for (const oid of chain) {
      const commit = await store.readCommit(oid);
      commits.set(oid, commit);
      const alone = await store.diffTrees(commit.parents[0] ?? null, oid).catch(nullIfDamaged);
      if (alone !== null)
        changes.set(
          oid,
          alone.map((change) => ({ ...change, oldMode: null })),
        );
    }
  }
  return Promise.all(
    chain.map(async (oid) => toStep(oid, commits.get(oid) ?? (await store.readCommit(oid)), changes.get(oid) ?? null)),
  );
}

type ReadStep = (commit: Oid, read: Commit, changes?: CommitChange[] | null) => Promise<PageStep>;

/** Whose they are and who was asked is masked at once; the same few names stand on every commit. */
export function stepReader(masker: Masker): ReadStep {
  const known = new Map<string, Promise<string>>();
  const mask = (name: string) => {
    const masked = known.get(name) ?? maskString(masker, name);
    known.set(name, masked);
    return masked;
  };
  return async (oid, read, changes = null) => {
    const step = toStep({ ...read, oid, parent: read.parents[0] ?? null });
    // Without an address, whatever the commit holds.
    const name = parseIdent(read.author).name.split('<', 1)[0]?.trim() ?? '';
    const { entry } = step;
    for (const key of ['agent', 'provider', 'model', 'baseBranch'] as const)
      if (entry?.[key] !== undefined) entry[key] = await mask(entry[key]);
    return { ...step, time: parseIdent(step.committer).time, author: await mask(name), changes };
  };
}

/** A turn belongs to a line that has a step of its own in it; to take the code of an earlier one back is none. */
function nameTurns({ leaves, own, all, turns }: WalkedLine, session: SessionId, taken: Set<TurnName>): void {
  const isOwn = new Set(own);
  let parent: TurnName | null = null;
  for (const [name, steps] of groupByTurn(all.filter(({ entry }) => entry?.session === session))) {
    const inherited = leaves?.line.turns.get(name);
    const isNew = steps.some((step) => isOwn.has(step) && (inherited === undefined || !comesLater(step.entry?.kind)));
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
