/**
 * The commits by which sessions introduced code: entries on lines, and landings. teddy reads all commits in the
 * repository once and caches them; after that, it reads only new ones.
 */
import { isOid, archivePrefix, type Oid, type RepoPath, type SessionId, type TurnName } from '../../names.ts';
import type { Grafts, MarkedCommit, Repository } from '../../ports/git.ts';
import { decodeEntry, type Entry, type EntryKind } from '../../session/entries/entry.ts';
import { codeKinds } from '../../session/lines/line-order.ts';
import { decodeLandings, landingText, type LandedFrom } from '../../session/lines/landing.ts';
import { listNotes } from '../line/noted-landings.ts';

/** The parts of a project that are needed to trace lines: objects and refs, `git blame`, and the cache. */
export interface BlameSource {
  repository: Pick<Repository, 'store' | 'blame' | 'cache'>;
}

export interface CodeStep {
  oid: Oid;
  seconds: number;
  kind: EntryKind | 'landing';
  /** The entry's ID, which a cherry-pick or a rebase copies; null when the commit is not an entry. */
  entry: string | null;
  /** For a landing, the session that it lands first. */
  session: SessionId;
  turn: TurnName | null;
  /** For a captured line's snapshot, the commit that the user's HEAD was on. */
  head: Oid | null;
  /** The other agent, when its session begins with this commit; otherwise null. */
  agent: string | null;
  /** The changes outside `.teddy`. */
  files: { path: RepoPath; blob: Oid | null }[];
}

export interface CodeSteps {
  steps: ReadonlyMap<Oid, CodeStep>;
  /** The additional parents: a landing continues in its landed lines, and an undo in the code that it restored. */
  grafts: Grafts;
  /** Landings of lines that are not in this repository. */
  untraced: ReadonlySet<Oid>;
  /** The other agent that owns each captured session; null when a shallow clone lacks the session's start. */
  agents: ReadonlyMap<SessionId, string | null>;
  /** The first commit of each entry, by entry ID. Copies may lack the rest of the turn. */
  originals: ReadonlyMap<string, Oid>;
  /** The commits from which teddy has read the steps. */
  tips: readonly Oid[];
  /** The tips of the notes that may name squashed sessions. */
  notes: readonly Oid[];
}

const cacheKey = 'code-steps';
const version = 4;

interface Kept {
  version: number;
  /** The tips whose commits teddy has read completely. */
  tips: Oid[];
  steps: CodeStep[];
  grafts: [Oid, Oid[]][];
  /** Landings, each with its lines' tips that are missing from this repository. */
  missing: [Oid, Oid[]][];
}

const marks = [landingText, 'Teddy-Entry: '];
const nothing: Kept = { version, tips: [], steps: [], grafts: [], missing: [] };

/** `also` lists commits that may not be reachable from any ref. Throws GIT_FAILED or DAMAGED_SESSION. */
export async function readCodeSteps(source: BlameSource, also: readonly Oid[]): Promise<CodeSteps> {
  const { store } = source.repository;
  const refs = await store.listRefs('refs/heads/', 'refs/remotes/', archivePrefix, 'refs/notes/');
  const notes = listNotes(refs);
  const branches = refs.filter(({ ref }) => !ref.startsWith('refs/notes/'));
  const tips = [...new Set([...branches.map(({ oid }) => oid), ...also])];
  const kept = await readKept(source);
  const [known, current] = [new Set(kept.tips), new Set(tips)];
  const fresh = tips.filter((oid) => !known.has(oid));
  const gone = kept.tips.filter((oid) => !current.has(oid));
  if (fresh.length + gone.length === 0) return toCodeSteps(kept, notes);
  const grow = async () => dropSteps(source, await addSteps(source, kept, fresh), gone, tips);
  const grown = await grow().catch(() => addSteps(source, nothing, tips));
  const next = { ...grown, tips };
  await source.repository.cache.write(cacheKey, [new TextEncoder().encode(JSON.stringify(next))]);
  return toCodeSteps(next, notes);
}

