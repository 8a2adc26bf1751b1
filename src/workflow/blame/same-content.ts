/**
 * Finds the origin of lines when their commit does not name it: a forge has squashed a line, or somebody has committed
 * code that an agent left in the work tree. If a session has an identical version of the file, the version belongs to
 * that session; otherwise, runs of equal lines decide. teddy never guesses: a possible coincidence counts as unknown.
 */
import { decodeText } from '../../session/text/bytes.ts';
import type { Commit } from '../../ports/git.ts';
import { identSeconds, parseIdent } from '../../session/entries/logged-entry.ts';
import type { Entry } from '../../session/entries/entry.ts';
import { isOid, type Oid, type RepoPath, type SessionId } from '../../names.ts';
import { decodeStep, dropCopies, type BlameSource, type CodeStep, type CodeSteps } from './code-steps.ts';
import { readCalls } from './read-story.ts';

/** The lines that one commit introduced in one file, by line number in that commit's version. */
export interface UntracedLines {
  commit: Oid;
  path: RepoPath;
  lines: ReadonlyMap<number, string>;
}

/**
 * `oid` is the step to continue in; `noted` are the tips that a note names. `unsure` contains the lines that may or may
 * not be a session's; null for all lines.
 */
export type Origin = { oid: Oid } | { noted: readonly Oid[] } | { unsure: ReadonlySet<string> | null; reason: string };

export interface StepIndex extends Pick<CodeSteps, 'grafts' | 'agents'> {
  byPath: ReadonlyMap<RepoPath, CodeStep[]>;
  byBlob: ReadonlyMap<Oid, CodeStep[]>;
}

export function indexSteps({ steps, grafts, agents }: CodeSteps): StepIndex {
  const [byPath, byBlob] = [new Map<RepoPath, CodeStep[]>(), new Map<Oid, CodeStep[]>()];
  const add = <Key>(map: Map<Key, CodeStep[]>, key: Key, step: CodeStep) => {
    const list = map.get(key);
    if (list === undefined) map.set(key, [step]);
    else list.push(step);
  };
  for (const step of steps.values())
    for (const { path, blob } of step.files) {
      add(byPath, path, step);
      if (blob !== null) add(byBlob, blob, step);
    }
  return { byPath, byBlob, grafts, agents };
}

/** Returns null when the lines belong only to the commit itself. */
export async function findOrigin(
  source: BlameSource,
  index: StepIndex,
  untraced: UntracedLines,
): Promise<Origin | null> {
  const { store } = source.repository;
  const { commit: oid, path } = untraced;
  const [commit, blob] = [await store.readCommit(oid), await store.findOid(oid, path)];
  const entry = decodeStep(commit.message);
  const own = entry?.kind === 'snapshot' ? entry : null;
  const place: Change = { ...untraced, seconds: identSeconds(commit.committer), commit, oid, own };
  const same = blob === null ? [] : (index.byBlob.get(blob) ?? []).filter(({ session }) => session !== own?.session);
  const named = findNamed(commit.message);
  const gone = await findGone(source, place);
  // A file with another name counts as the same file if the commit deleted that name.
  const exact = same.filter(({ files }) =>
    files.some((file) => file.blob === blob && (file.path === path || gone.has(file.path))),
  );
  const earlier = await keepEarlier(source, place, dropCopies(exact));
  const chosen = await chooseOne(source, index, place, await dropFound(source, index, path, earlier));
  if (chosen !== null) return chosen;
  const evidence = new Set([...same.map(({ session }) => session), ...named].filter((id) => id !== own?.session));
  const byLines = await findByLines(source, index, { ...place, gone }, evidence);
  if (byLines !== null) return byLines;
  const unsure = await findUnsure(source, index, place, exact);
  if (unsure === null) return null;
  return { unsure: null, reason: `${nameStep(unsure)} has the same version of the file, from about the same time.` };
}

/** Returns the files that a commit deleted, if it added this one. */
async function findGone({ repository: { store } }: BlameSource, { path, commit, oid }: Change): Promise<Set<RepoPath>> {
  const [parent] = commit.parents;
  if (parent === undefined || (await store.hasPath(parent, path))) return new Set();
  const changes = await store.diffTrees(parent, oid, { without: '.teddy' as RepoPath });
  return new Set(changes.filter(({ change }) => change === 'deleted').map(({ path: name }) => name));
}

