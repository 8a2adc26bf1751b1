/**
 * `git-teddy/reader`: reads sessions without git, in Node and in browsers, from any file system in which isomorphic-git
 * finds a repository. Only `openBundle` writes anything. `docs/format.md` explains how to use it.
 */
import { historyFormats, type HistoryFormat } from '../conversation/history/history.ts';
import {
  describeSessions,
  findSource,
  findTurn,
  readLineTurns,
  readTurns,
  type DescribedSession,
  type TurnSummary,
} from '../view/view.ts';
import { hasAgentPlan } from '../conversation/records/transcript.ts';
import {
  decodeText,
  isText,
  noTurnFromError,
  renderHistory,
  type RenderedHistory,
} from '../conversation/history/render-history.ts';
import type { TranscriptRecord } from '../conversation/records/record.ts';
import { TeddyError } from '../errors.ts';
import { isOid, parseTurnName, shortRef, type Oid, type SessionId, type TurnName } from '../names.ts';
import { parsePlan } from '../plan/parse/parse.ts';
import type { ParsedPlan } from '../plan/plan.ts';
import { parsePlainReport } from '../plan/report/report-yaml.ts';
import type { Report } from '../plan/report/report.ts';
import { toLogged, type LoggedEntry } from '../session/entries/logged-entry.ts';
import { listMainLines, type DatedSource } from '../session/lines/main-lines.ts';
import { listSessionLines, type SessionLine } from '../session/lines/session-lines.ts';
import * as view from '../view/view.ts';
import { openStore, type RepositoryOptions } from './open-store.ts';

export { exitCodes, TeddyError, type ErrorCode } from '../errors.ts';
export { openBundle, type BundleOptions, type OpenedBundle } from './open-bundle.ts';
export type { FileSystem } from './file-system.ts';
export type { RepositoryOptions } from './open-store.ts';
export type {
  DescribedSession,
  HistoryFormat,
  LoggedEntry,
  Oid,
  ParsedPlan,
  Report,
  SessionId,
  SessionLine,
  TranscriptRecord,
  TurnName,
};

export interface ListOptions extends RepositoryOptions {
  /** True to include sessions whose branches are gone, here and on the remotes. */
  archived?: boolean | undefined;
}

/** A position in a session: a line's tip, or a commit. */
export interface SessionOptions extends RepositoryOptions {
  /** The session's ID: `20260124-add-user-auth`. Not needed with `commit`. */
  session?: string | undefined;
  /** One of the session's lines, by its ref or by the name that `readSession` returns for it; by default, the main line. */
  line?: string | undefined;
  /** A commit's full ID, instead of a line: reads the session's state at that commit. */
  commit?: string | undefined;
}

export interface TurnOptions extends SessionOptions {
  /** `02`, `2` or `02-branch-01`. */
  turn: string;
}

export interface HistoryOptions extends SessionOptions {
  format: HistoryFormat;
  /** The first turn to include. */
  from?: string | undefined;
}

interface FoundSession {
  session: SessionId;
  /** The requested line; null when the caller requested a commit. */
  line: SessionLine | null;
  commit: Oid;
}

export interface ReadSession extends FoundSession {
  /** All the session's lines: the main line, conversation branches, and lines that are archived or only on remotes. */
  lines: SessionLine[];
  /** The turns of this line, in order. */
  turns: TurnName[];
  /**
   * The line's steps, oldest first, from the start of the session; the user's own commits in between have no `entry`.
   * In a shallow clone, only the available steps.
   */
  steps: LoggedEntry[];
}

export interface ReadTurn extends FoundSession, TurnSummary {
  turn: TurnName;
  /** The transcript, in order. Omits lines that are not records. */
  records: TranscriptRecord[];
  /** The model's answer, if it is a plan. */
  plan: string | null;
  /** The plan, parsed by the current grammar: its actions, its memos, and its problems. */
  parsed: ParsedPlan | null;
  /** The outcome of running the plan; null when the plan has not run. */
  report: Report | null;
}

export interface ReadHistory extends FoundSession, RenderedHistory {
  format: HistoryFormat;
  /** The decoded bytes. */
  text: string;
  /** The history as values; for `jsonl` and `markdown`, as text. */
  messages: unknown[] | string;
}

/**
 * Returns a repository's sessions, oldest first, as `teddy list` lists them. Reads all commits on the base
 * branches, because a session has landed if a base branch contains it. Throws NOT_A_REPOSITORY, UNKNOWN_FORMAT,
 * DAMAGED_SESSION.
 */
export async function listSessions({ archived = false, ...options }: ListOptions): Promise<DescribedSession[]> {
  const source = await openStore(options);
  return describeSessions(source, await listMainLines(source, { archived }));
}