/** Reads the cached steps. Starts over when a tip that was missing has arrived since teddy read its landing. */
async function readKept(source: BlameSource): Promise<Kept> {
  const kept = decodeKept(await source.repository.cache.read(cacheKey));
  const missing = kept.missing.flatMap(([, oids]) => oids);
  const found = await Promise.all(missing.map((oid) => source.repository.store.readSize(oid)));
  return found.every((size) => size === null) ? kept : nothing;
}

function decodeKept(bytes: Uint8Array | null): Kept {
  if (bytes === null) return nothing;
  const kept = JSON.parse(new TextDecoder().decode(bytes)) as Kept;
  return kept.version === version ? kept : nothing;
}

/** Drops steps that were reachable only from these removed tips, as in another clone; landed steps are still reachable. */
async function dropSteps(
  { repository: { blame } }: BlameSource,
  kept: Kept,
  gone: readonly Oid[],
  tips: readonly Oid[],
): Promise<Kept> {
  if (gone.length === 0) return kept;
  for (let landed: Oid[] = []; ;) {
    const marked = await blame.findMarked(marks, gone, [...tips, ...landed]);
    const dropped = new Set(marked.map(({ oid }) => oid));
    const grafts = kept.grafts.filter(([oid]) => !dropped.has(oid));
    const reached = grafts.flatMap(([, parents]) => parents);
    if (dropped.size === 0 || reached.length === landed.length)
      return {
        ...kept,
        steps: kept.steps.filter(({ oid }) => !dropped.has(oid)),
        grafts,
        missing: kept.missing.filter(([oid]) => !dropped.has(oid)),
      };
    landed = reached;
  }
}

async function addSteps(source: BlameSource, kept: Kept, tips: readonly Oid[]): Promise<Kept> {
  const { store, blame } = source.repository;
  const cut = await store.cutCommits();
  const read = new Map<Oid, ReadCommit>();
  const grafts = new Map<Oid, Oid[]>();
  const missing: [Oid, Oid[]][] = [];
  const not = [...kept.tips, ...kept.grafts.flatMap(([, parents]) => parents)];
  for (let next: readonly Oid[] = tips; next.length > 0;) {
    const reached = [...not];
    not.push(...next);
    const marked = await blame.findMarked(marks, next, reached);
    // git reports that the commit where a shallow clone ends added every file.
    const known = marked.map((commit) => (cut.has(commit.oid) ? { ...commit, changes: [] } : commit));
    const found = known.flatMap((commit) => toRead(commit) ?? []).filter(({ step }) => !read.has(step.oid));
    for (const one of found) read.set(one.step.oid, one);
    const added: Oid[] = [];
    for (const { step, commit, from } of found) {
      if (cut.has(step.oid) || (step.kind !== 'landing' && step.kind !== 'undo')) continue;
      const wanted = step.kind === 'landing' ? from.map(({ tip }) => tip) : await findPutBack(source, commit, step);
      const here = await Promise.all(wanted.map((oid) => store.resolve(oid)));
      const there = wanted.filter((oid, at) => here[at] === oid && oid !== step.oid);
      if (there.length > 0) grafts.set(step.oid, [...new Set([...commit.parents, ...there])]);
      const absent = wanted.filter((_, at) => here[at] === null);
      if (absent.length > 0) missing.push([step.oid, absent]);
      added.push(...there);
    }
    // A landed line may no longer have a ref, but its commits exist until git removes them.
    const asked = new Set(not);
    next = [...new Set(added)].filter((oid) => !asked.has(oid));
  }
  const steps = new Map([...kept.steps, ...[...read.values()].map(({ step }) => step)].map((step) => [step.oid, step]));
  return {
    version,
    tips: [],
    steps: [...steps.values()],
    // The links cannot form a cycle, because a landing's ID is a hash of the tips that it names.
    grafts: [...kept.grafts, ...grafts],
    missing: [...kept.missing, ...missing],
  };
}

