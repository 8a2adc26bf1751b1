/** Asks the model for an open turn, and saves its answer: a plan, a reply, or the part that arrived. */
import { TeddyError, toMessage } from '../../errors.ts';
import { isPlan, parsePlan } from '../../plan/parse/parse.ts';
import type { AnswerTarget, StagedAnswer } from '../../ports/disk.ts';
import type { Model, ModelRequest } from '../../ports/model.ts';
import type { Project } from '../../ports/project.ts';
import { formatCount } from '../../session/text/format-count.ts';
import type { Oid } from '../../names.ts';
import { checkRequest } from '../../conversation/history/check-request.ts';
import { keepBytes } from '../line/keep-bytes.ts';
import { labelPlan } from '../line/entry-labels.ts';
import { keepPart, keepWhole, toLabelLines } from '../line/keep-answer.ts';
import type { OpenTurn } from './open.ts';
import type { ReadyLine } from '../line/prepare.ts';
import { isOnlyMessage } from '../../view/view.ts';
import {
  describeEnd,
  isCut,
  nothingReceived,
  receiveAnswer,
  whyEmpty,
  type Listener,
  type Received,
  type Usage,
} from '../line/receive-answer.ts';
import type { Problem } from '../../plan/match/problem.ts';
import type { ParsedPlan } from '../../plan/plan.ts';
import { runVirtually } from '../../plan/validate.ts';
import type { Workspace } from '../../ports/git.ts';
import type { MaskedSecret } from '../../session/masks/mask.ts';
import { worldOf } from '../line/find-twin.ts';
import { maskProblems } from '../line/mask-text.ts';

export interface Answered extends CheckedAnswer {
  commit: Oid;
  entry: 'plan' | 'reply';
  text: string;
  usage: Usage | null;
  actions: number;
  /**
   * True when a plan waits for `execute`, either this one or the plan that the question was about; a plan without
   * actions does not wait.
   */
  isPending: boolean;
}

/** A whole answer in staging that is not on the line yet. */
export interface StagedReception {
  place: AnswerTarget;
  received: Received;
  staged: StagedAnswer;
  /** Set for a whole plan when the answer may still lack its end; `keepAnswer` throws it once the plan is on the line. */
  interruption: TeddyError | null;
}

/**
 * Asks the model and saves the answer. Throws EMPTY_ANSWER and the MODEL_ codes. If possible, puts everything that has
 * arrived on the line: as a pending plan when the plan is whole and the endpoint ended it, otherwise flagged as
 * partial.
 */
export async function askModel(
  project: Project,
  line: ReadyLine,
  open: OpenTurn,
  model: Model,
  listener: Listener,
): Promise<Answered> {
  const request = toRequest(project, open, listener.signal);
  const reception = await receiveStaged(project, line, toPlace(project, line, open, model), model, request, listener);
  return keepAnswer(project, line, reception);
}

/** Receives an answer that may call tools, and leaves it in staging. */
export async function receiveStaged(
  project: Project,
  line: ReadyLine,
  place: AnswerTarget,
  model: Model,
  request: ModelRequest,
  listener: Listener,
): Promise<StagedReception> {
  checkRequest(request.messages);
  const staged = project.answers.begin(place);
  const received = nothingReceived();
  let interruption: TeddyError | null;
  try {
    await receiveAnswer(model, request, received, {
      ...listener,
      onText(text) {
        staged.add(text);
        listener.onText(text);
      },
    });
    await maskThoughts(project, received);
    interruption = checkEnd(model, received, { request, place });
  } catch (error) {
    await keepInterrupted(project, line, place, received, staged);
    throw error;
  }
  return { place, received, staged, interruption };
}

export function toPlace(
  project: Project,
  { ref }: ReadyLine,
  { info, turn, recordCount, messageId }: OpenTurn,
  model: Model,
): AnswerTarget {
  const { session, agent } = info;
  const id = project.ids.entryId();
  const question = info.mode === 'ask' ? ({ isChat: true, isQuestion: true, messageId } as const) : {};
  return { id, session, turn, ref, recordCount, provider: model.provider, model: model.model, agent, ...question };
}

