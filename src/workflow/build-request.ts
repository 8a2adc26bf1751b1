/** What the model is shown in a turn, and the files that record it. */
import { lastAnswer, userMessages, type TranscriptRecord } from '../conversation/transcript.ts';
import { parsePlan } from '../plan/parse.ts';
import { readSucceeded } from '../plan/report-outcomes.ts';
import type { ModelMessage, Project, Store } from '../ports.ts';
import { findAgent } from '../session/agents.ts';
import { readContextFiles, turnContextPaths } from '../session/context-files.ts';
import { nextTurnList, parseTurnContext, renderTurnContext } from '../session/context-lines.ts';
import { renderContextLog, type RequestInfo, type SourcedText } from '../session/context-log.ts';
import { resolveContext } from '../session/context.ts';
import { globalContextPath, memosPath } from '../session/global-files.ts';
import { renderHistory, type TurnHistory } from '../session/history-text.ts';
import { joinPath, sessionDir, turnDir, type Oid, type RepoPath, type TurnName } from '../session/names.ts';
import { renderTreeListing } from '../session/tree-listing.ts';
import type { FileEdit } from './append-entry.ts';
import type { GlobalBranch } from './global-branch.ts';
import { readTurn, readTurnFile, toText, type LineState, type Turn } from './read-line.ts';

export interface RequestWish {
  info: RequestInfo;
  message: string;
  /** Absolute, so that a model's absolute paths of the project are understood. */
  root: string | undefined;
}

export interface BuiltRequest {
  messages: ModelMessage[];
  log: string;
  /** `turn.context` and `_context.log`. */
  files: FileEdit[];
  /** What a person should know: files left out, lines not understood. */
  notes: string[];
}

/** The request of a new turn, on the context as it is at the line's tip. */
export async function buildRequest(
  project: Project,
  state: LineState,
  global: GlobalBranch | null,
  wish: RequestWish,
): Promise<BuiltRequest> {
  const { store } = project.repository;
  const { session, turn } = wish.info;
  const earlier = state.turns.filter((name) => name !== turn);
  const [tree, sessionContext, list, history] = await Promise.all([
    store.listTree(state.tip),
    store.readFile(state.tip, joinPath(sessionDir(session), 'session.context')),
    readTurnList(store, state, earlier.at(-1)),
    readHistory(store, state, earlier),
  ]);
  const code = tree.filter(({ path }) => !path.startsWith('.teddy/'));
  const globalContext =
    global?.globalContext ?? toText((await store.readFile(state.tip, globalContextPath))?.bytes ?? null);
  const levels = { global: globalContext, session: toText(sessionContext?.bytes ?? null), turn: list };
  const context = resolveContext(levels, code, wish.root);
  const files = await readContextFiles(context, (oid) => store.readBlob(oid));
  const memos = await readMemos(store, state.tip, global);
  const { log, messages } = renderContextLog(
    {
      info: wish.info,
      system: readSystem(project, wish.info.agent, global),
      memos,
      history: history.length === 0 ? null : renderHistory(history),
      tree: renderTreeListing(code),
      files,
      message: wish.message,
    },
    project.hash,
  );
  const dir = turnDir(session, turn);
  return {
    log,
    messages,
    files: [
      { path: joinPath(dir, 'turn.context'), bytes: renderTurnContext(turnContextPaths(files)) },
      { path: joinPath(dir, '_context.log'), bytes: log },
    ],
    notes: [
      ...context.leftOut.map(({ path, reason }) => `Not shown to the model: ${path} (${reason}).`),
      ...context.notes,
    ],
  };
}

/** Another message on the exact context of a conversation branch's turn. */
export async function rebuildRequest(
  project: Project,
  log: string,
  global: GlobalBranch | null,
  wish: RequestWish,
): Promise<BuiltRequest> {
  const { replaceRequest } = await import('../session/context-log-parse.ts');
  const system = readSystem(project, wish.info.agent, global);
  const rebuilt = replaceRequest(log, { info: wish.info, system, message: wish.message }, project.hash);
  const path = joinPath(turnDir(wish.info.session, wish.info.turn), '_context.log');
  return { log: rebuilt.log, messages: rebuilt.messages, files: [{ path, bytes: rebuilt.log }], notes: [] };
}

/** What an open turn sent, to be sent again; null while nothing was sent. */
export async function readStoredRequest(
  store: Store,
  state: LineState,
  turn: TurnName,
): Promise<{ log: string; messages: ModelMessage[]; info: RequestInfo } | null> {
  const log = await readTurnFile(store, state.entryOid, state.session, turn, '_context.log');
  if (log === null) return null;
  // Loaded only here: a new turn reads no log, and a schema takes its time to load.
  const { parseContextLog } = await import('../session/context-log-parse.ts');
  const { frontMatter, messages } = parseContextLog(log);
  return { log, messages, info: frontMatter };
}

function readSystem(project: Project, name: string, global: GlobalBranch | null): SourcedText {
  const agent = findAgent(name, global?.agents ?? new Map());
  const source =
    agent.source === 'builtin'
      ? { kind: 'builtin' as const, sha: project.hash(agent.text) }
      : { kind: 'stored' as const };
  return { text: agent.text, source };
}

/** `memos.yaml` as the turn's commit will have it; its blob is in that commit. */
async function readMemos(store: Store, tip: Oid, global: GlobalBranch | null): Promise<SourcedText | null> {
  const text = global?.memos ?? toText((await store.readFile(tip, memosPath))?.bytes ?? null);
  if (text.trim() === '') return null;
  return { text, source: { kind: 'blob', oid: await store.batch().blob(text) } };
}

/** The turn's own list: what the last turn had or its plan's vault named, plus what its actions touched. */
async function readTurnList(store: Store, state: LineState, last: TurnName | undefined): Promise<string[]> {
  if (last === undefined) return [];
  const turn = await readTurn(store, state.entryOid, state.session, last);
  const list = parseTurnContext((await readTurnFile(store, state.entryOid, state.session, last, 'turn.context')) ?? '');
  const plan = turn.plan === null ? null : parsePlan(toText(turn.plan)).plan;
  return nextTurnList({ list, vault: plan?.contextVault ?? null, touched: readTouched(turn) });
}

function readTouched(turn: Turn): RepoPath[] {
  if (turn.report === null || turn.plan === null) return [];
  const { actions } = parsePlan(toText(turn.plan)).plan;
  return readSucceeded(toText(turn.report)).flatMap((index) => {
    const action = actions[index - 1];
    if (action?.type === 'CREATE' || action?.type === 'EDIT') return [action.path];
    return action?.type === 'READ' && action.resource.kind === 'path' ? [action.resource.path] : [];
  });
}

async function readHistory(store: Store, state: LineState, turns: TurnName[]): Promise<TurnHistory[]> {
  return Promise.all(turns.map(async (turn) => toHistory(await readTurn(store, state.entryOid, state.session, turn))));
}

function toHistory({ turn, records, plan, report }: Turn): TurnHistory {
  return {
    turn,
    messages: userMessages(records),
    plan: plan && toText(plan),
    replies: plan === null ? readReplies(records) : [],
    report: report && toText(report),
  };
}

function readReplies(records: TranscriptRecord[]): string[] {
  const answer = lastAnswer(records);
  return answer && 'text' in answer ? [answer.text] : [];
}

/** The first turn of a conversation branch: it keeps the context of the turn that it branched from. */
export function isBranchTurn(turn: TurnName): boolean {
  return turn.includes('-branch-');
}