interface ReadCommit {
  step: CodeStep;
  commit: MarkedCommit;
  from: LandedFrom[];
}

/** Returns null for a commit that did not introduce any of a session's code, or not as a single step. */
function toRead(commit: MarkedCommit): ReadCommit | null {
  const { oid, seconds, message } = commit;
  const files = commit.changes.filter(({ path }) => path !== '.teddy' && !path.startsWith('.teddy/'));
  const unnamed = { oid, seconds, entry: null, turn: null, head: null, agent: null, files };
  const entry = decodeStep(message);
  if (entry !== null) {
    const { kind, id, session, turn, foreign, head } = entry;
    const isStep = codeKinds.includes(kind) && files.length > 0;
    if (!isStep && foreign === undefined) return null;
    const at = head !== undefined && isOid(head) ? head : null;
    return {
      step: { ...unnamed, kind, entry: id, session, turn, head: at, agent: foreign?.agent ?? null },
      commit,
      from: [],
    };
  }
  const from = decodeLandings(message);
  const [first] = from;
  if (first === undefined) return null;
  const step = { ...unnamed, kind: 'landing' as const, session: first.session };
  return { step, commit, from };
}

/**
 * Returns a commit's entry; null when the commit is not an entry. A commit that a forge or a rebase made from several
 * entries does not count: it ends with one entry's trailers, but begins with another subject.
 */
export function decodeStep(message: string): Entry | null {
  const entry = decodeEntry(message);
  if (entry === null) return null;
  const begin = `${entry.turn === null ? '' : `turn ${entry.turn} `}${entry.kind}:`;
  return message.startsWith(begin) ? entry : null;
}

/** The number of commits without entries to search for the code that an undo restored. */
const maxOthers = 1000;

/**
 * Returns the newest commits before an undo that contain its files in the restored state; these commits, or copies of
 * them, are the origin of the restored code.
 */
async function findPutBack({ repository: { store } }: BlameSource, { parents }: MarkedCommit, { files }: CodeStep) {
  const found: Oid[] = [];
  const [parent] = parents;
  if (parent === undefined) return found;
  let [left, others] = [files, 0];
  for await (const { oid, commit } of store.firstParents(parent)) {
    const blobs = await Promise.all(left.map(({ path }) => store.findOid(oid, path)));
    const next = left.filter(({ blob }, at) => blobs[at] !== blob);
    if (next.length < left.length) found.push(oid);
    if (next.length === 0 || (decodeStep(commit.message) === null && (others += 1) > maxOthers)) break;
    left = next;
  }
  return found;
}

function toCodeSteps({ tips, steps, grafts, missing }: Kept, notes: readonly Oid[]): CodeSteps {
  const grafted = new Map(grafts);
  const agents = new Map<SessionId, string | null>();
  for (const { session, agent, head } of steps)
    if (agent !== null || (head !== null && !agents.has(session))) agents.set(session, agent);
  return {
    steps: new Map(steps.map((step) => [step.oid, step])),
    grafts: grafted,
    untraced: new Set(missing.flatMap(([oid]) => (grafted.has(oid) ? [] : [oid]))),
    agents,
    originals: new Map(dropCopies(steps).flatMap(({ entry, oid }) => (entry === null ? [] : [[entry, oid]]))),
    tips,
    notes,
  };
}

/**
 * Keeps the first copy of each entry (a cherry-pick or a rebase creates copies); of copies from the same second, the
 * first one found.
 */
export function dropCopies(steps: readonly CodeStep[]): CodeStep[] {
  const later = steps.toReversed().toSorted((a, b) => b.seconds - a.seconds);
  return [...new Map(later.map((step) => [step.entry ?? step.oid, step])).values()];
}
