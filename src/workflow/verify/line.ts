/** Checks every promise that a line makes, commit by commit. Never throws because of a hostile repository's content. */
import { isDamage, TeddyError } from '../../errors.ts';
import type { Signature, Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { checkMessage, classifyEarlyId } from '../../session/entries/entry-trailers.ts';
import { countOf } from '../../session/spending/describe-spending.ts';
import { keepRecentReads } from '../../session/context/keep-recent.ts';
import { joinPath, turnDir, type Oid, type RepoPath, type TurnName } from '../../names.ts';
import { checkApproval, watchApprovals, type NeededApproval } from './check-approval.ts';
import { checkId } from './check-id.ts';
import { checkLabel } from './check-label.ts';
import { checkAsked, checkLog } from './check-log.ts';
import { checkPaths } from './check-paths.ts';
import { watchPromises, type NeededPromise } from './check-promise.ts';
import { checkForeign, checkPublished } from './check-published.ts';
import { checkReport } from './check-report.ts';
import { checkEncoding, checkSecrets, checkSha256, searchText } from './check-texts.ts';
import { findBase, type LineBase } from './find-base.ts';
import type { RecordedLine } from '../line/find-recorded.ts';
import { readAhead } from './read-ahead.ts';
import { contentReader } from '../line/read-content.ts';
import { openLogRenderer } from './render-log-again.ts';
import type { Rule, VerifiedLine } from '../../session/entries/violation.ts';
import {
  decodeAdded,
  openWalk,
  readWalkedTurn,
  statusOf,
  type LineWatch,
  type Step,
  type WalkedCommit,
  type WalkedLine,
} from './walked-line.ts';
import type { OrderFacts } from '../../session/lines/line-order.ts';
import type { TranscriptRecord } from '../../conversation/records/record.ts';
import { hasAgentPlan, mayEndOpen } from '../../conversation/records/transcript.ts';

export interface VerifyOptions {
  /** Commits whose history teddy verified earlier. */
  known?: readonly Oid[];
  /**
   * The size limit for every file that a commit adds; without it, only teddy's own files and the entries' files have a
   * limit, which is large.
   */
  maxFileBytes?: number;
  /** True to skip the search for secrets, because teddy has already searched everything. */
  isSearched?: boolean;
  /** Key fingerprints; one of these keys must have signed every entry. */
  signedBy?: ReadonlySet<string> | undefined;
  /** Requires an approval, even a later one, for every executed plan. */
  requireApproval?: NeededApproval | undefined;
  /** Requires that runs changed nothing that the plans on the line do not name. */
  requirePromise?: NeededPromise | undefined;
  signal?: AbortSignal;
  onProgress?(entries: number): void;
}

/** Larger than any transcript imported so far. */
const usualMaxFileBytes = 256 * 1024 * 1024;

/**
 * Returns all of the line's faults instead of throwing. Throws only INTERRUPTED and errors that say nothing about the
 * line: GIT_FAILED when git cannot start, and BAD_SETTING.
 */
export async function verifyLine(
  given: Project,
  line: RecordedLine,
  options: VerifyOptions = {},
): Promise<VerifiedLine> {
  const store = keepRecentReads(given.repository.store);
  const project: Project = { ...given, repository: { ...given.repository, store } };
  const { session, name, tip } = line;
  const result: VerifiedLine = {
    session,
    line: name,
    tip,
    entries: 0,
    turns: 0,
    isWhole: true,
    derived: 0,
    attested: 0,
    signed: null,
    violations: [],
    notes: [],
  };
  try {
    const base = await findBase(store, line, options.known ?? []);
    await verifyFrom(project, base, result, options);
  } catch (error) {
    if (!isDamage(error)) throw error;
    addViolation(result, 'objects', tip, null, null, `The rest of the line cannot be read: ${error.message}`);
  }
  return result;
}

async function verifyFrom(
  project: Project,
  base: LineBase,
  result: VerifiedLine,
  options: VerifyOptions,
): Promise<void> {
  const { store } = project.repository;
  if (!(await beginsHonestly(store, base, result))) return;
  const walk = await openWalk(
    {
      project,
      session: result.session,
      contents: contentReader(store),
      limitsAll: options.maxFileBytes !== undefined,
      isSearched: options.isSearched === true,
      maxFileBytes: options.maxFileBytes ?? usualMaxFileBytes,
      logs: openLogRenderer(project),
      result,
    },
    base,
  );
  const watches = [
    ...(options.requireApproval === undefined ? [] : [watchApprovals(options.requireApproval)]),
    ...(options.requirePromise === undefined ? [] : [watchPromises(options.requirePromise)]),
  ];
  const seen = new Map<Oid, SeenCommit>();
  for await (const commit of readAhead(walk, store.walkChanges(result.tip, base.not))) {
    refuseInterrupted(options);
    seen.set(commit.oid, await checkCommit(walk, commit, options, watches));
  }
  result.turns = walk.order.turns();
  if (walk.early > 0)
    result.notes.push(
      `The clock was set back, or had been running ahead: ${countOf(walk.early, 'entry', 'entries')} ${walk.early === 1 ? 'is dated before what it follows' : 'are dated before what they follow'}.`,
    );
  if (walk.restored > 0)
    result.notes.push(
      `Commits outside the session changed ${walk.restored} of its files, and later commits restored them.`,
    );
  // Each signed commit starts gpg, which may ask a server for a key; that is not worth it for a line that teddy refuses
  // anyway.
  if (walk.limitsAll && result.violations.length > 0) return;
  const { signal, signedBy } = options;
  const signatures = await store.checkSignatures(result.tip, base.not, { signal, withKeys: signedBy !== undefined });
  refuseInterrupted(options);
  addSignatures(result, signatures, seen, { hasKeys: signedBy !== undefined });
  if (signedBy !== undefined) requireSigned(result, signatures, seen, signedBy);
  const keysOf = signedBy === undefined ? null : (oid: Oid) => signatures.get(oid)?.keys ?? [];
  result.violations.push(...watches.flatMap((watch) => watch.violations(keysOf)));
}

function refuseInterrupted({ signal }: VerifyOptions): void {
  if (signal?.aborted) throw new TeddyError('INTERRUPTED', 'Interrupted.', 'Nothing was changed.');
}

/** Returns false when there is nothing to walk. */
async function beginsHonestly(store: Store, { kind }: LineBase, result: VerifiedLine): Promise<boolean> {
  const add = (rule: Rule, message: string) => addViolation(result, rule, result.tip, null, null, message);
  if (kind === 'cut' && (await store.cutCommits()).size > 0) {
    result.isWhole = false;
    result.notes.push(
      'The clone is shallow: the history before its first commit is not here, and was not checked. Run `git fetch --unshallow`.',
    );
  } else if (kind === 'cut')
    add('objects', 'A commit below the line is missing, so the history before it was not checked.');
  if (kind === 'headless') add('order', 'The line has entries, but does not begin with `start`.');
  if (kind === 'none') add('order', `No commit on the line is an entry of ${result.session}.`);
  return kind !== 'none';
}

function addViolation(
  { violations }: VerifiedLine,
  rule: Rule,
  commit: Oid,
  turn: TurnName | null,
  path: RepoPath | null,
  message: string,
): void {
  violations.push({ rule, commit, turn, path, message });
}

interface SeenCommit {
  turn: TurnName | null;
  isEntry: boolean;
}

type Signatures = ReadonlyMap<Oid, Signature>;
type SeenCommits = ReadonlyMap<Oid, SeenCommit>;

function addSignatures(
  result: VerifiedLine,
  signatures: Signatures,
  seen: SeenCommits,
  { hasKeys }: { hasKeys: boolean },
): void {
  const states = [...signatures].filter(([oid]) => seen.has(oid));
  for (const [oid, { state }] of states)
    if (state === 'bad')
      addViolation(result, 'signature', oid, seen.get(oid)?.turn ?? null, null, 'Its signature is bad.');
  // When the user named keys, checks each entry against them, whichever keys git trusts.
  const unknown = states.filter(
    ([oid, { state }]) => state === 'unknown' && !(hasKeys && seen.get(oid)?.isEntry === true),
  ).length;
  if (unknown > 0)
    result.notes.push(
      `${unknown} of ${states.length} signatures could not be checked: git has no trusted key for them, or cannot check.`,
    );
}

/** Checks only against the named keys; whether git trusts them does not matter. */
function requireSigned(
  result: VerifiedLine,
  signatures: Signatures,
  seen: SeenCommits,
  signedBy: ReadonlySet<string>,
): void {
  result.signed = 0;
  for (const [oid, { turn, isEntry }] of seen) {
    if (!isEntry) continue;
    const signature = signatures.get(oid);
    if (signature !== undefined && signature.state !== 'bad' && signature.keys.some((key) => signedBy.has(key)))
      result.signed += 1;
    else if (signature === undefined) addViolation(result, 'signature', oid, turn, null, 'It is not signed.');
    else if (signature.state !== 'bad')
      addViolation(result, 'signature', oid, turn, null, 'It is not signed by any of the named keys.');
  }
}

async function checkCommit(
  walk: WalkedLine,
  commit: WalkedCommit,
  options: VerifyOptions,
  watches: readonly LineWatch[],
): Promise<SeenCommit> {
  const { entry, problems } = checkMessage(commit.commit.message, commit.decoded);
  const turn = entry?.turn ?? null;
  const blame = (rule: Rule, path: RepoPath | null, message: string) =>
    addViolation(walk.result, rule, commit.oid, turn, path, message);
  for (const problem of problems) blame('trailers', null, problem);
  const early = entry && classifyEarlyId(entry, commit.commit);
  if (early === 'forged') blame('trailers', null, 'Its id was made before the session was created.');
  if (early === 'set-back') walk.early += 1;
  const { author, committer, message } = commit.commit;
  await searchText(walk, { blame }, null, `${author}\n${committer}\n${message}`);
  await checkPaths(walk, commit, blame);
  if (entry === null || entry.session !== walk.session) {
    if (entry !== null) blame('order', null, `It is an entry of session ${entry.session}.`);
    checkForeign(walk, commit, blame);
    return { turn, isEntry: false };
  }
  walk.result.entries += 1;
  await checkEntry(walk, { commit, entry, blame });
  for (const watch of watches) await watch.see(walk, { commit, entry, blame });
  options.onProgress?.(walk.result.entries);
  return { turn, isEntry: true };
}

async function checkEntry(walk: WalkedLine, step: Step): Promise<void> {
  await checkOrder(walk, step);
  const { entry } = step;
  walk.isForeign ||= entry.foreign !== undefined || entry.importFormat !== undefined;
  const added = walk.isForeign ? [] : await readAdded(walk, step);
  const lengths = await readTranscriptLengths(walk, step);
  await checkPublished(walk, step);
  await keepTurn(walk, step);
  await checkEncoding(walk, step);
  await checkSha256(walk, step);
  await checkReport(walk, step);
  checkApproval(walk, step);
  if (!walk.isForeign) {
    await checkLabel(walk, step, added);
    await checkId(walk, step, added);
  }
  await checkSecrets(walk, step, lengths);
  await checkLog(walk, step);
  await checkAsked(walk, step);
}

/** Reads the entry's earlier transcript length, because teddy has already searched that part for secrets. */
async function readTranscriptLengths(walk: WalkedLine, { commit, entry }: Step): Promise<Map<RepoPath, number>> {
  if (entry.turn === null) return new Map();
  const path = joinPath(turnDir(walk.session, entry.turn), 'transcript.jsonl');
  if (!commit.contents.has(path) || !walk.published.has(path)) return new Map();
  const turn = await readWalkedTurn(walk, entry.turn, commit.commit.parents[0]);
  return new Map([[path, turn?.transcript.length ?? 0]]);
}

/** Stores the effect of a plan or a report on its turn. */
async function keepTurn(walk: WalkedLine, { commit, entry }: Step): Promise<void> {
  if (entry.turn === null || (entry.kind !== 'plan' && entry.kind !== 'report')) return;
  const turn = await readWalkedTurn(walk, entry.turn, commit.commit.parents[0]);
  if (turn === null) return;
  const plan = await commit.contents.get(joinPath(turnDir(walk.session, entry.turn), 'plan.md'))?.read();
  walk.current = {
    ...turn,
    ...(entry.kind === 'plan' ? { planEntry: entry } : {}),
    plan: plan?.kind === 'bytes' ? plan.bytes : turn.plan,
    hasReport: turn.hasReport || entry.kind === 'report',
  };
}

/** Checks that an entry may come at its position. */
async function checkOrder(walk: WalkedLine, { commit, entry, blame }: Step): Promise<void> {
  if (commit.commit.parents.length > 1) blame('order', null, 'An entry has one parent; this one is a merge.');
  for (const problem of walk.order.add(entry, await readFacts(walk, { commit, entry, blame })))
    blame('order', null, problem);
}

/** Reads the facts about the order, but only for entries that need them. */
async function readFacts(walk: WalkedLine, { commit, entry }: Step): Promise<OrderFacts> {
  const parent = commit.commit.parents[0];
  const isOpening = entry.turn !== null && !walk.order.has(entry.turn);
  const latest = isOpening || entry.kind === 'message' ? await readWalkedTurn(walk, walk.order.latest(), parent) : null;
  const own = entry.kind === 'plan' ? await readWalkedTurn(walk, entry.turn, parent) : null;
  return {
    latest: latest && !mayEndOpen(latest.records) ? statusOf(latest) : null,
    hasMessage: own && own.records.some(({ type }) => type === 'user'),
    isAgentPlan: entry.kind === 'plan' && hasAgentPlan(await readAdded(walk, { commit, entry })),
  };
}

/** Reads the records that the entry adds to its turn's transcript. */
async function readAdded(
  walk: WalkedLine,
  { commit, entry }: Pick<Step, 'commit' | 'entry'>,
): Promise<TranscriptRecord[]> {
  if (entry.turn === null) return [];
  const before = await readWalkedTurn(walk, entry.turn, commit.commit.parents[0]);
  const content = await commit.contents.get(joinPath(turnDir(walk.session, entry.turn), 'transcript.jsonl'))?.read();
  return content?.kind === 'bytes' ? decodeAdded(content.bytes.subarray(before?.transcript.length ?? 0)).records : [];
}
