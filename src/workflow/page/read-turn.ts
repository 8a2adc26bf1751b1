/** One of a page's turns, read from the files in its directory and the commits that made it. */
import { toHistory } from '../../conversation/history/fold-history.ts';
import type { AssistantBlock, HistoryCall, HistoryTurn, UserBlock } from '../../conversation/history/history.ts';
import { toOutputText } from '../../conversation/history/provider-parts.ts';
import type { NoteRecord, PlanRecord, ThinkingRecord, TranscriptRecord } from '../../conversation/records/record.ts';
import { endsWithAgentPlan, hasAgentPlan } from '../../conversation/records/transcript.ts';
import { toTurnHistory } from '../../conversation/history/turn-history.ts';
import { isDamage, nullIfDamaged } from '../../errors.ts';
import { findClosest } from '../../plan/match/match.ts';
import type { Problem } from '../../plan/match/problem.ts';
import { parsePlan } from '../../plan/parse/parse.ts';
import { parseReport } from '../../plan/report/report-yaml.ts';
import { readRun } from '../../plan/report/report-logs.ts';
import type { Report } from '../../plan/report/report.ts';
import { runVirtually } from '../../plan/validate.ts';
import type { CommitChange, TreeEntry } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { renderTurn } from '../../session/context/history-text.ts';
import { decodeText } from '../../session/text/bytes.ts';
import type { EntryKind } from '../../session/entries/entry.ts';
import { turnDir, type Oid, type SessionId } from '../../names.ts';
import type {
  PagePart,
  PagePlan,
  PagePreview,
  PageProblem,
  PageReport,
  PageText,
  PageTurn,
  PageVerdict,
} from '../../page/session-page.ts';
import { inspectTree } from '../line/inspect-tree.ts';
import { mapTexts, maskProblems, maskString, maskTexts } from '../line/mask-text.ts';
import {
  isCaptured,
  outlineTurn,
  readBodies,
  readTurnVerdicts,
  toShowCommand,
  toTurn,
  type Turn,
  type TurnBodies,
} from '../../view/view.ts';
import { comparePromise, joinChanges } from '../review/turn.ts';
import { maxText, openTexts, type PageTexts } from './page-texts.ts';
import type { RequestReader } from './read-request.ts';
import type { PageStep, WalkedLine, WalkedTurn } from './walk-lines.ts';

export interface TurnTarget {
  session: SessionId;
  line: WalkedLine;
  walked: WalkedTurn;
  /** The turn's directory; undefined when missing. */
  tree: Oid | undefined;
}

/** The contents of a turn's files, and the unreadable parts. */
export interface TurnSources {
  bodies: TurnBodies;
  /** The sha256 of `plan.md`; null when there is none. */
  planSha256: string | null;
  /** Null when there is none. */
  log: string | null;
  faults: string[];
}

/** A longer request is not teddy's. */
const maxLogBytes = 32 * 1024 * 1024;

/** Reads the files without throwing: a damaged or missing file counts as a fault of the turn. */
export async function readSources(project: Project, { session, walked, tree }: TurnTarget): Promise<TurnSources> {
  const { store } = project.repository;
  const faults: string[] = [];
  const guard = <Value>(what: string, read: Promise<Value>) => read.catch(toFault(faults, what));
  if (tree === undefined) faults.push(`The directory of turn ${walked.name} cannot be read.`);
  const entries = tree === undefined ? [] : ((await guard('its directory', store.readTree(tree))) ?? []);
  const place = { commit: lastOf(walked.steps).commit, session, turn: walked.name };
  const plan = entries.find(({ name }) => name === 'plan.md');
  const { commit } = openingOf(walked.steps);
  const isLast = commit === stepOf(walked.steps, opening).commit;
  const then = isLast ? null : await guard('_context.log', store.readDir(commit, turnDir(session, walked.name)));
  const [bodies, planSha256, log] = await Promise.all([
    // A damaged file does not affect the others.
    readBodies(store, place, { most: 2 * maxText, entries, onError: (file) => toFault(faults, file) }),
    plan === undefined ? null : store.readBlob(plan.oid).then(project.hash).catch(nullIfDamaged),
    guard('_context.log', readLog(project, then?.entries ?? entries)),
  ]);
  return { bodies, planSha256, log, faults };
}

