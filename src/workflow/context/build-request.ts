/** Builds the request that the model receives in a turn, and the files that record the request. */
import { nullIfDamaged } from '../../errors.ts';
import type { Store, Workspace } from '../../ports/git.ts';
import type { ModelMessage } from '../../ports/model.ts';
import type { Project } from '../../ports/project.ts';
import { refuseTooLarge, toBudget } from '../../session/context/budget.ts';
import type { ShownFile } from '../../session/context/context-files.ts';
import { renderTurnContext } from '../../session/context/context-lines.ts';
import {
  clippedTo,
  countTokens,
  historySection,
  type HistoryText,
  type LogSection,
  type SourcedText,
} from '../../session/context/context-log-sections.ts';
import { renderContextLog, type ContextLog, type RequestInfo } from '../../session/context/context-log.ts';
import { memosPath } from '../../session/global/global-files.ts';
import { nameSome } from '../../session/text/name-some.ts';
import { isSecretName } from '../../session/masks/secret-names.ts';
import { parseLeftOut } from '../../session/context/history-text.ts';
import { type Oid, type RepoPath, type TurnName } from '../../names.ts';
import { openCodeTree, type CodeTree } from './code-tree.ts';
import { fitFiles, fitHistory, toHistory } from './fit-files.ts';
import type { GlobalBranch } from '../line/global-branch.ts';
import { readContext, type ReadContext } from './read.ts';
import { readEarlierOfTurn, readNewestTurns, readOlderTurns, type HistoryTurn } from './read-history.ts';
import { readTurnFile, toText, type LineState } from '../../view/view.ts';
import { noteDamagedReport } from './read-turn-logs.ts';
import { findAgent } from '../../conversation/prompts/agents.ts';

export interface RequestOptions {
  info: RequestInfo;
  message: string;
  /** The work tree that has the line checked out, if any. */
  workspace: Workspace | null;
}

export interface BuiltRequest {
  messages: ModelMessage[];
  log: string;
  /** The contents of `turn.context` and `_context.log`, by name. */
  files: Record<string, string>;
  /** Sentences for the user about omitted files and lines that teddy did not understand. */
  notes: string[];
  /** A sentence of advice; null when nothing is missing. */
  advice: string | null;
}

/**
 * Builds a new turn's request with the context at the line's tip. Masks secrets in all of it except the message, which
 * the caller has masked. Throws UNKNOWN_AGENT, BAD_SETTING, CONTEXT_TOO_LARGE, MASKING_FAILED.
 */
export async function buildRequest(
  project: Project,
  state: LineState,
  global: GlobalBranch | null,
  options: RequestOptions,
): Promise<BuiltRequest> {
  const { info } = options;
  const code = openCodeTree(project, state.tip);
  const readContextFiles = () => readMaskedContext(project, state, global, options, code);
  const fitted = await fitRequest(project, state, global, options, { readContext: readContextFiles, code });
  const { log, bare, budget, paths, notes } = fitted;
  const place = { session: info.session, keepsFiles: false };
  refuseTooLarge(bare, budget, place);
  // Even the line that lists the omitted turns may not fit.
  refuseTooLarge(log, budget, place);
  const damaged = noteDamagedReport(state, info.turn);
  const isFirst = state.turns.every((name) => name === info.turn);
  const secret = fitted.files.filter(({ kind, path }) => kind === 'shown' && isSecretName(path as RepoPath));
  if (secret.length > 0) {
    const named = nameSome(secret.map(({ path }) => path));
    notes.push(`Your context lists show the model files whose names suggest secrets: ${named}.`);
  }
  const advice = isFirst && fitted.files.every(({ kind }) => kind !== 'shown') ? nothingShown : null;
  return {
    log: log.log,
    messages: log.messages,
    files: { 'turn.context': renderTurnContext(paths), '_context.log': log.log },
    notes: [...damaged, ...notes],
    advice,
  };
}

const nothingShown =
  'The model sees the names of all files, but the content of none. Show it some: `teddy context add <path>`.';

export interface FittedRequest {
  log: ContextLog;
  /** The request without history. */
  bare: ContextLog;
  budget: number;
  files: readonly ShownFile[];
  /** The lines of `turn.context`. */
  paths: string[];
  /** Sentences for the user about omitted files and turns. */
  notes: string[];
}

/** teddy clips bodies that exceed this share of the budget when the history does not fit. */
const largestBody = 1 / 8;

