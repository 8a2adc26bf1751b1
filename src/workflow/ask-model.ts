/** Asks the model for an open turn, and keeps what it answers: a plan, a reply, or the part that arrived. */
import { TeddyError } from '../errors.ts';
import { isPlan, parsePlan } from '../plan/parse.ts';
import type { Problem } from '../plan/plan.ts';
import { runVirtually } from '../plan/validate.ts';
import type { AnswerPlace, Model, ModelRequest, Project, StagedAnswer } from '../ports.ts';
import { formatCount } from '../session/format-count.ts';
import type { MaskedSecret } from '../session/mask.ts';
import type { Oid } from '../session/names.ts';
import { describeAction } from './describe-action.ts';
import { anchorAnswer, keepPart, keepWhole, toLabelLines, toLateAnswer } from './keep-answer.ts';
import { maskProblems } from './mask-text.ts';
import type { OpenTurn } from './open-turn.ts';
import { worldOf } from './plan-world.ts';
import type { ReadyLine } from './prepare-line.ts';
import { nothingReceived, receiveAnswer, type Listener, type Received, type Usage } from './receive-answer.ts';

export interface Answered {
  commit: Oid;
  entry: 'plan' | 'reply';
  text: string;
  usage: Usage | null;
  /** Of a plan: what `execute` would refuse. */
  problems: Problem[];
  notes: Problem[];
  /** What secrets the answer holds, and where: it is kept as it came. */
  secrets: MaskedSecret[];
  actions: number;
}

/** Throws EMPTY_ANSWER and the MODEL_ codes; what had arrived by then is on the line, flagged as partial. */
export async function askModel(
  project: Project,
  line: ReadyLine,
  open: OpenTurn,
  model: Model,
  listener: Listener,
): Promise<Answered> {
  const place = toPlace(project, line, open, model);
  const staged = project.answers.begin(place);
  const received = nothingReceived();
  try {
    await receiveAnswer(model, toRequest(project, open, listener.signal), received, {
      ...listener,
      onText(text) {
        staged.add(text);
        listener.onText(text);
      },
    });
    refuseIncomplete(model, received);
  } catch (error) {
    await keepInterrupted(project, line, place, received, staged);
    throw error;
  }
  return keepAnswer(project, line, place, received, staged);
}

function toPlace(
  project: Project,
  { ref }: ReadyLine,
  { info, turn, recordCount }: OpenTurn,
  model: Model,
): AnswerPlace {
  const { session, agent } = info;
  const id = project.ids.entryId();
  return { id, session, turn, ref, recordCount, provider: model.provider, model: model.model, agent };
}

function toRequest(project: Project, open: OpenTurn, signal: AbortSignal): ModelRequest {
  const { session, parameters } = open.info;
  const { messages, turn } = open;
  return { messages, parameters, session, turn, messageSha256: project.hash(open.message), signal };
}

function refuseIncomplete(model: Model, { text, finish, continuations }: Received): void {
  if (text.trim() === '') {
    const reason = finish === 'length' ? ': it reached its limit before it said anything' : '';
    throw new TeddyError(
      'EMPTY_ANSWER',
      `${model.label} gave an empty answer${reason}.`,
      '`teddy session plan` without -m tries again; the message is kept.',
    );
  }
  if (finish !== 'length') return;
  const times = continuations.length === 0 ? '' : ` and ${continuations.length} continuations`;
  throw new TeddyError(
    'MODEL_INTERRUPTED',
    `The answer was cut at the limit of ${model.label}, after ${formatCount(text.length)} characters${times}; they are kept.`,
    'Ask for less at once, or raise the limit of the model; `teddy session plan` without -m tries again.',
  );
}

async function keepInterrupted(
  project: Project,
  line: ReadyLine,
  place: AnswerPlace,
  received: Received,
  staged: StagedAnswer,
): Promise<void> {
  const { text } = received;
  if (text.trim() === '') return staged.discard();
  await keepStaged(project, place, text, staged, () => keepPart(project, line, place, received));
  project.notices.warn(
    `The answer was interrupted; what arrived (${formatCount(text.length)} characters) is kept in turn ${place.turn}.`,
  );
}

/** If what is to keep the answer fails, it stays on disk: the next command finds it there. */
async function keepStaged(
  project: Project,
  place: AnswerPlace,
  text: string,
  staged: StagedAnswer,
  keep: () => Promise<Oid | null>,
): Promise<Oid> {
  let commit: Oid | null;
  let anchor: Oid | null;
  try {
    commit = await keep();
    anchor = commit === null ? await anchorAnswer(project, place.id, text) : null;
  } catch (error) {
    await staged.save();
    throw error;
  }
  await staged.discard();
  if (commit === null) throw toLateAnswer(place, anchor);
  return commit;
}

async function keepAnswer(
  project: Project,
  line: ReadyLine,
  place: AnswerPlace,
  received: Received,
  staged: StagedAnswer,
): Promise<Answered> {
  const { text, usage } = received;
  const planned = isPlan(text);
  const parsed = planned ? parsePlan(text, line.workspace ? { projectRoot: line.workspace.root } : {}) : null;
  const label = parsed
    ? {
        title: parsed.plan.title,
        details: parsed.plan.actions.map((action) => `${action.index}. ${describeAction(action)}`),
      }
    : toLabelLines(text);
  const entry = planned ? 'plan' : 'reply';
  const draft = { kind: entry, ...label } as const;
  const commit = await keepStaged(project, place, text, staged, () => keepWhole(project, line, place, received, draft));
  const virtual = parsed && line.workspace ? await runVirtually(parsed, worldOf(project, line.workspace)) : null;
  const problems = virtual?.problems ?? parsed?.problems ?? [];
  return {
    commit,
    entry,
    text,
    usage,
    problems: await maskProblems(project.masker, problems),
    notes: await maskProblems(project.masker, parsed?.notes ?? []),
    secrets: (await project.masker.mask(text)).found,
    actions: parsed?.plan.actions.length ?? 0,
  };
}