/** Reads the request; returns an empty text for one that is too long to be teddy's. */
async function readLog({ repository: { store } }: Project, entries: readonly TreeEntry[]): Promise<string | null> {
  const found = entries.find(({ name, mode }) => name === '_context.log' && mode.startsWith('100'));
  if (found === undefined) return null;
  const size = await store.readSize(found.oid);
  return size !== null && size > maxLogBytes ? '' : new TextDecoder().decode(await store.readBlob(found.oid));
}

function toFault(faults: string[], what: string): (error: unknown) => null {
  return (error) => {
    if (!isDamage(error)) throw error;
    faults.push(`Damaged or missing: ${what}. ${error.message}`);
    return null;
  };
}

/** Makes a page's turn; the caller has to read turns in page order. Throws MASKING_FAILED. */
export async function toPageTurn(
  project: Project,
  target: TurnTarget,
  sources: TurnSources,
  requests: RequestReader,
): Promise<PageTurn> {
  const { store } = project.repository;
  const { session, line, walked } = target;
  const { turn, name, parent, steps } = walked;
  const page = openTexts(project.masker);
  const read = toTurn(session, outlineTurn(name, steps), sources.bodies);
  const faults = [...sources.faults];
  const report = readReport(read.report, faults);
  const commandOf = (file: string, kinds: readonly EntryKind[]) =>
    toShowCommand({ commit: stepOf(steps, kinds).commit, session, turn: name }, file);
  const logCommand = toShowCommand({ commit: openingOf(steps).commit, session, turn: name }, '_context.log');
  const cutOf = (file: string) => read.cut.some((cut) => cut.file === file);
  const transcript = {
    cut: (text: string) => page.cut(text, commandOf('transcript.jsonl', anyKind), cutOf('transcript.jsonl')),
  };
  const { records } = read;
  const parts = await toParts(name, records, transcript.cut);
  const made = { read, sha256: sources.planSha256 ?? '', steps, command: commandOf('plan.md', ['plan']) };
  const plan = await toPlan(page, made);
  if (plan?.parsed != null && read.status === 'planned')
    plan.preview = await toPreview(project, page, { ...made, tip: line.tip }).catch(
      toFault(faults, 'the files that its plan would change'),
    );
  const verdicts = await toVerdicts(project, target, transcript.cut).catch(toFault(faults, 'the verdicts on its plan'));
  const reported = await toReport(project, report, {
    steps,
    wasCut: cutOf('report.md'),
    command: commandOf('report.md', ['report']),
  });
  const request =
    sources.log === null
      ? null
      : await requests.read({
          turn,
          commit: openingOf(steps).commit,
          command: logCommand,
          log: sources.log,
          find: (of) => [...line.turns.values()].find((other) => other.name === of)?.turn ?? null,
          cut: (text) => page.cut(text, logCommand),
        });
  if (sources.faults.length === 0)
    requests.keep(turn, renderTurn(toTurnHistory(name, records, { plan: null, report: null })));
  const actions = new Map(report?.changes.map(({ path, action }) => [path, action]));
  const files = await page
    .diff(store, listChanges(steps, faults), (path) => actions.get(path) ?? null)
    .catch(toFault(faults, 'its code'));
  return {
    turn,
    name,
    line: line.name,
    parent,
    status: read.status,
    awaitsVerdict: endsWithAgentPlan(records) && [...line.turns.values()].at(-1) === walked,
    outcome: report?.run_summary.status ?? null,
    author: steps[0]?.author ?? null,
    agent: read.agent ?? (isCaptured(records) ? findForeign(line) : null),
    provider: read.provider,
    model: read.model,
    startedAt: steps[0]?.at ?? '',
    endedAt: lastOf(steps).at,
    parts,
    plan,
    verdicts: verdicts ?? [],
    report: reported,
    promise: await toPromise(project, read, report, steps),
    files: files ?? [],
    request,
    commits: await toCommits(project, steps),
    spent: read.spent,
    undoneBy: read.undoneBy,
    partlyUndoneBy: read.partlyUndoneBy,
    faults: await maskTexts(project.masker, faults),
  };
}

function toPromise(project: Project, read: Turn, report: Report | null, steps: readonly PageStep[]) {
  const changes = new Map(steps.map((step) => [step.commit, step.changes ?? []]));
  return maskTexts(
    project.masker,
    comparePromise(read, report, (commit) => changes.get(commit) ?? []),
  );
}

async function toCommits({ masker }: Project, steps: readonly PageStep[]): Promise<PageTurn['commits']> {
  const entries = steps.flatMap(({ entry }) => entry ?? []);
  const titles = await maskTexts(
    masker,
    entries.map(({ title }) => title),
  );
  return steps.map(({ commit, at: time, entry }, at) => ({
    commit,
    time,
    kind: entry?.kind ?? 'message',
    title: titles[at] ?? '',
  }));
}