/** Fits files and history into the budget as well as possible, and never refuses. Throws UNKNOWN_AGENT, BAD_SETTING. */
export async function fitRequest(
  project: Project,
  state: LineState,
  global: GlobalBranch | null,
  options: RequestOptions,
  { readContext: read, code }: { readContext: () => Promise<ReadContext>; code: CodeTree },
): Promise<FittedRequest> {
  const { info, message } = options;
  const older = state.turns.filter((name) => name !== info.turn).toReversed();
  const budget = await readBudget(project, info);
  const limit = Math.floor(budget * largestBody);
  const [parts, context, earlier, newestOlder] = await Promise.all([
    readParts(project, state, global, { info, code, mask: (text, path) => maskText(project, text, path) }),
    read(),
    readEarlier(project, state, options, limit),
    readNewestTurns(project, state, older, limit),
  ]);
  const newestFirst = [...earlier.map(({ turn }) => turn), ...older];
  const newest = [...earlier, ...newestOlder];
  const renderWith = (files: readonly ShownFile[], history: HistoryText | null) =>
    renderContextLog({ ...parts, info, history, files, message }, project.hash);
  const whole = renderWith(context.files, null);
  const fitted = await fitContext(project, context, { tokens: whole.tokens, budget, newestFirst });
  const bare = fitted.leftOut.size === 0 ? whole : renderWith(fitted.files, null);
  const room = budget - bare.tokens;
  const turns = await readOlderTurns(project, state, newestFirst, newest, { room, limit });
  const history = await fitHistory(
    { newestFirst, turns, limit, budget, bare: bare.tokens, render: (shown) => renderWith(fitted.files, shown) },
    () => readLastCut(project, state, older[0]),
  );
  return {
    log: history?.log ?? bare,
    bare,
    budget,
    files: fitted.files,
    paths: context.paths.filter((path) => !fitted.leftOut.has(path)),
    notes: [...context.notes, ...fitted.notes, ...(history?.notes ?? [])],
  };
}

/** Returns the newest turn that the request of `turn` omitted, or null. */
async function readLastCut(
  { repository: { store } }: Project,
  state: LineState,
  turn: TurnName | undefined,
): Promise<string | null> {
  if (turn === undefined) return null;
  try {
    const stored = await readStoredRequest(store, state, turn);
    return parseLeftOut(stored?.sections.find(({ name }) => name === 'history')?.body ?? '');
  } catch (error) {
    // teddy needs an older turn's request only to find where to cut; `verify` reports the damage.
    return nullIfDamaged(error);
  }
}

/** Reads the earlier records of the turn itself, when it is open. */
async function readEarlier(
  project: Project,
  { latest }: LineState,
  { info, message }: RequestOptions,
  limit: number,
): Promise<HistoryTurn[]> {
  if (latest?.turn !== info.turn) return [];
  const earlier = await readEarlierOfTurn(project, latest, { message, mode: info.mode, limit });
  return earlier === null ? [] : [earlier];
}

/**
 * Builds a request with another message and exactly the context in the given log of a conversation branch's turn.
 * Throws the errors of `buildRequest`.
 */
export async function rebuildRequest(
  project: Project,
  state: LineState,
  log: string,
  global: GlobalBranch | null,
  options: RequestOptions,
): Promise<BuiltRequest> {
  const { info, message } = options;
  const { parseContextLog, replaceRequest } = await import('../../session/context/context-log-parse.ts');
  const [budget, system, [earlier]] = await Promise.all([
    readBudget(project, info),
    readSystem(project, info, global),
    readEarlier(project, state, options, clippedTo(parseContextLog(log).sections) ?? Number.POSITIVE_INFINITY),
  ]);
  const own = earlier === undefined ? null : { ...earlier, text: earlier.clipped?.text ?? earlier.text };
  const rebuilt = replaceRequest(log, { info, system, message, earlier: own }, project.hash);
  refuseTooLarge(rebuilt, budget, { session: info.session, keepsFiles: true });
  return {
    log: rebuilt.log,
    messages: rebuilt.messages,
    files: { '_context.log': rebuilt.log },
    notes: [],
    advice: null,
  };
}

/** Reads the request that an open turn sent, to send it again; returns null when the turn sent nothing. */
export async function readStoredRequest(store: Store, state: LineState, turn: TurnName): Promise<StoredRequest | null> {
  const log = await readTurnFile(store, { commit: state.entryOid, session: state.session, turn }, '_context.log');
  if (log === null) return null;
  // Loaded only here, because a new turn does not read a log and a schema takes time to load.
  const { parseContextLog } = await import('../../session/context/context-log-parse.ts');
  const { frontMatter, messages, sections } = parseContextLog(log);
  return { log, messages, info: frontMatter, sections, message: sections.at(-1)?.body ?? '' };
}

export interface StoredRequest {
  log: string;
  messages: ModelMessage[];
  info: RequestInfo;
  sections: readonly LogSection[];
  /** The log's last section. */
  message: string;
}