/**
 * Returns one session's lines, turns and steps. Throws UNKNOWN_SESSION for a session or a line that does not exist,
 * UNKNOWN_COMMIT, NOT_ON_LINE for a commit that belongs to no session, and the errors of `listSessions`.
 */
export async function readSession(options: SessionOptions): Promise<ReadSession> {
  const source = await openStore(options);
  const { store } = source.repository;
  const { lines, ...found } = await find(source, options);
  const { turns } = await readLineTurns(store, found.commit);
  const { steps } = await view.readSteps(store, { session: found.session, tip: found.commit });
  return { ...found, lines, turns, steps: steps.map(toLogged) };
}

/**
 * Returns one turn: its conversation, its plan and its report. Throws UNKNOWN_TURN, DAMAGED_SESSION for an unreadable
 * report, and the errors of `readSession`.
 */
export async function readTurn(options: TurnOptions): Promise<ReadTurn> {
  const source = await openStore(options);
  const { store } = source.repository;
  const { lines: _, ...found } = await find(source, options);
  const state = await readLineTurns(store, found.commit);
  const turn = findTurn(state, options.turn);
  const session = await view.readSession(store, { session: found.session, tip: found.commit }, { only: turn });
  const { status, messages, said, reply, replyIsPartial, asides, records, plan, report } = await view.readTurn(
    store,
    session,
    turn,
  );
  return {
    ...found,
    turn,
    status,
    messages,
    said,
    reply,
    replyIsPartial,
    asides,
    records,
    plan,
    parsed: plan === null || hasAgentPlan(records) ? null : parsePlan(plan),
    report: report === null ? null : parsePlainReport(report),
  };
}

/**
 * Returns a session's conversation, in a provider's form or as text: the bytes that `teddy history --format
 * <format>` prints. Throws UNKNOWN_TURN for a `from` after all turns, USAGE for an unknown format, and the errors of
 * `readSession`.
 */
export async function readHistory(options: HistoryOptions): Promise<ReadHistory> {
  const { format } = options;
  if (!historyFormats.includes(format))
    throw new TeddyError(
      'USAGE',
      `There is no format ${JSON.stringify(format)}.`,
      `The formats are ${historyFormats.slice(0, -1).join(', ')} and ${historyFormats.at(-1)}.`,
    );
  const source = await openStore(options);
  const { store } = source.repository;
  const { lines: _, ...found } = await find(source, options);
  const from = options.from === undefined ? undefined : parseTurnName(options.from);
  const read = await readTurns(store, await findSource(store, found.commit, found.session), from);
  if (read.turns.length === 0 && from !== undefined) throw noTurnFromError(found.session, from);
  const rendered = await renderHistory(read, format);
  const text = decodeText(rendered.bytes);
  return { ...found, format, ...rendered, text, messages: isText(format) ? text : (JSON.parse(text) as unknown[]) };
}

async function find(
  source: DatedSource,
  { session, line, commit }: SessionOptions,
): Promise<FoundSession & { lines: SessionLine[] }> {
  if (commit !== undefined) return findAtCommit(source, commit);
  if (session === undefined)
    throw new TeddyError('USAGE', 'Neither `session` nor `commit` is given.', '`listSessions` lists the sessions.');
  const { lines } = await listSessionLines(source, session as SessionId);
  const main = (await listMainLines(source, { archived: true })).find((one) => one.session === session)?.ref;
  const isNamed = ({ name, ref }: SessionLine) => [name, ref, ref && shortRef(ref)].includes(line ?? null);
  const found = lines.find(line === undefined ? ({ ref }) => ref === main : isNamed);
  if (found !== undefined) return { session: session as SessionId, line: found, commit: found.tip, lines };
  throw new TeddyError(
    'UNKNOWN_SESSION',
    lines.length === 0
      ? `There is no session ${JSON.stringify(session)} in this repository.`
      : `${session} has no line ${JSON.stringify(line)}. It has ${lines.map(({ name }) => name).join(', ')}.`,
    lines.length === 0 ? '`listSessions` lists the sessions by their ids.' : '`readSession` lists the lines.',
  );
}

async function findAtCommit(source: DatedSource, commit: string): Promise<FoundSession & { lines: SessionLine[] }> {
  const { store } = source.repository;
  const oid = isOid(commit) ? await store.resolve(commit) : null;
  if (oid === null)
    throw new TeddyError(
      'UNKNOWN_COMMIT',
      `The repository has no commit ${JSON.stringify(commit)}.`,
      "Pass a full commit id: `readSession` lists a session's commits.",
    );
  const { session } = await findSource(store, oid, undefined);
  return { session, line: null, commit: oid, lines: (await listSessionLines(source, session)).lines };
}