/** Returns the other program that the line has followed, or null. */
function findForeign({ all }: WalkedLine): string | null {
  return all.findLast(({ entry }) => entry?.foreign !== undefined)?.entry?.foreign?.agent ?? null;
}

const opening: readonly EntryKind[] = ['message', 'branch'];
const anyKind: readonly EntryKind[] = [];

/** Returns the step with the request that the plan answered; questions about the plan came later. */
function openingOf(steps: readonly PageStep[]): PageStep {
  const planned = steps.findIndex(({ entry }) => entry?.kind === 'plan');
  return stepOf(planned === -1 ? steps : steps.slice(0, planned + 1), opening);
}

/** Returns the last step of these kinds, otherwise the last step of all. */
function stepOf(steps: readonly PageStep[], kinds: readonly EntryKind[]): PageStep {
  return steps.findLast(({ entry }) => entry !== null && kinds.includes(entry.kind)) ?? lastOf(steps);
}

function lastOf(steps: readonly PageStep[]): PageStep {
  const last = steps.at(-1);
  if (last === undefined) throw new Error('A turn has at least one step.');
  return last;
}

function listChanges(steps: readonly PageStep[], faults: string[]): CommitChange[] {
  const made = steps.filter(({ entry }) => entry?.kind !== 'undo');
  const unread = made.filter(({ changes }) => changes === null).map(({ commit }) => commit.slice(0, 10));
  if (unread.length > 0) faults.push(`Damaged or missing: the changes of ${unread.join(', ')}.`);
  return joinChanges(made.flatMap(({ changes }) => changes ?? []));
}

type Cut = (text: string) => Promise<PageText>;

/** Returns the parts in the order of the fold; notes and thinking stay where their records are. */
async function toParts(turn: string, records: TranscriptRecord[], cut: Cut): Promise<PagePart[]> {
  const transcript = { records, skipped: [], repaired: [] };
  const places = new Map(records.flatMap((record, at) => ('id' in record ? [[record.id, at] as const] : [])));
  const asides = records.flatMap((record, at) =>
    record.type === 'note' || record.type === 'thinking' || record.type === 'plan' ? [{ record, at }] : [],
  );
  const parts: PagePart[] = [];
  const addAsides = async (before: number) => {
    for (; asides[0] !== undefined && asides[0].at < before; asides.shift())
      parts.push(await toAside(turn, asides[0].record, cut));
  };
  for (const block of toHistory([{ turn, transcript }]).turns.flatMap(listBlocks)) {
    await addAsides(places.get(block.id) ?? 0);
    parts.push('callId' in block ? await toCall(block, cut) : await toSaid(block, cut));
  }
  await addAsides(Infinity);
  return parts;
}

async function toAside(turn: string, record: NoteRecord | ThinkingRecord | PlanRecord, cut: Cut): Promise<PagePart> {
  if (record.type === 'plan') return { kind: 'plan' };
  const text = await cut(record.text);
  if (record.type === 'thinking') return { kind: 'thinking', text };
  const { records = [] } = record;
  if (records.length === 0) return { kind: 'note', text };
  return { kind: 'note', text, parts: await toParts(turn, records, cut) };
}

function listBlocks({ said, steps }: HistoryTurn): (UserBlock | AssistantBlock | HistoryCall)[] {
  return [...said, ...steps.flatMap(({ texts, calls }) => [...texts, ...calls])];
}

async function toSaid(block: UserBlock | AssistantBlock, cut: Cut): Promise<PagePart> {
  const { source, text } = block;
  const isReply = 'isInterrupted' in block;
  if (isReply && source === 'plan') return { kind: 'plan' };
  if (!isReply && source === 'report') return { kind: 'report' };
  return {
    kind: isReply ? 'reply' : 'message',
    text: await cut(text),
    isSpoken: source === (isReply ? 'voice_response' : 'voice_transcription'),
    isPartial: isReply && block.isInterrupted,
  };
}

async function toCall({ name, input, result }: HistoryCall, cut: Cut): Promise<PagePart> {
  const { text: tool } = await cut(name);
  const given = await cut(JSON.stringify(input, null, 2));
  if (result.isSynthetic) return { kind: 'call', tool, input: given, result: null };
  const output = await cut(toOutputText(result));
  return {
    kind: 'call',
    tool,
    input: given,
    result: { output, isError: result.isError, reason: result.reason ?? null },
  };
}