export function toRequest(project: Project, open: OpenTurn, signal: AbortSignal): ModelRequest {
  const { session, parameters, mode = 'plan' } = open.info;
  const { messages, turn } = open;
  const again = `\`teddy ${mode}\` without -m tries again; the message is kept.`;
  return { messages, parameters, session, turn, messageSha256: project.hash(open.message), signal, again };
}

/**
 * Returns null when the answer is whole. Throws when it is not, except for a whole plan, for which it returns the
 * interruption.
 */
function checkEnd(
  model: Model,
  received: Received,
  { request: { again, tools }, place }: { request: ModelRequest; place: AnswerTarget },
): TeddyError | null {
  const { text, calls, continuations, finish } = received;
  const characters = `after ${formatCount(text.length)} characters`;
  if (text.trim() === '' && !(tools !== undefined && calls.length > 0 && finish !== 'other'))
    throw new TeddyError('EMPTY_ANSWER', `${model.label} returned an empty answer${whyNothing(received)}.`, again);
  if (finish === 'other') {
    const ended = `${model.label} ended its answer ${characters} ${describeEnd(received)}`;
    if (calls.length > 0 || place.isQuestion === true || !isWholePlan(text))
      throw new TeddyError(
        'MODEL_INTERRUPTED',
        `${ended}; the part that arrived was saved, and nothing was run.`,
        again,
      );
    return new TeddyError(
      'MODEL_INTERRUPTED',
      `${ended}. The part that arrived is a whole plan, but its end may be missing: it is pending in turn ${place.turn}, and nothing was run.`,
      '`teddy show` shows it, `teddy execute` runs it, and `teddy plan --instead -m "..."` asks for another.',
    );
  }
  if (!isCut(received)) return null;
  const times = continuations.length === 0 ? '' : ` and ${continuations.length} continuations`;
  throw new TeddyError(
    'MODEL_INTERRUPTED',
    `The answer was cut at ${model.label}'s limit, ${characters}${times}; the part that arrived was saved.`,
    `Ask for less at a time, or raise the model's limit; ${again}`,
  );
}

function isWholePlan(text: string): boolean {
  return isPlan(text) && parsePlan(text).problems.length === 0;
}

function whyNothing(received: Received): string {
  const [call] = received.calls;
  if (call !== undefined) return `: it called ${JSON.stringify(call.name)}, which it was not offered`;
  return whyEmpty(received);
}

/**
 * Masks the thoughts, which are teddy's note, not part of the answer that is saved byte for byte. Drops them if masking
 * fails.
 */
async function maskThoughts({ masker, notices }: Project, received: Received): Promise<void> {
  const { thoughts } = received;
  received.thoughts = '';
  if (thoughts === '') return;
  try {
    received.thoughts = (await masker.mask(thoughts)).text;
  } catch (error) {
    notices.warn(
      `The model's thoughts were not saved, because they could not be searched for secrets: ${describeFailure(error)}`,
    );
  }
}

/**
 * Saves the part that arrived. The interruption remains the error, because it explains why there is no answer, whether
 * or not the part is saved.
 */
async function keepInterrupted(
  project: Project,
  line: ReadyLine,
  place: AnswerTarget,
  received: Received,
  staged: StagedAnswer,
): Promise<void> {
  const { text } = received;
  if (text.trim() === '') return staged.discard();
  const part = `the part that arrived (${formatCount(text.length)} characters)`;
  // A user who interrupts is impatient, and may end the process at any moment.
  await staged.save();
  await maskThoughts(project, received);
  try {
    await keepStaged(project, place, text, staged, () => keepPart(project, line, place, received));
    project.notices.warn(`The answer was interrupted; ${part} was saved in turn ${place.turn}.`);
  } catch (error) {
    project.notices.warn(
      `The answer was interrupted, and ${part} could not be saved in turn ${place.turn}: ${describeFailure(error)}`,
    );
  }
}

/**
 * Saves a staged text with `keep`. If that fails, the text stays on disk, where the next command finds it, even one in
 * the same process.
 */