/** The commit that introduced untraced lines, and the file with these lines. */
interface Change extends Omit<UntracedLines, 'commit'> {
  oid: Oid;
  commit: Commit;
  seconds: number;
  /** This commit's entry, if the commit is a session's snapshot of code that others introduced; null for any other commit. */
  own: Entry | null;
}

function hasVersion({ files }: CodeStep, path: RepoPath, blob: Oid | null): boolean {
  return files.some((file) => file.path === path && file.blob === blob);
}

function nameStep({ session, turn }: CodeStep): string {
  return turn === null ? session : `${session} turn ${turn}`;
}

/** Returns the sessions that the message names: in trailers that a forge copied, by their branches, or through the hook. */
function findNamed(message: string): SessionId[] {
  const named = message.matchAll(/^\s*\*?\s*Teddy-(?:Session|During|Landed-From): ([^\s@]+)|teddy\/([^\s'"]+)/gm);
  return [...named].map(([, one, other]) => (one ?? other?.replace(/--.*$/, '')) as SessionId);
}

/** Orders steps by time. Commits record whole seconds; entry IDs are more precise. */
export function byTime(a: CodeStep, b: CodeStep): number {
  return a.seconds - b.seconds || ((a.entry ?? '') < (b.entry ?? '') ? -1 : 1);
}

/** The maximum difference between two machines' clocks. */
const skewSeconds = 600;

/** Keeps the steps that are earlier than the commit, because a commit cannot come from a later step. */
async function keepEarlier(source: BlameSource, place: Change, steps: readonly CodeStep[]): Promise<CodeStep[]> {
  const isEarlier = async (step: CodeStep) => {
    if (step.oid === place.oid) return false;
    if (step.seconds < place.seconds) return true;
    const isAsOld = place.own === null ? !(await knew(source, place, step)) : (step.entry ?? '') < place.own.id;
    return (step.seconds === place.seconds && isAsOld) || isCommittedDuring(source, place, step);
  };
  const earlier = await Promise.all(steps.map(isEarlier));
  return steps.filter((_, at) => earlier[at]);
}

/** Returns the first step that the lines could come from if a clock was wrong. */
async function findUnsure(
  source: BlameSource,
  index: StepIndex,
  place: Change,
  steps: readonly CodeStep[],
): Promise<CodeStep | null> {
  for (const step of steps) {
    const isNear = step.seconds > place.seconds && step.seconds <= place.seconds + skewSeconds;
    if (!isNear || (await knew(source, place, step))) continue;
    if (!(await isAbove(source, index, place, step))) return step;
  }
  return null;
}

/**
 * Returns true if the step was built on the commit, and so cannot be its origin, regardless of the clocks. A landing is
 * also built on the line that it landed.
 */
async function isAbove(
  { repository: { store } }: BlameSource,
  { grafts }: StepIndex,
  { oid }: { oid: Oid },
  step: CodeStep,
): Promise<boolean> {
  const tips = [step.oid, ...(grafts.get(step.oid) ?? [])];
  return (await Promise.all(tips.map((tip) => store.isAncestor(oid, tip)))).includes(true);
}

/**
 * Returns true if the user, or the agent itself, made the commit while the agent was at work, before the snapshot at
 * the end of the turn.
 */
async function isCommittedDuring(source: BlameSource, place: Change, step: CodeStep): Promise<boolean> {
  if (step.turn === null || (place.own === null && !(await knew(source, place, step)))) return false;
  const { author } = await source.repository.store.readCommit(step.oid);
  if (parseIdent(author).email !== parseIdent(place.commit.committer).email) return false;
  const begin = (await readBegin(source, step)) ?? Infinity;
  return place.own === null ? begin <= place.seconds : begin < place.seconds;
}

/**
 * Returns the time of the last message in the step's turn, in seconds since 1970; null when the turn has none, or when
 * somebody committed something else since.
 */
async function readBegin({ repository: { store } }: BlameSource, { oid, turn }: CodeStep): Promise<number | null> {
  for await (const { commit } of store.firstParents(oid)) {
    const entry = decodeStep(commit.message);
    if (entry === null || entry.turn !== turn) return null;
    if (entry.kind === 'message') return identSeconds(commit.author);
  }
  return null;
}

/**
 * Drops the snapshots on captured lines that only recorded code that another turn had introduced or was about to
 * introduce, because all agents work on the same files. Among concurrent turns, keeps the turns with a call that names
 * the file.
 */
export async function dropFound(
  source: BlameSource,
  { agents }: StepIndex,
  path: RepoPath,
  steps: readonly CodeStep[],
): Promise<CodeStep[]> {
  const read = async (step: CodeStep) => {
    if (step.kind !== 'snapshot' || !agents.has(step.session)) return { step, calls: null, begin: step.seconds };
    const calls = await readCalls(source, step);
    return { step, calls, begin: calls.length === 0 ? null : await readBegin(source, step) };
  };
  const all = await Promise.all(steps.toSorted(byTime).map(read));
  const turns = all.filter(({ calls }) => calls !== null && calls.length > 0);
  const since = Math.min(
    ...all.flatMap(({ step, calls, begin }) => (calls?.length === 0 ? [] : (begin ?? step.seconds))),
  );
  const end = turns[0]?.step.seconds ?? Infinity;
  const atOnce = turns.filter(({ begin }, at) => at === 0 || begin === null || begin < end);
  const naming = atOnce.filter(({ calls }) => calls?.some((call) => call.includes(path.replace(/^.*\//, ''))));
  const kept = new Set(naming.length > 0 ? naming : atOnce);
  return all.flatMap((one) => {
    const isFound = one.calls?.length === 0 ? one.step.seconds >= since : one.calls !== null && !kept.has(one);
    return isFound ? [] : [one.step];
  });
}

/** Returns true if the user's HEAD contained the commit when the snapshot was taken. */
async function knew({ repository: { store } }: BlameSource, { oid }: Change, { head }: CodeStep): Promise<boolean> {
  if (head === null || (await store.resolve(head)) === null) return false;
  return store.isAncestor(oid, head);
}

/** The number of versions to compare with each other. */
const maxCompared = 8;

/**
 * Chooses one step. A line's last step represents the earlier ones; of several lines, the line with most of the
 * commit's other files wins.
 */
async function chooseOne(
  source: BlameSource,
  index: StepIndex,
  place: Change,
  steps: readonly CodeStep[],
): Promise<Origin | null> {
  const newest = await dropAbove(
    source,
    index,
    place,
    steps.toSorted((a, b) => b.seconds - a.seconds).slice(0, maxCompared),
  );
  const apart = newest.length < 2 ? newest : await dropAncestors(source, index, newest);
  const [only] = apart;
  if (only === undefined || apart.length === 1) return only === undefined ? null : { oid: only.oid };
  const { store } = source.repository;
  const [parent] = place.commit.parents;
  const changes = await store.diffTrees(parent ?? null, place.oid, { without: '.teddy' as RepoPath });
  const score = (step: CodeStep) =>
    changes.filter(({ path, after }) =>
      index.byPath.get(path)?.some((other) => nameStep(other) === nameStep(step) && hasVersion(other, path, after)),
    ).length;
  const scores = apart.map(score);
  const best = Math.max(...scores);
  const winners = apart.filter((_, at) => scores[at] === best);
  const named = findNamed(place.commit.message);
  const chosen = winners.length === 1 ? winners : winners.filter(({ session }) => named.includes(session));
  if (chosen.length === 1 && chosen[0] !== undefined) return { oid: chosen[0].oid };
  return { unsure: null, reason: `${apart.map(nameStep).join(' and ')} have the same version of the file.` };
}

async function dropAbove(
  source: BlameSource,
  index: StepIndex,
  place: Change,
  steps: readonly CodeStep[],
): Promise<CodeStep[]> {
  const above = await Promise.all(steps.map((step) => isAbove(source, index, place, step)));
  return steps.filter((_, at) => !above[at]);
}

async function dropAncestors(source: BlameSource, index: StepIndex, steps: readonly CodeStep[]): Promise<CodeStep[]> {
  const kept: CodeStep[] = [];
  for (const step of steps) {
    const above = await Promise.all(steps.map((other) => other !== step && isAbove(source, index, step, other)));
    if (!above.includes(true)) kept.push(step);
  }
  return kept;
}

/** The maximum number of session versions to read. */
const maxRead = 12;

async function findByLines(
  source: BlameSource,
  index: StepIndex,
  place: Change & { gone: ReadonlySet<RepoPath> },
  evidence: ReadonlySet<SessionId>,
): Promise<Origin | null> {
  const names = [place.path, ...place.gone];
  const known = new Set(names.flatMap((name) => index.byPath.get(name) ?? []));
  const others = [...known].filter(({ session }) => session !== place.own?.session);
  const earlier = await keepEarlier(source, place, others);
  const last = new Map<string, CodeStep>();
  for (const step of earlier.toSorted(byTime)) last.set(nameStep(step), step);
  const newest = [...last.values()].toSorted(byTime).toReversed().slice(0, maxRead);
  const isNearBy = await Promise.all(newest.map((step) => isNear(source, place, step)));
  const near = newest.find((_, at) => isNearBy[at]);
  if (place.own !== null && near !== undefined) return { oid: near.oid };
  const compared: { step: CodeStep; run: EqualLines }[] = [];
  for (const step of await dropAbove(source, index, place, newest)) {
    for (const name of names) {
      const file = await source.repository.store.readFile(step.oid, name);
      const text = file === null ? null : decodeText(file.bytes);
      if (text !== null) compared.push({ step, run: compareLines(place.lines, text.split('\n')) });
    }
  }
  const most = Math.max(0, ...compared.map(({ run }) => run.equal.size));
  // Lines without words existed a moment before, or belong only to the commit itself.
  if (most === 0) return near === undefined ? null : { oid: near.oid };
  const tied = compared.filter(({ run }) => run.equal.size === most);
  const first = await dropFound(source, index, place.path, [...new Set(tied.map(({ step }) => step))]);
  const best = tied.find(({ step }) => first.includes(step)) as (typeof tied)[number];
  const isTie = first.some(({ session }) => session !== best.step.session);
  const isSure =
    evidence.has(best.step.session) || isNoChance(best.run, place.lines) || isNearBy[newest.indexOf(best.step)];
  if (isSure && !isTie) return { oid: best.step.oid };
  const reason = `${nameStep(best.step)} has the same lines in the file, which may be a coincidence.`;
  return {
    unsure: new Set(compared.flatMap(({ run }) => [...run.equal].map((at) => place.lines.get(at) ?? ''))),
    reason,
  };
}

/** The maximum number of commits in between. */
const maxBetween = 8;

/**
 * Returns true if the user's HEAD is, or was a few commits ago, the commit that the snapshot was based on. In that case
 * the snapshot shows the same files a little earlier.
 */
async function isNear(
  { repository: { store } }: BlameSource,
  { commit, own }: Change,
  { oid, head }: CodeStep,
): Promise<boolean> {
  const from = own === null ? commit.parents[0] : own.head;
  if (head === null || from === undefined || !isOid(from) || (await store.resolve(from)) === null) return false;
  const { author } = await store.readCommit(oid);
  if (parseIdent(author).email !== parseIdent(commit.committer).email) return false;
  let between = 0;
  for await (const { oid: one } of store.firstParents(from)) {
    if (one === head) return true;
    if ((between += 1) > maxBetween) return false;
  }
  return false;
}

interface EqualLines {
  /** The numbers of the lines that the version also contains. */
  equal: Set<number>;
  /** The longest run of consecutive equal lines. */
  longest: string[];
}

/** Returns true if the line contains a word; braces and blank lines are the same everywhere. */
function isTelling(line: string): boolean {
  return /[\p{L}\p{N}_]{3}/u.test(line);
}

/** Fewer equal lines may be a coincidence, unless they are all of the commit's lines and long enough. */
const [tellingLines, tellingLength] = [3, 40];

function isNoChance({ equal, longest }: EqualLines, lines: ReadonlyMap<number, string>): boolean {
  const telling = longest.filter(isTelling);
  if (telling.length >= tellingLines) return true;
  const all = [...lines].filter(([, text]) => isTelling(text));
  const isWhole = all.length > 0 && all.every(([at]) => equal.has(at));
  return isWhole && all.reduce((sum, [, text]) => sum + text.trim().length, 0) >= tellingLength;
}

/** Compares line by line. Only lines with words count as equal on their own; other lines count as part of a run. */
function compareLines(lines: ReadonlyMap<number, string>, version: readonly string[]): EqualLines {
  const places = new Map<string, number[]>();
  for (const [at, text] of version.entries()) places.set(text, [...(places.get(text) ?? []), at]);
  const found: EqualLines = { equal: new Set(), longest: [] };
  let runs = new Map<number, number>();
  let before = -1;
  for (const [at, text] of [...lines].toSorted(([a], [b]) => a - b)) {
    const next = new Map<number, number>();
    for (const place of places.get(text) ?? [])
      next.set(place, (at === before + 1 ? (runs.get(place - 1) ?? 0) : 0) + 1);
    if (next.size > 0 && isTelling(text)) found.equal.add(at);
    const length = Math.max(0, ...next.values());
    if (length > found.longest.length)
      found.longest = Array.from({ length }, (_, back) => lines.get(at - length + 1 + back) ?? '');
    [runs, before] = [next, at];
  }
  return found;
}
