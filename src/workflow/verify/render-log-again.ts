/** Re-renders the content of a `_context.log` from the commits, section by section, and compares the bytes. */
import { isDamage, TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { parseContextLog, replaceRequest, type ParsedContextLog } from '../../session/context/context-log-parse.ts';
import { type LogSection, countTokens, renderLabel, sectionNames } from '../../session/context/context-log-sections.ts';
import { memosPath } from '../../session/global/global-files.ts';
import type { Oid, SessionId, TurnName } from '../../names.ts';
import { isBranchTurn } from '../context/build-request.ts';
import { readLine, readTurnFile, toText, type LineState } from '../../view/view.ts';
import { openCodeTrees } from './code-trees.ts';
import { compare, compareKept, excuseRebased, isRebased, toMissing } from './compare-section.ts';
import { openHistories, type Histories } from './log-history.ts';
import { openSources, type Sources } from './log-sources.ts';
import { missingOf } from '../line/read-content.ts';
import type { LogRequest, RenderedLog, Expected } from './verify.ts';
import type { Store } from '../../ports/git.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import { startsSession } from '../line/session-start.ts';
import { decodeTranscript } from '../../conversation/history/decode-transcript.ts';
import { userMessages } from '../../conversation/records/transcript.ts';
import { renderTurnContext } from '../../session/context/context-lines.ts';
import { assembleLog } from '../../session/context/context-log.ts';

export interface LogRenderer {
  /** Throws only when git itself fails. */
  render(request: LogRequest): Promise<RenderedLog>;
}

/** Opens a renderer that reads and renders parts shared by several logs only once. */
export function openLogRenderer(project: Project): LogRenderer {
  const code = openCodeTrees(project.repository.store);
  const tools: Tools = {
    project,
    histories: openHistories(project),
    sources: openSources(project, code),
    listing: code.listing,
    count: rememberCounts(),
  };
  return {
    async render(request) {
      const result: RenderedLog = { derived: 0, attested: 0, differences: [], asked: null, unproven: [], rebased: 0 };
      try {
        await renderAll(tools, request, result);
        if (result.differences.length > 0 && (await isRebased(project.repository.store, request.commit)))
          excuseRebased(result);
      } catch (error) {
        if (!isDamage(error) && !isUnfound(error)) throw error;
        result.differences.push({ section: 'all', message: (error as Error).message, ...toMissing(missingOf(error)) });
      }
      return result;
    },
  };
}

/** Returns true if the line is in a state that no regular program writes. */
function isUnfound(error: unknown): boolean {
  return error instanceof TeddyError && (error.code === 'NOT_ON_LINE' || error.code === 'UNKNOWN_TURN');
}

interface Tools {
  project: Project;
  histories: Histories;
  sources: Sources;
  listing(commit: Oid): Promise<string>;
  count(sections: readonly LogSection[]): number;
}

async function renderAll(tools: Tools, request: LogRequest, result: RenderedLog): Promise<void> {
  const parsed = parseContextLog(request.log);
  result.asked = parsed.frontMatter;
  checkFrame({ hash: tools.project.hash, count: tools.count }, request, parsed, result);
  await checkTurnContext(tools.project, request, parsed, result);
  const kept = await readKept(tools.project, request);
  if (kept !== null) return compareWithKept(tools, request, parsed, kept, result);
  const { commit } = await readParent(tools.project, request);
  const state = commit === null ? null : await readLine(tools.project.repository.store, commit);
  const expected = await Promise.all(parsed.sections.map((section) => expect(tools, request, parsed, state, section)));
  for (const [at, section] of parsed.sections.entries())
    compare(section, expected[at] ?? { kind: 'unknown' }, result, isBranchTurn(request.turn));
  await checkPresence(tools, request, parsed, state, result);
}

async function readParent({ repository: { store } }: Project, { commit }: LogRequest): Promise<{ commit: Oid | null }> {
  return { commit: (await store.readCommit(commit)).parents[0] ?? null };
}

async function expect(
  tools: Tools,
  request: LogRequest,
  parsed: ParsedContextLog,
  state: LineState | null,
  section: LogSection,
): Promise<Expected> {
  switch (section.name) {
    case 'system':
      return tools.sources.system(parsed.frontMatter, section);
    case 'memos':
      return tools.sources.memos(request, section);
    case 'tree':
      return tools.sources.tree(await tools.listing(request.commit));
    case 'file':
      return tools.sources.file(request, section);
    case 'message':
      return expectMessage(tools.project, request);
    case 'history':
      return state === null ? { kind: 'unknown' } : tools.histories.expect(state, parsed, section);
  }
}

/** Reports missing sections. */
async function checkPresence(
  tools: Tools,
  request: LogRequest,
  { frontMatter, sections }: ParsedContextLog,
  state: LineState | null,
  result: RenderedLog,
): Promise<void> {
  const has = (name: LogSection['name']) => sections.some((section) => section.name === name);
  const missing = (section: LogSection['name']) =>
    result.differences.push({ section, message: 'The log should have this section, but does not.' });
  if (!has('tree')) missing('tree');
  if (
    !has('history') &&
    !isBranchTurn(request.turn) &&
    state !== null &&
    (frontMatter.mode === 'ask' || tools.histories.isExpected(state, request.turn))
  )
    missing('history');
  if (has('memos') || isBranchTurn(request.turn)) return;
  const memos = await tools.project.repository.store.readFile(request.commit, memosPath);
  if (toText(memos?.bytes ?? null).trim() !== '') missing('memos');
}

/**
 * Reads the first log of a turn that keeps another turn's context. Returns null for other turns, and when that log
 * begins here.
 */
async function readKept(project: Project, { commit, session, turn }: LogRequest): Promise<string | null> {
  return isBranchTurn(turn) ? readBranchLog(project.repository.store, { commit, session, turn }) : null;
}

/** Compares the log of another message on a conversation branch, which takes over everything but prompt and message. */
async function compareWithKept(
  tools: Tools,
  request: LogRequest,
  parsed: ParsedContextLog,
  kept: string,
  result: RenderedLog,
): Promise<void> {
  const { commit } = await readParent(tools.project, request);
  const state = commit === null ? null : await readLine(tools.project.repository.store, commit);
  const message = parsed.sections.at(-1)?.body ?? '';
  const earlier = state === null ? null : await tools.histories.earlier(state, parsed, message);
  const again = replaceRequest(
    kept,
    { info: parsed.frontMatter, system: { text: '', source: { kind: 'stored' }, masked: 0 }, message, earlier },
    tools.project.hash,
  );
  const wanted = again.sections.slice(1, -1);
  const found = parsed.sections.slice(1, -1);
  for (const [at, section] of found.entries()) compareKept(section, wanted[at], result);
  if (found.length < wanted.length)
    result.differences.push({ section: 'all', message: 'Sections from the branched turn are missing.' });
  const [system] = parsed.sections;
  if (system !== undefined) compare(system, await tools.sources.system(parsed.frontMatter, system), result);
  const last = parsed.sections.at(-1);
  if (last !== undefined) compare(last, await expectMessage(tools.project, request), result);
}

/**
 * Reads the log of the turn that a conversation branch left. Returns null when the commit is the one that began the
 * branch, or when no commit here began it.
 */
async function readBranchLog(
  store: Store,
  { commit, session, turn }: { commit: Oid; session: SessionId; turn: TurnName },
): Promise<string | null> {
  for await (const found of store.firstParents(commit)) {
    const entry = decodeEntry(found.commit.message);
    if (entry?.kind === 'branch' && entry.turn === turn)
      return found.oid === commit ? null : readTurnFile(store, { commit: found.oid, session, turn }, '_context.log');
    if (await startsSession(store, entry, found.commit)) return null;
  }
  return null;
}

/** Counts a log's tokens, and caches each section's count, because most of the sections were also in the previous log. */
export function rememberCounts(): (sections: readonly LogSection[]) => number {
  let known = new Map<string, { body: string; tokens: number }>();
  return (sections) => {
    const next: typeof known = new Map();
    let sum = 0;
    for (const section of sections) {
      const label = renderLabel(section);
      const found = known.get(label);
      const tokens = found?.body === section.body ? found.tokens : countTokens(section);
      next.set(label, { body: section.body, tokens });
      sum += tokens;
    }
    known = next;
    return sum;
  };
}

/** Returns the user's last message in the turn. */
async function expectMessage(
  { repository: { store } }: Project,
  { commit, session, turn }: LogRequest,
): Promise<Expected> {
  const transcript = await readTurnFile(store, { commit, session, turn }, 'transcript.jsonl');
  if (transcript === null)
    return isBranchTurn(turn) ? { kind: 'unknown' } : { kind: 'wrong', message: 'The turn has no transcript.' };
  const message = userMessages(decodeTranscript(transcript).records).at(-1) ?? '';
  return { kind: 'text', body: message.replace(/\p{Surrogate}/gu, '\uFFFD') };
}

/** The parts that follow from a log's own sections: boundary, counts, order, and the turn's context list. */
interface Frame {
  hash: Project['hash'];
  /** Counts the tokens of sections. */
  count(sections: readonly LogSection[]): number;
}

/** Checks the boundary, the counts and the layout, which follow from the sections. */
function checkFrame(
  { hash, count }: Frame,
  { session, turn, log }: LogRequest,
  { frontMatter, sections }: ParsedContextLog,
  result: RenderedLog,
): void {
  const add = (message: string) => result.differences.push({ section: 'front matter', message });
  if (frontMatter.session !== session) add(`It belongs to session ${frontMatter.session}.`);
  // A conversation branch took its log over from the turn that it left.
  if (frontMatter.turn !== turn && !isBranchTurn(turn)) add(`It belongs to turn ${frontMatter.turn}.`);
  const again = assembleLog(frontMatter, sections, hash, { count, hasDigest: frontMatter.digest !== null });
  if (again.log !== log) add('It does not match the sections.');
  const ranks = sections.map(({ name }) => sectionNames.indexOf(name));
  const isOrdered = ranks.every(
    (rank, at) => at === 0 || rank > (ranks[at - 1] ?? 0) || (rank === filesAt && ranks[at - 1] === filesAt),
  );
  if (!isOrdered) add('The sections are out of order, or one of them appears twice.');
}

const filesAt = sectionNames.indexOf('file');

async function checkTurnContext(
  { repository }: Project,
  { commit, session, turn }: LogRequest,
  { sections }: ParsedContextLog,
  result: RenderedLog,
): Promise<void> {
  const list = await readTurnFile(repository.store, { commit, session, turn }, 'turn.context');
  const paths = sections.flatMap(({ path, provenance: { kind } }) =>
    path !== null && (kind === 'shown' || kind === 'missing') ? [path] : [],
  );
  const add = (message: string) => result.differences.push({ section: 'file', message });
  if (list === null) add('The log has no turn.context next to it.');
  else if (renderTurnContext(paths) !== list)
    add('turn.context lists different files from the ones that the log shows.');
}