export async function keepStaged(
  project: Project,
  place: AnswerTarget,
  text: string,
  staged: StagedAnswer,
  keep: () => Promise<Oid | null>,
): Promise<Oid> {
  let commit: Oid | null;
  let anchor: Oid | null;
  try {
    commit = await keep();
    anchor = commit === null ? await keepBytes(project, `answers/${place.id}`, text) : null;
  } catch (error) {
    await staged.leave();
    throw error;
  }
  await staged.discard();
  if (commit !== null) return commit;
  throw new TeddyError(
    'REF_MOVED',
    `Another process answered turn ${place.turn} in the meantime.`,
    anchor === null ? undefined : `This answer was saved: \`git cat-file -p ${anchor}\`.`,
  );
}

/** Saves the answer as one entry: a plan, or a reply if it is not a plan. Throws the interruption of a plan after saving it. */
export async function keepAnswer(
  project: Project,
  line: ReadyLine,
  { place, received, staged, interruption }: StagedReception,
): Promise<Answered> {
  const { text, usage } = received;
  const isQuestion = place.isQuestion === true;
  const planned = !isQuestion && isPlan(text);
  const parsed = planned ? parsePlan(text, line.workspace ? { projectRoot: line.workspace.root } : {}) : null;
  const label = parsed ? labelPlan(parsed.plan) : toLabelLines(text);
  const entry = planned ? 'plan' : 'reply';
  const draft = { kind: entry, ...label } as const;
  const commit = await keepStaged(project, place, text, staged, () => keepWhole(project, line, place, received, draft));
  if (interruption !== null) throw interruption;
  const checked = await checkAnswer(project, line.workspace, { commit, text, parsed });
  return {
    ...checked,
    commit,
    entry,
    text,
    usage,
    actions: parsed?.plan.actions.length ?? 0,
    isPending: isQuestion || (parsed !== null && !isOnlyMessage(parsed)),
  };
}

/** An answer already on its line, so a failed check is a warning, not an error. */
interface KeptAnswer {
  commit: Oid;
  text: string;
  /** Null when the answer is not a plan. */
  parsed: ParsedPlan | null;
}

interface CheckedAnswer {
  /** Problems for which `execute` would refuse a plan. */
  problems: Problem[];
  notes: Problem[];
  /** The secrets in the answer, and their positions; the answer is saved as it arrived. */
  secrets: MaskedSecret[];
}

/** Checks the answer without throwing anything. Without a workspace, checks a plan only by itself. */
async function checkAnswer(
  project: Project,
  workspace: Workspace | null,
  { commit, text, parsed }: KeptAnswer,
): Promise<CheckedAnswer> {
  const { masker, notices } = project;
  async function attempt<T>(failed: string, check: () => Promise<T>, otherwise: T): Promise<T> {
    return check().catch((error: unknown) => {
      notices.warn(`The answer is on its branch as ${commit.slice(0, 10)}, but ${failed}: ${describeFailure(error)}`);
      return otherwise;
    });
  }
  const unmasked = await attempt(
    'its plan could not be checked against the files',
    () => findProblems(project, workspace, parsed),
    parsed?.problems ?? [],
  );
  const mask = (what: string, problems: Problem[]) =>
    attempt(
      `${what} could not be searched for secrets, so they are not shown`,
      () => maskProblems(masker, problems),
      [],
    );
  return {
    problems: await mask('the problems of its plan', unmasked),
    notes: await mask('the notes on its plan', parsed?.notes ?? []),
    secrets: await attempt('it could not be searched for secrets', async () => (await masker.mask(text)).found, []),
  };
}

async function findProblems(
  project: Project,
  workspace: Workspace | null,
  parsed: ParsedPlan | null,
): Promise<Problem[]> {
  if (parsed === null || workspace === null) return parsed?.problems ?? [];
  return (await runVirtually(parsed, worldOf(project, workspace))).problems;
}

/** Describes a failure for a warning: its reason, and the error's hint if it has one. */
function describeFailure(error: unknown): string {
  return `${toMessage(error)}${error instanceof TeddyError && error.hint !== undefined ? ` ${error.hint}` : ''}`;
}
