/** Chooses a turn's agent, model and message, and composes the request. */
import { userMessages } from '../../conversation/records/transcript.ts';
import { listSucceeded } from '../../plan/report/report-logs.ts';
import type { TeddyError } from '../../errors.ts';
import type { Store } from '../../ports/git.ts';
import type { Model, ProviderName } from '../../ports/model.ts';
import type { Project } from '../../ports/project.ts';
import { assembleLog, type RequestInfo, type RequestMode } from '../../session/context/context-log.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import { shortRef, type TurnName } from '../../names.ts';
import { buildRequest, isBranchTurn, readStoredRequest, rebuildRequest, type BuiltRequest } from './build-request.ts';
import { readSteering, requireTrust, type ApproveForeign } from '../line/foreign-texts.ts';
import { readGlobal, type GlobalBranch } from '../line/global-branch.ts';
import type { ReadyLine } from '../line/prepare.ts';
import { readTurnLogs, readTurnPlan } from './read-turn-logs.ts';
import { nextTurn, type LineState, type TurnState } from '../../view/view.ts';
import { defaultAgent } from '../../conversation/prompts/agents.ts';
import { parseContextLog } from '../../session/context/context-log-parse.ts';
import type { LogSection } from '../../session/context/context-log-sections.ts';

/** The model to ask. `model` is null when none is configured, or when the user provides the answer later. */
interface ModelChoice {
  provider: ProviderName | 'none';
  name: string;
  parameters: Record<string, number | string | boolean>;
  model: Model | null;
  /** The reason why no model is available although one was requested. */
  missing?: TeddyError | null;
}

/** A turn's options. */
export interface TurnOptions {
  /** When undefined, answers the open turn. */
  message?: string | undefined;
  agent?: string | undefined;
  /** When undefined, asks the model for a plan. */
  mode?: RequestMode | undefined;
  choice: ModelChoice;
  /** Asks the user to accept agents and context lists that came from elsewhere; without it, teddy refuses them. */
  approveForeign?: ApproveForeign | undefined;
}

export interface Composed {
  turn: TurnName;
  message: string;
  info: RequestInfo;
  built: BuiltRequest;
}

/**
 * Composes the next turn's request. `previewed` replaces the content of `teddy/global`, so that teddy does not read the
 * branch.
 */
export async function composeRequest(
  project: Project,
  line: ReadyLine,
  state: LineState,
  request: TurnOptions,
  previewed?: GlobalBranch | null,
): Promise<Composed> {
  const { store } = project.repository;
  const { latest } = state;
  const turn = (request.mode === 'ask' && latest?.turn) || nextTurn(state);
  const message = request.message ?? userMessages(latest?.records ?? []).at(-1) ?? '';
  const agent = request.agent ?? (await readLastAgent(project, state)) ?? defaultAgent;
  const { provider, name, parameters } = request.choice;
  const asked = { session: state.session, turn, agent, provider, model: name, parameters };
  const info: RequestInfo = { ...asked, ...(request.mode === undefined ? {} : { mode: request.mode }) };
  const global = previewed ?? (await readGlobal(project));
  const options = { info, message, workspace: line.workspace };
  const kept = isBranchTurn(turn) ? await readBranchRequest(store, state, turn) : null;
  const steering = await readSteering(project, state, global, { agent, keepsContext: kept !== null });
  await requireTrust(project, shortRef(line.ref), steering, request.approveForeign);
  const built = kept
    ? await rebuildRequest(project, state, await maskLog(project, kept.log), global, options)
    : await buildRequest(project, state, global, options);
  return { turn, message, info, built };
}

/** Reads the request with which the branch was created, because later records are added again. */
async function readBranchRequest(store: Store, state: LineState, turn: TurnName) {
  for await (const { oid, commit } of store.firstParents(state.entryOid)) {
    const entry = decodeEntry(commit.message);
    if (entry?.kind === 'branch' && entry.turn === turn)
      return readStoredRequest(store, { ...state, entryOid: oid }, turn);
    if (entry?.kind === 'start') break;
  }
  return readStoredRequest(store, state, turn);
}

/** Returns the agent that the last turn handed over to; if there is none, returns the last turn's own agent. */
export async function readLastAgent(project: Project, state: LineState): Promise<string | undefined> {
  const invoked = state.latest === null ? null : findInvoked(state.latest);
  if (invoked !== null) return invoked;
  if (state.entry.agent !== undefined || state.turns.length === 0)
    return state.entry.agent ?? project.settings.get('agent');
  for await (const { commit } of project.repository.store.firstParents(state.entryOid)) {
    const entry = decodeEntry(commit.message);
    if (entry?.agent !== undefined) return entry.agent;
    if (entry?.kind === 'start') break;
  }
  return project.settings.get('agent');
}

/** Returns the agent of the last INVOKE that succeeded according to the report. */
function findInvoked(turn: TurnState): string | null {
  const invokes = (readTurnPlan(turn)?.actions ?? []).filter((action) => action.type === 'INVOKE');
  if (invokes.length === 0) return null;
  const done = listSucceeded(readTurnLogs(turn) ?? []);
  return invokes.findLast(({ index }) => done.includes(index))?.agent ?? null;
}

/** Masks the log; returns it unchanged when it contains nothing to mask. Throws DAMAGED_SESSION, MASKING_FAILED. */
async function maskLog(project: Project, log: string): Promise<string> {
  const { frontMatter, sections } = parseContextLog(log);
  const masked = await Promise.all(sections.map((section) => maskSection(project, section)));
  const isSame = masked.every(({ body }, at) => body === sections[at]?.body);
  return isSame ? log : assembleLog(frontMatter, masked, project.hash).log;
}

async function maskSection({ masker }: Project, section: LogSection): Promise<LogSection> {
  const { text: body, count } = await masker.mask(section.body, section.path ?? undefined);
  const { provenance } = section;
  if (provenance.kind !== 'shown') return section;
  return { ...section, body, provenance: { ...provenance, masked: provenance.masked + count } };
}
