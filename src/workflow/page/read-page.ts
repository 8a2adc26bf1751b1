/**
 * Reads the data that the session's page shows. The same source produces the same values in every clone, whatever else
 * the clone contains.
 */
import { readDefaultBranches } from '../../session/lines/lines.ts';
import { nullIfDamaged, TeddyError, isDamage } from '../../errors.ts';
import type { Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { decodeLandings, landingText } from '../../session/lines/landing.ts';
import { mayFollowTurn } from '../../session/entries/entry.ts';
import { sumSpent } from '../../session/spending/spending.ts';
import { sessionDir, turnNumber, type Oid, type SessionId, type TurnName } from '../../names.ts';
import { withOrigins } from '../../page/origins.ts';
import type {
  PageCommit,
  PageComparison,
  PageSource,
  PageTurn,
  SessionPage,
  PageChecks,
} from '../../page/session-page.ts';
import { maskString, maskTexts } from '../line/mask-text.ts';
import { findNearestEntry } from '../../session/entries/nearest-entry.ts';
import { toStep } from '../../view/view.ts';
import { findRecorded, type RecordedLine } from '../line/find-recorded.ts';
import { readStarts } from '../../session/lines/session-starts.ts';
import { listCodeChanges } from '../review/diff-files.ts';
import { listSessionLines } from '../../session/lines/session-lines.ts';
import { joinChanges } from '../review/turn.ts';
import { readLineFiles } from './line-files.ts';
import { openTexts } from './page-texts.ts';
import { openRequests } from './read-request.ts';
import { readSources, toPageTurn, type TurnTarget } from './read-turn.ts';
import { stepReader, walkLines, type PageStep, type WalkedLine, type WalkedTurn } from './walk-lines.ts';
import { replayLine } from '../replay/line.ts';
import { verifyLine } from '../verify/line.ts';

export interface PageOptions {
  /** The teddy version that renders the page. */
  version: string;
  /** True to verify and replay the lines, without running commands. */
  checks: boolean;
}

/** Finds a page's source. Throws the errors of `findRecorded`, and USAGE for a range. */
export async function findPageSource(project: Project, selector: string | undefined): Promise<PageSource> {
  const { session, name, tip, after } = await findRecorded(project, selector);
  if (after !== null)
    throw new TeddyError('USAGE', 'A page shows a whole session, not a range of commits.', 'Name a session.');
  const { lines } = await listSessionLines(project, session);
  // The line may have moved meanwhile.
  const others = lines.filter((line) => line.name !== name);
  // If several names refer to one commit, the first counts.
  const names = new Map([...others.toReversed(), { name, tip }].map((line) => [line.tip, line.name]));
  const shown = [...new Set([tip, ...others.map((line) => line.tip)])].map((oid) => ({
    name: names.get(oid) ?? '',
    tip: oid,
  }));
  const landed = await findLandings(project, session, tip);
  return {
    session,
    line: await maskString(project.masker, name),
    lines: await maskTexts(project.masker, shown),
    landed,
  };
}

/** Finds the landings on the default branches and on the session's base branch, oldest first. */
async function findLandings(project: Project, session: SessionId, tip: Oid): Promise<Oid[]> {
  const { store } = project.repository;
  const nearest = await findNearestEntry(project, tip);
  const lines = nearest === null ? [] : [{ session, oid: tip, created: nearest.entry.created }];
  const start = (await readStarts(project, lines)).get(session);
  const older = start === undefined ? [] : (await store.readCommit(start.oid)).parents.slice(0, 1);
  const own = start?.branch == null ? null : await store.resolve(`refs/heads/${start.branch}`);
  const bases = (await readDefaultBranches(project)).filter(({ ref }) => !ref.endsWith('/teddy/global'));
  const found = new Map<Oid, number>();
  for (const base of new Set([...bases.map(({ oid }) => oid), ...(own === null ? [] : [own])]))
    for (const oid of await store.findReachable(landingText, base, older)) {
      const { message, committer } = await store.readCommit(oid);
      const seconds = Number(/> (\d{1,12}) /.exec(committer)?.[1] ?? 0);
      if (decodeLandings(message).some((landing) => landing.session === session)) found.set(oid, seconds);
    }
  return [...found].toSorted(([a, one], [b, other]) => one - other || (a < b ? -1 : 1)).map(([oid]) => oid);
}

/**
 * Reads the page. Throws GIT_FAILED when one of the source's commits is missing, DAMAGED_SESSION in a shallow clone,
 * MASKING_FAILED.
 */
export async function readPage(project: Project, source: PageSource, options: PageOptions): Promise<SessionPage> {
  const { store } = project.repository;
  const lines = await walkLines(project, source);
  const [line] = lines;
  if (line === undefined) throw new TeddyError('USAGE', 'A page shows at least one line.', 'Export the page again.');
  const turns: PageTurn[] = [];
  for await (const turn of readTurns(project, source.session, await listTargets(store, source.session, lines)))
    turns.push(turn);
  const steps = line.all.filter(({ entry }) => entry?.session === source.session);
  const message = turns.flatMap(({ parts }) => parts).find(({ kind }) => kind === 'message');
  const others = await listOthers(project, source, lines);
  const changed = await listCodeChanges(store, line.below, line.tip).catch(nullIfDamaged);
  const said = message?.kind === 'message' ? message.text.text.trim().split('\n', 1)[0] : '';
  return {
    version: options.version,
    source,
    title: said === undefined || said === '' ? source.session : said.slice(0, 200),
    base: toBase(line),
    authors: [...new Set(steps.map(({ author }) => author))],
    startedAt: steps[0]?.at ?? null,
    endedAt:
      steps
        .map(({ at: time }) => time)
        .toSorted()
        .at(-1) ?? null,
    turns: withOrigins(turns),
    shown: [...line.turns.values()].map(({ turn }) => turn),
    others,
    spent: sumSpent(steps.flatMap(({ entry }) => entry ?? [])),
    files: await readLineFiles(project, line, changed ?? [], { turns, others }),
    comparisons: await compareAttempts(project, lines),
    checks: options.checks ? await checkPage(project, source, lines) : null,
  };
}

type Target = Omit<TurnTarget, 'session'>;

/** Lists each turn once. A line's newest entry contains the files of all its turns. */
async function listTargets(store: Store, session: SessionId, lines: readonly WalkedLine[]): Promise<Target[]> {
  const targets: Target[] = [];
  for (const line of lines) {
    const own = [...line.turns.values()].filter(({ isOwn }) => isOwn);
    const newest = line.all.findLast(({ entry }) => entry?.session === session);
    if (own.length === 0 || newest === undefined) continue;
    const dir = await store.readDir(newest.commit, sessionDir(session)).catch(nullIfDamaged);
    const trees = new Map(
      dir?.entries.flatMap(({ name, oid, mode }) => (mode === '40000' ? [[name, oid] as const] : [])),
    );
    targets.push(...own.map((walked) => ({ line, walked, tree: trees.get(walked.name) })));
  }
  return targets;
}

/** The number of turns to read at a time; more could be too large. */
const turnsAtOnce = 8;

async function* readTurns(project: Project, session: SessionId, targets: readonly Target[]): AsyncGenerator<PageTurn> {
  const requests = openRequests(project.hash);
  for (let at = 0; at < targets.length; at += turnsAtOnce) {
    const some = targets.slice(at, at + turnsAtOnce).map((target) => ({ ...target, session }));
    const sources = some.map((target) => readSources(project, target));
    for (const [row, read] of (await Promise.all(sources)).entries())
      yield await toPageTurn(project, some[row] as TurnTarget, read, requests);
  }
}

function toBase({ own, below }: WalkedLine): SessionPage['base'] {
  return below === null ? null : { commit: below, branch: own[0]?.entry?.baseBranch ?? null };
}

/** A commit with more files most likely merges another branch, and the view of all files has them anyway. */
const maxCommitFiles = 200;

/** Lists the commits on each line that belong to no turn, then the landings. */
async function listOthers(
  { masker, repository: { store } }: Project,
  { session, landed }: PageSource,
  lines: readonly WalkedLine[],
): Promise<PageCommit[]> {
  const others: PageCommit[] = [];
  const toPageStep = stepReader(masker);
  const add = async (kind: PageCommit['kind'], line: WalkedLine, after: TurnName | null, step: OtherStep) => {
    const { commit, at: time, author, subject, changes } = step;
    const code = kind === 'landing' ? [] : joinChanges(changes ?? []);
    const read = await openTexts(masker).diff(store, code.slice(0, maxCommitFiles)).catch(nullIfDamaged);
    const files = read ?? [];
    const named = await maskString(masker, subject);
    const about = { commit, kind, line: line.name, after, time, author, subject: named };
    others.push({ ...about, files, omitted: code.length - files.length });
  };
  for (const line of lines) {
    const shown = new Set([...line.turns.values()].flatMap(({ steps, isOwn }) => (isOwn ? steps : [])));
    for (const step of line.own) {
      const { entry } = step;
      const isForeign = entry !== null && entry.session !== session;
      if (shown.has(step) || isForeign || entry?.kind === 'start') continue;
      const kind = entry?.kind === 'snapshot' || entry?.kind === 'write' ? entry.kind : 'own';
      await add(kind, line, turnAt(line, session, step.commit), step);
    }
  }
  for (const oid of landed) {
    const landing = await store.readCommit(oid);
    const { message } = landing;
    const tips = decodeLandings(message).flatMap((one) => (one.session === session ? [one.tip] : []));
    const line = lines.find(({ all }) => all.some(({ commit }) => tips.includes(commit))) ?? lines[0];
    const step = await toPageStep(toStep({ ...landing, oid, parent: landing.parents[0] ?? null }));
    if (line !== undefined) await add('landing', line, turnAt(line, session, tips[0] ?? oid), step);
  }
  return others;
}

type OtherStep = Pick<PageStep, 'commit' | 'at' | 'author' | 'subject' | 'changes'>;

/**
 * Returns the turn of the last entry at or before one of the line's commits; for a commit that is not on the line, its
 * last turn.
 */
function turnAt({ all, turns }: WalkedLine, session: SessionId, commit: Oid): TurnName | null {
  const at = all.findIndex((step) => step.commit === commit);
  const before = at === -1 ? all : all.slice(0, at + 1);
  const last = before.findLast(
    ({ entry }) => entry?.session === session && entry.turn !== null && !mayFollowTurn(entry.kind),
  );
  return turns.get(last?.entry?.turn as TurnName)?.turn ?? null;
}

/** Compares each branch's first turn with the same-numbered turn on the line that it left. */
async function compareAttempts(project: Project, lines: readonly WalkedLine[]): Promise<PageComparison[]> {
  const { store } = project.repository;
  const comparisons: PageComparison[] = [];
  for (const { leaves, turns } of lines) {
    const other = [...turns.values()].find(({ isOwn }) => isOwn);
    const left = [...(leaves?.line.turns.values() ?? [])];
    const one =
      other && left.find(({ turn, name }) => turn !== other.turn && turnNumber(name) === turnNumber(other.name));
    if (one === undefined || other === undefined) continue;
    const page = openTexts(project.masker);
    const code = await listCodeChanges(store, codeOf(one), codeOf(other))
      .then((changes) => page.diff(store, changes))
      .catch(nullIfDamaged);
    comparisons.push({ one: one.turn, other: other.turn, code: code ?? [] });
  }
  return comparisons;
}

/** Returns the commit with the code as the turn left it. */
function codeOf({ steps }: WalkedTurn): Oid {
  return (steps.findLast(({ entry }) => !mayFollowTurn(entry?.kind)) ?? (steps[0] as PageStep)).commit;
}

/** The most faults that a page lists; the last one states how many more there are. */
const maxFaults = 100;
const maxFaultLength = 500;

/** Checks the lines; checks commits that several lines share only once. */
async function checkPage(project: Project, { session }: PageSource, lines: readonly WalkedLine[]): Promise<PageChecks> {
  const verify: PageChecks['verify'] = { entries: 0, turns: 0, isWhole: true, faults: [] };
  const replay: PageChecks['replay'] = { same: 0, different: 0, notCompared: 0, faults: [] };
  const known: Oid[] = [];
  for (const { name, tip, leaves } of lines) {
    const line: RecordedLine = { session, name, ref: null, tip, after: leaves?.commit ?? null };
    const verified = await verifyLine(project, { ...line, after: null }, { known });
    verify.entries += verified.entries;
    verify.turns += verified.turns;
    verify.isWhole &&= verified.isWhole;
    verify.faults.push(
      ...verified.violations.map(({ commit, turn, path, message }) =>
        describe(commit, [turn && `turn ${turn}`, path], message),
      ),
    );
    await replayInto(project, line, replay);
    known.push(tip);
  }
  return {
    verify: { ...verify, faults: await cutFaults(project, verify.faults) },
    replay: { ...replay, faults: await cutFaults(project, replay.faults) },
  };
}

async function replayInto(project: Project, line: RecordedLine, replay: PageChecks['replay']): Promise<void> {
  try {
    const { turns } = await replayLine(project, line);
    for (const { outcome, differences } of turns) {
      if (outcome === 'same') replay.same += 1;
      if (outcome === 'different') replay.different += 1;
      if (outcome === 'not_compared') replay.notCompared += 1;
      replay.faults.push(
        ...differences.map(({ commit, turn, path, message }) => describe(commit, [`turn ${turn}`, path], message)),
      );
    }
  } catch (error) {
    if (!isDamage(error)) throw error;
    replay.faults.push(error.message);
  }
}

function describe(commit: Oid, about: (string | null)[], message: string): string {
  return `${[commit.slice(0, 10), ...about.filter((word) => word !== null)].join(' ')}: ${message}`;
}

async function cutFaults({ masker }: Project, faults: readonly string[]): Promise<string[]> {
  const some = await Promise.all(faults.slice(0, maxFaults).map((fault) => maskString(masker, fault)));
  const more = faults.length - some.length;
  return [...some.map((fault) => fault.slice(0, maxFaultLength)), ...(more > 0 ? [`And ${more} more.`] : [])];
}
