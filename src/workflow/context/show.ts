/** Shows the context that the model would see in the next turn, and the list line that added each file. Changes nothing. */
import { TeddyError } from '../../errors.ts';
import type { Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { ShownFile } from '../../session/context/context-files.ts';
import { countTokens, type LogSection } from '../../session/context/context-log-sections.ts';
import { parseTurnContext, type TurnLine } from '../../session/context/context-lines.ts';
import type { LinePosition } from '../../session/context/context-levels.ts';
import { joinPath, sessionDir, type SessionId, type TurnName } from '../../names.ts';
import type { RequestInfo } from '../../session/context/context-log.ts';
import { toContextRows, type ContextRow } from './rows.ts';
import { fitRequest, isBranchTurn, readBudget, readStoredRequest } from './build-request.ts';
import { openCodeTree, type CodeTree } from './code-tree.ts';
import { readLastAgent } from './compose-request.ts';
import { explainPath, type Explanation } from './explain.ts';
import { withoutMasks } from './read-history.ts';
import { findLine, lineName, type Line } from '../line/find.ts';
import { readGlobal, type GlobalBranch } from '../line/global-branch.ts';
import { readContext, readListed, type ReadContext } from './read.ts';
import { nextTurn, readLine, readTurnFile, toText, type LineState } from '../../view/view.ts';
import { readTurnList } from './read-turn-list.ts';
import { defaultAgent } from '../../conversation/prompts/agents.ts';

export interface ShownContext {
  session: SessionId;
  line: string;
  /** The next turn, or the open one. */
  turn: TurnName;
  files: ContextRow[];
  /** An estimate for the shown files only. */
  tokens: number;
  leftOut: { path: string; reason: string; from: string }[];
  /** The number of files in the listed directories and patterns that `.teddyignore` excludes. */
  ignored: number;
  takenAway: { path: string; from: string; by: string }[];
  notes: string[];
  /** The number of tracked files with edits. The next plan commits these edits first, and shows the edited files. */
  edited: number;
  /**
   * The reason why editing the lists no longer changes this context; null when it does. `context`: a conversation
   * branch begins with its turn's files. `request`: the turn is open, and sends its request unchanged when the user
   * asks again without a new message.
   */
  keeps: 'context' | 'request' | null;
  budget: SpentBudget;
  /** The reasons why the model does or does not see a path; null when the caller gave no path. */
  why: Explanation | null;
}

/** Estimates, in tokens. */
export interface SpentBudget {
  total: number;
  /** The model for which the budget is calculated; empty when none is set. */
  model: string;
  spent: Record<BudgetPart, number>;
  /** The number of free tokens; below 0 when the files named by the user are too large. */
  left: number;
}

type BudgetPart = 'prompt' | 'memos' | 'history' | 'tree' | 'files' | 'message';

interface ContextQuery {
  selector?: string | undefined;
  why?: string | undefined;
  /** The user's lists if they differ from the saved ones. */
  lists?: { session?: string | undefined; global?: string | undefined };
  /** The next model to ask, if it is not the configured one. */
  model?: AskedModel | undefined;
}

type AskedModel = Pick<RequestInfo, 'provider' | 'model'>;

export async function showContext(project: Project, request: ContextQuery): Promise<ShownContext> {
  const { store } = project.repository;
  const line = await findLine(project, request.selector);
  const tip = line.tip ?? line.remoteTip;
  if (tip === null) throw new TeddyError('UNKNOWN_SESSION', `${lineName(line)} has no commit.`);
  const state = await readLine(store, tip);
  const turn = nextTurn(state);
  const keeps = await findKept(store, state, turn);
  const [saved, editedList, edited] = await Promise.all([
    readGlobal(project),
    request.lists?.session ?? (keeps === 'context' ? undefined : readEditedList(line)),
    countEdits(line),
  ]);
  const global = saved && { ...saved, globalContext: request.lists?.global ?? saved.globalContext };
  const code = openCodeTree(project, state.tip);
  const context = await readContext(project, state, turn, global, line.workspace, { sessionContext: editedList, code });
  const origins = await traceOrigins(store, state, turn, context.turnList);
  const from = (place: LinePosition) => describePlace(place, origins);
  const {
    files: shown,
    notes: left,
    budget,
  } = await fit(project, state, turn, global, {
    context,
    code,
    keeps,
    asked: request.model,
  });
  const files = toContextRows({ ...context, files: shown }, from);
  const { leftOut, takenAway } = context.resolved;
  const notes = [...context.resolved.notes, ...left];
  return {
    session: state.session,
    line: lineName(line),
    turn,
    files,
    tokens: files.reduce((sum, { tokens }) => sum + tokens, 0),
    leftOut: toLeftOut(context.resolved, from),
    ignored: new Set(leftOut.filter(({ isQuiet }) => isQuiet).map(({ path }) => path)).size,
    takenAway: takenAway.map(({ path, place, by }) => ({ path, from: from(place), by: from(by) })),
    notes,
    edited,
    keeps,
    budget,
    why:
      request.why === undefined
        ? null
        : explainPath(request.why, { root: line.workspace?.root, resolved: context.resolved, files, from }),
  };
}

/** Resolves a `global.context` at HEAD, for a repository without sessions. */
export async function showListed(
  project: Project,
  global: string,
): Promise<Pick<ShownContext, 'files' | 'leftOut'> & { budget: null }> {
  const { store, workspace } = project.repository;
  const head = await store.resolve('HEAD');
  const tree = head === null ? [] : await openCodeTree(project, head).filesFor(global.split('\n'), workspace?.root);
  const levels = { global, session: '', turn: [] };
  const { files, resolved } = await readListed(project, levels, tree, workspace, async () => new Map());
  const from = (place: LinePosition) => describePlace(place, new Map());
  return {
    files: toContextRows({ files, resolved }, from),
    leftOut: toLeftOut(resolved, from),
    budget: null,
  };
}

function toLeftOut(
  { leftOut }: Pick<ReadContext['resolved'], 'leftOut'>,
  from: (place: LinePosition) => string,
): ShownContext['leftOut'] {
  const told = leftOut.filter(({ isQuiet }) => !isQuiet);
  return told.map(({ path, reason, place }) => ({ path, reason, from: from(place) }));
}

interface Fitted {
  files: ShownFile[];
  notes: string[];
  budget: SpentBudget;
}

/**
 * Fits the request for the current agent and, if no model is named, the model that `plan` would ask without a flag.
 * Measures a request that will be sent unchanged directly.
 */
async function fit(
  project: Project,
  state: LineState,
  turn: TurnName,
  global: GlobalBranch | null,
  {
    context,
    code,
    keeps,
    asked: named,
  }: { context: ReadContext; code: CodeTree; keeps: ShownContext['keeps']; asked: AskedModel | undefined },
): Promise<Fitted> {
  const agent = (await readLastAgent(project, state)) ?? defaultAgent;
  const model = named?.model ?? (await project.settings.get('model')) ?? state.entry.model ?? 'none';
  const provider = named?.provider ?? (await project.settings.get('provider')) ?? state.entry.provider ?? 'none';
  const info = { session: state.session, turn, agent, provider, model, parameters: {} };
  if (keeps !== null) {
    const stored = await readStoredRequest(project.repository.store, state, turn);
    const asked = stored?.info ?? info;
    const total = await readBudget(project, asked);
    const budget = toSpent(stored?.sections ?? [], { total, model: asked.model });
    return { files: context.files, notes: [], budget };
  }
  const options = { info, message: '', workspace: null };
  const fitted = await fitRequest(withoutMasks(project), state, global, options, {
    readContext: async () => context,
    code,
  });
  const notes = fitted.notes.filter((note) => !context.notes.includes(note));
  return { files: [...fitted.files], notes, budget: toSpent(fitted.log.sections, { total: fitted.budget, model }) };
}

const partOf: Record<LogSection['name'], BudgetPart> = {
  system: 'prompt',
  memos: 'memos',
  history: 'history',
  tree: 'tree',
  file: 'files',
  message: 'message',
};

function toSpent(sections: readonly LogSection[], { total, model }: { total: number; model: string }): SpentBudget {
  const spent: SpentBudget['spent'] = { prompt: 0, memos: 0, history: 0, tree: 0, files: 0, message: 0 };
  // While there is no message yet, the marker line alone does not count.
  for (const section of sections) if (section.body !== '') spent[partOf[section.name]] += countTokens(section);
  const left = total - Object.values(spent).reduce((sum, tokens) => sum + tokens, 0);
  return { total, model: model === 'none' ? '' : model, spent, left };
}

async function findKept(store: Store, state: LineState, turn: TurnName): Promise<ShownContext['keeps']> {
  if (state.latest?.status !== 'open') return null;
  const log = await readTurnFile(store, { commit: state.entryOid, session: state.session, turn }, '_context.log');
  if (log === null) return null;
  return isBranchTurn(turn) ? 'context' : 'request';
}

/** Reads `session.context` from disk, because the user may just have edited it; the next plan commits the edit first. */
async function readEditedList({ workspace, session }: Line): Promise<string | undefined> {
  const bytes = await workspace?.readDisk(joinPath(sessionDir(session), 'session.context'));
  return bytes ? toText(bytes) : undefined;
}

async function countEdits({ workspace }: Line): Promise<number> {
  const status = await workspace?.status({ untracked: false });
  return status?.edits.filter(({ path, submodule }) => !submodule && !path.startsWith('.teddy/')).length ?? 0;
}

/** Maps a line's text in a turn's own list to the action or vault that first added it. */
type Origins = ReadonlyMap<string, string>;

function describePlace({ level, line, text }: LinePosition, origins: Origins): string {
  return level === 'turn' ? (origins.get(text) ?? 'turn.context') : `${level}.context:${line}`;
}

/**
 * Follows a line kept from turn to turn back to the first turn whose list did not contain it: that turn's result added
 * the line.
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
    const kept = await readTurnFile(
      store,
      { commit: state.entryOid, session: state.session, turn: name },
      'turn.context',
    );
    const known = new Set(parseTurnContext(kept ?? ''));
    // In the next turn's list, a vault's directory or pattern becomes the names of the files that it matched.
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
