/** Shows what the model would see in the next turn, and the line behind every file. Changes nothing. */
import { TeddyError } from '../../errors.ts';
import type { Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { ShownFile } from '../../session/context-files.ts';
import { parseTurnContext, type TurnLine } from '../../session/context-lines.ts';
import type { LinePosition } from '../../session/context-levels.ts';
import { joinPath, sessionDir, type SessionId, type TurnName } from '../../names.ts';
import { toContextRows, type ContextRow } from './rows.ts';
import { isBranchTurn, previewFit } from './build-request.ts';
import { openCodeTree, type CodeTree } from './code-tree.ts';
import { readLastAgent } from './compose-request.ts';
import { explainPath, type Explanation } from './explain.ts';
import { findLine, lineName, type Line } from '../line/find.ts';
import { readGlobal, type GlobalBranch } from '../line/global-branch.ts';
import { readContext, type ReadContext } from './read.ts';
import { nextTurn, readLine, readTurnFile, toText, type LineState } from '../line/read.ts';
import { readTurnList } from './read-turn-list.ts';
import { defaultAgent } from '../../conversation/agents.ts';

export interface ShownContext {
  session: SessionId;
  line: string;
  /** The next turn, or the open one. */
  turn: TurnName;
  files: ContextRow[];
  /** An estimate, of the shown files alone. */
  tokens: number;
  leftOut: { path: string; reason: string; from: string }[];
  /** How many files of directories and patterns `.teddyignore` leaves out. */
  ignored: number;
  takenAway: { path: string; from: string; by: string }[];
  notes: string[];
  /** Tracked files with edits: the next plan commits them first and shows them as they are then. */
  edited: number;
  /**
   * Edits of the lists do not change this any more. `context`: a conversation branch begins with the files of its turn.
   * `request`: the turn is open, and sends its request unchanged when it is asked again without a new message.
   */
  keeps: 'context' | 'request' | null;
  /** Why a path is shown or not, when that was asked. */
  why: Explanation | null;
}

export async function showContext(
  project: Project,
  request: { selector?: string | undefined; why?: string | undefined },
): Promise<ShownContext> {
  const { store } = project.repository;
  const line = await findLine(project, request.selector);
  const tip = line.tip ?? line.remoteTip;
  if (tip === null) throw new TeddyError('UNKNOWN_SESSION', `${lineName(line)} has no commit.`);
  const state = await readLine(store, tip);
  const turn = nextTurn(state);
  const keeps = await findKept(store, state, turn);
  const [global, editedList, edited] = await Promise.all([
    readGlobal(project),
    keeps === 'context' ? undefined : readEditedList(line),
    countEdits(line),
  ]);
  const code = openCodeTree(project, state.tip);
  const context = await readContext(project, state, turn, global, line.workspace, { sessionContext: editedList, code });
  const origins = await traceOrigins(store, state, turn, context.turnList);
  const from = (place: LinePosition) => describePlace(place, origins);
  const fitted =
    keeps === null ? await fit(project, state, turn, global, { context, code }) : { files: context.files, notes: [] };
  const files = toContextRows({ ...context, files: fitted.files }, from);
  const { leftOut, takenAway } = context.resolved;
  const notes = [...context.resolved.notes, ...fitted.notes];
  const told = leftOut.filter(({ isQuiet }) => !isQuiet);
  return {
    session: state.session,
    line: lineName(line),
    turn,
    files,
    tokens: files.reduce((sum, { tokens }) => sum + tokens, 0),
    leftOut: told.map(({ path, reason, place }) => ({ path, reason, from: from(place) })),
    ignored: new Set(leftOut.filter(({ isQuiet }) => isQuiet).map(({ path }) => path)).size,
    takenAway: takenAway.map(({ path, place, by }) => ({ path, from: from(place), by: from(by) })),
    notes,
    edited,
    keeps,
    why:
      request.why === undefined
        ? null
        : explainPath(request.why, { root: line.workspace?.root, resolved: context.resolved, files, from }),
  };
}

/** For the agent and the model that `plan` would ask without a flag. */
async function fit(
  project: Project,
  state: LineState,
  turn: TurnName,
  global: GlobalBranch | null,
  read: { context: ReadContext; code: CodeTree },
): Promise<{ files: ShownFile[]; notes: string[] }> {
  const agent = (await readLastAgent(project, state)) ?? defaultAgent;
  const model = (await project.settings.get('model')) ?? state.entry.model ?? 'none';
  const info = { session: state.session, turn, agent, provider: 'none', model, parameters: {} };
  return previewFit(project, state, global, info, read);
}

async function findKept(store: Store, state: LineState, turn: TurnName): Promise<ShownContext['keeps']> {
  if (state.latest?.status !== 'open') return null;
  const log = await readTurnFile(store, state.entryOid, state.session, turn, '_context.log');
  if (log === null) return null;
  return isBranchTurn(turn) ? 'context' : 'request';
}

/** An edit of `session.context` is what somebody who asks has just made; the next plan commits it first. */
async function readEditedList({ workspace, session }: Line): Promise<string | undefined> {
  const bytes = await workspace?.readDisk(joinPath(sessionDir(session), 'session.context'));
  return bytes ? toText(bytes) : undefined;
}

async function countEdits({ workspace }: Line): Promise<number> {
  const status = await workspace?.status({ untracked: false });
  return status?.edits.filter(({ path, submodule }) => !submodule && !path.startsWith('.teddy/')).length ?? 0;
}

/** Text of a line of a turn's own list -> the action or vault that first put it there. */
type Origins = ReadonlyMap<string, string>;

function describePlace({ level, line, text }: LinePosition, origins: Origins): string {
  return level === 'turn' ? (origins.get(text) ?? 'turn.context') : `${level}.context:${line}`;
}

/**
 * A line that was kept from turn to turn is followed back to the turn in whose list it does not stand yet: what came
 * of that turn put it there.
 */
async function traceOrigins(
  store: Store,
  state: LineState,
  turn: TurnName,
  turnList: readonly TurnLine[],
): Promise<Origins> {
  const earlier = state.turns.filter((name) => name !== turn);
  const origins = new Map<string, string>();
  let lines = turnList;
  const wanted = new Set(turnList.map(({ text }) => text));
  for (let at = earlier.length - 1; at >= 0 && wanted.size > 0; at -= 1) {
    const name = earlier[at];
    if (name === undefined) break;
    for (const { text, origin } of lines) {
      if (origin === 'list' || !wanted.delete(text)) continue;
      origins.set(text, origin === 'vault' ? `turn: Context Vault of turn ${name}` : `turn: ${origin} in turn ${name}`);
    }
    const kept = await readTurnFile(store, state.entryOid, state.session, name, 'turn.context');
    const known = new Set(parseTurnContext(kept ?? ''));
    // The files of a directory or pattern in a vault stand literally in the list of the turn after.
    const isVault = lines.some(({ origin }) => origin === 'vault');
    for (const text of wanted) {
      if (known.has(unquote(text))) continue;
      wanted.delete(text);
      if (isVault) origins.set(text, `turn: Context Vault of turn ${name}`);
    }
    lines = wanted.size > 0 ? await readTurnList(store, state, earlier[at - 1]) : [];
  }
  return origins;
}

function unquote(text: string): string {
  return parseTurnContext(text)[0] ?? text;
}