interface MaskedText {
  text: string;
  masked: number;
}

/** Returns the budget in tokens. Throws BAD_SETTING. */
export async function readBudget(
  { settings, models }: Project,
  { provider, model }: Pick<RequestInfo, 'provider' | 'model'>,
): Promise<number> {
  const setting = await settings.get('contextTokens');
  if (setting !== undefined) return toBudget(Number(setting), model);
  const [known, maxAnswer] = await Promise.all([models.find(provider, model), settings.get('maxAnswerTokens')]);
  return toBudget(undefined, model, { ...known, maxAnswer: maxAnswer === undefined ? undefined : Number(maxAnswer) });
}

/** The parts of a request besides its history, files and message. */
interface RequestParts {
  system: SourcedText;
  memos: SourcedText | null;
  tree: MaskedText;
}

type Mask = (text: string, path?: string) => Promise<MaskedText>;

async function readParts(
  project: Project,
  state: LineState,
  global: GlobalBranch | null,
  { info, code, mask }: { info: RequestInfo; code: CodeTree; mask: Mask },
): Promise<RequestParts> {
  const [system, memos, tree] = await Promise.all([
    readSystem(project, info, global, mask),
    readMemos(project, state.tip, global, mask),
    code.listing().then((text) => mask(text)),
  ]);
  return { system, memos, tree };
}

/** `tokens` is the request's size without history. Leaves room for the line that lists the omitted turns. */
function fitContext(
  project: Project,
  { files, resolved }: Pick<ReadContext, 'files' | 'resolved'>,
  { tokens, budget, newestFirst }: { tokens: number; budget: number; newestFirst: readonly TurnName[] },
): ReturnType<typeof fitFiles> {
  const history = newestFirst.length === 0 ? 0 : countTokens(historySection(toHistory(newestFirst, [])));
  const users = new Set(resolved.files.filter(({ isUsers }) => isUsers).map(({ path }) => path));
  return fitFiles(project.repository.store, files, users, { tokens: tokens + history, budget });
}

async function readMaskedContext(
  project: Project,
  state: LineState,
  global: GlobalBranch | null,
  { info, workspace }: RequestOptions,
  code: CodeTree,
): Promise<ReadContext> {
  const context = await readContext(project, state, info.turn, global, workspace, { code });
  return { ...context, files: await Promise.all(context.files.map((file) => maskFile(project, file))) };
}

async function maskFile(project: Project, file: ShownFile): Promise<ShownFile> {
  return file.kind === 'shown' ? { ...file, ...(await maskText(project, file.text, file.path)) } : file;
}

async function maskText(project: Project, text: string, path?: string): Promise<MaskedText> {
  const { text: shown, count } = await project.masker.mask(text, path);
  return { text: shown, masked: count };
}

/** A built-in prompt contains nobody's secrets; teddy masks the user's own prompt before adding the protocol. */
async function readSystem(
  project: Project,
  { agent: name, mode }: RequestInfo,
  global: GlobalBranch | null,
  mask: Mask = (text, path) => maskText(project, text, path),
): Promise<SourcedText> {
  const own = global?.agents.get(name);
  const form = { mode, canSearch: (await project.settings.get('searchCommand')) !== undefined };
  if (global === null || own === undefined) {
    const { text } = findAgent(name, global?.agents ?? new Map(), form);
    return { text, source: { kind: 'builtin', sha: project.hash(text) }, masked: 0 };
  }
  const path = `agents/${name}.md` as RepoPath;
  const [{ text, masked }, found] = await Promise.all([
    mask(own, path),
    project.repository.store.readFile(global.tip, path),
  ]);
  const source: SourcedText['source'] = found ? { kind: 'blob', oid: found.oid } : { kind: 'stored' };
  return { text: findAgent(name, new Map([[name, text]]), form).text, source, masked };
}

/** Reads the `memos.yaml` that the turn's commit will contain; that commit includes the blob. */
async function readMemos(
  project: Project,
  tip: Oid,
  global: GlobalBranch | null,
  mask: Mask,
): Promise<SourcedText | null> {
  const { store } = project.repository;
  const text = global?.memos ?? toText((await store.readFile(tip, memosPath))?.bytes ?? null);
  if (text.trim() === '') return null;
  const [oid, masked] = await Promise.all([store.batch().blob(text), mask(text, memosPath)]);
  return { ...masked, source: { kind: 'blob', oid } };
}

/** Returns true if this is a conversation branch's first turn, which keeps the context of the turn where it branched off. */
export function isBranchTurn(turn: TurnName): boolean {
  return turn.includes('-branch-');
}
