/** One turn with the model: commits the message before sending the request, and the answer as soon as it is complete. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import type { TurnName } from '../../names.ts';
import { findAgent } from '../../conversation/prompts/agents.ts';
import type { Line } from '../line/find.ts';
import { readGlobal } from '../line/global-branch.ts';
import { askModel, type Answered } from './ask-model.ts';
import { beginTurn, refuseEmpty, refuseSpent } from './begin.ts';
import { composeRequest, type TurnOptions } from '../context/compose-request.ts';
import { maskMessage } from '../line/mask-text.ts';
import { openTurn, refusePending, reuseStored } from './open.ts';
import { findRequestFile, prepareLine, type ReadyLine } from '../line/prepare.ts';
import { readLine } from '../../view/view.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import type { Listener } from '../line/receive-answer.ts';
import { refuseUnfit } from '../line/draft-snapshot.ts';
import { previewSnapshot } from '../line/take-snapshot.ts';

export interface PlanRequest extends TurnOptions, Listener {
  selector?: string | undefined;
  /** Called once the message is on the line, before teddy sends the request. */
  onAsk?(asked: { line: ReadyLine; turn: TurnName; agent: string; label: string }): void;
}

export type Answer = { kind: 'answered'; line: ReadyLine; turn: TurnName } & Answered;

export type PlanOutcome =
  | Answer
  /** teddy committed the message and asked nobody. */
  | { kind: 'open'; line: ReadyLine; turn: TurnName; logPath: string };

/**
 * Runs one turn. Throws PLAN_PENDING, EMPTY_MESSAGE, BUDGET_SPENT, UNKNOWN_AGENT, the MODEL_ codes and the errors of a
 * snapshot.
 */
export async function planTurn(project: Project, request: PlanRequest): Promise<PlanOutcome> {
  const { line, open } = await beginTurn(project, request);
  const { model } = request.choice;
  if (model === null) {
    return { kind: 'open', line, turn: open.turn, logPath: await findRequestFile(project, line, open.turn) };
  }
  request.onAsk?.({ line, turn: open.turn, agent: open.info.agent, label: model.label });
  const answered = await askModel(project, line, open, model, request);
  return { kind: 'answered', line, turn: open.turn, ...answered };
}

/**
 * Throws the errors that `planTurn` would throw for a message after the pending plan: EMPTY_MESSAGE, NO_MODEL,
 * BUDGET_SPENT, UNKNOWN_AGENT, OPERATION_IN_PROGRESS, ...
 */
export async function refuseUnready(
  project: Project,
  { tip, workspace }: Pick<Line, 'tip' | 'workspace'>,
  request: TurnOptions & Pick<PlanRequest, 'selector'>,
): Promise<void> {
  refuseEmpty(request);
  const { selector, choice } = request;
  if (choice.missing) {
    const { code, message, hint } = choice.missing;
    const plan = `plan${selector === undefined ? '' : ` -s ${toShellWord(selector)}`} --instead -m "..." --from`;
    throw new TeddyError(code, `${message} Nothing was changed.`, hint?.replace('plan --from', plan));
  }
  if (tip !== null) await refuseSpent(project, await readLine(project.repository.store, tip), request);
  if (request.agent !== undefined) findAgent(request.agent, (await readGlobal(project))?.agents ?? new Map());
  if (workspace !== null) await refuseUnfit(workspace, await workspace.status({ untracked: false }));
}

/** Commits the message without asking a model; the turn stays open. Throws as `planTurn` does. */
export async function recordMessage(
  project: Project,
  request: TurnOptions & Pick<PlanRequest, 'selector'>,
): Promise<{ turn: TurnName }> {
  refuseEmpty(request);
  const line = await prepareLine(project, request.selector);
  await refuseSpent(project, line.state, { ...request, asksNobody: true });
  return openTurn(project, line, request);
}

/**
 * Returns the request that teddy would send, including the user's edits. Moves none of the line's branches; may write
 * objects.
 */
export async function previewRequest(
  project: Project,
  options: TurnOptions & Pick<PlanRequest, 'selector'>,
): Promise<string> {
  refuseEmpty(options);
  const line = await prepareLine(project, options.selector, { recover: false });
  const request = await maskMessage(project, options);
  await refusePending(project, line, line.state, request);
  const stored = await reuseStored(project, line, request);
  if (stored) return stored.log;
  const { built } = await composePreview(project, line, request);
  for (const note of built.notes) project.notices.warn(note);
  return built.log;
}

/** Composes the request with the user's edits, which a real turn would commit first. */
async function composePreview(project: Project, line: ReadyLine, request: TurnOptions) {
  const { workspace } = line;
  if (workspace === null) return composeRequest(project, line, line.state, request);
  const { state, global, count } = await previewSnapshot(project, { ...line, workspace });
  if (count > 0) {
    const edits = count === 1 ? 'Your edits of 1 file are' : `Your edits of ${count} files are`;
    project.notices.info(`${edits} included; \`teddy plan\` commits them first.`);
  }
  return composeRequest(project, line, state, request, global);
}