interface Made {
  steps: readonly PageStep[];
  command: string;
}

async function toPlan(
  page: PageTexts,
  { read, sha256, steps, command }: Made & { read: Turn; sha256: string },
): Promise<PagePlan | null> {
  const { plan } = read;
  if (plan === null) return null;
  const source = await page.cut(
    plan,
    command,
    read.cut.some(({ file }) => file === 'plan.md'),
  );
  const { commit } = stepOf(steps, ['plan']);
  const { grammar } = readRun(read.report ?? '');
  const isForeign = hasAgentPlan(read.records);
  const parsed = source.cut === null && !isForeign ? parsePlan(source.text, { grammar }) : null;
  const isExact = source.cut === null && source.text === plan;
  return { source, sha256, isExact, commit, parsed, isForeign, preview: null };
}

/** How many lines to show before and after the place that is most like a FIND, and how many at most. */
const [linesAround, maxNearLines] = [2, 40];

/** Runs the plan virtually on the files in the line's last commit, which are the same in every clone. */
async function toPreview(
  { masker, repository: { store } }: Project,
  page: PageTexts,
  { read, command, tip }: Made & { read: Turn; tip: Oid },
): Promise<PagePreview> {
  const parsed = parsePlan(read.plan ?? '');
  const inspect = inspectTree(store, tip);
  const mask = (text: string) => maskString(masker, text);
  const { effects, problems } = await runVirtually(parsed, { inspect, mask });
  const writes = effects.filter((effect) => effect.kind === 'write');
  const files = await inOrder(writes, (effect) => page.preview(effect, command));
  const findNear = async ({ line, action: index }: Problem): Promise<PageProblem['near']> => {
    const action = parsed.plan.actions.find((one) => one.index === index);
    if (action?.type !== 'EDIT') return null;
    const found = await inspect(action.path);
    const earlier = writes.findLast((write) => write.path === action.path && write.action < action.index);
    const bytes = earlier?.after ?? (found.kind === 'file' ? found.bytes : null);
    const text = await mask((bytes && decodeText(bytes)) ?? '');
    const closest = findClosest(text, action.pairs.find((pair) => pair.line === line)?.find ?? '');
    if (closest === null) return null;
    const firstLine = Math.max(closest.firstLine - linesAround, 1);
    const end = Math.min(closest.lastLine + linesAround, firstLine + maxNearLines - 1);
    return {
      firstLine,
      text: await page.cut(
        text
          .split('\n')
          .slice(firstLine - 1, end)
          .join('\n'),
        command,
      ),
    };
  };
  const nears = await inOrder(problems, findNear);
  const masked = await maskProblems(masker, problems);
  const toProblem = (problem: Problem, at: number) => ({ ...problem, near: nears[at] ?? null });
  return { files: files.filter((file) => file !== null), problems: masked.map(toProblem) };
}

async function toVerdicts(project: Project, { session, walked }: TurnTarget, cut: Cut): Promise<PageVerdict[]> {
  const found = await readTurnVerdicts(project, { session, turn: walked.name }, walked.steps);
  return inOrder(found, async ({ verdict, author, at, text, comments }) => ({
    verdict,
    author: author.name,
    time: at,
    text: text === null ? null : await cut(text),
    comments: await inOrder(comments, async (comment) => ({ line: comment.line, text: await cut(comment.text) })),
  }));
}

function readReport(text: string | null, faults: string[]): Report | null {
  try {
    return text === null ? null : parseReport(text);
  } catch (error) {
    if (!isDamage(error)) throw error;
    faults.push(error.message);
    return null;
  }
}

/** Masks the report's texts one by one, because a mask may not be valid YAML. */
async function toReport(
  { masker }: Project,
  given: Report | null,
  { steps, command, wasCut }: Made & { wasCut: boolean },
): Promise<PageReport | null> {
  if (given === null) return null;
  const page = openTexts(masker);
  let characters = 0;
  const report = await mapTexts(given, async (value) => {
    const { text, cut } = await page.cut(value, command, wasCut);
    characters += cut?.characters ?? 0;
    return text;
  });
  const { commit, author, at: time } = stepOf(steps, ['report']);
  return { commit, author, time, report, cut: characters === 0 ? null : { characters, command } };
}

async function inOrder<Item, Result>(items: readonly Item[], use: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) results.push(await use(item));
  return results;
}
