/** Accepts a plan that somebody submits, so that the user can look at it and decide. Does not ask a model, and runs nothing. */
import { TeddyError } from '../../errors.ts';
import { shortRef, type Oid, type SessionId, type TurnName } from '../../names.ts';
import { isPlan, maxPlanBytes, parsePlan } from '../../plan/parse/parse.ts';
import type { Project } from '../../ports/project.ts';
import { labelHandedIn } from '../line/entry-labels.ts';
import { append } from '../line/append.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { appendRecords } from '../line/append-records.ts';
import { newSession } from '../line/new-session.ts';
import { prepareLine, type ReadyLine } from '../line/prepare.ts';
import { readTurnState } from '../../view/view.ts';
import { planTurn, type PlanRequest } from './plan.ts';

export interface SubmitRequest {
  /** In teddy's grammar, or any Markdown. */
  plan: string;
  message: string;
  /** A line on which no turn is waiting. Without a selector, the plan gets its own session. */
  selector?: string | undefined;
  /** The source of that session's name, which otherwise comes from the message. */
  title?: string | undefined;
  /** Returns the choice that turns the plan into a manual answer. */
  toChoice(plan: string): PlanRequest['choice'];
  signal: AbortSignal;
}

export interface SubmittedPlan {
  session: SessionId;
  line: string;
  turn: TurnName;
  commit: Oid;
  /** The hash of plan.md, in hexadecimal. */
  planSha256: string;
  /** `teddy`: the plan waits to be executed; `markdown`: the plan waits for a verdict, and teddy does not run it. */
  kind: 'teddy' | 'markdown';
  /** The number of actions in the plan; 0 for Markdown. */
  actions: number;
  /** The reasons why teddy accepted a plan in its own form as Markdown. */
  problems: string[];
  /** The number of secrets that teddy masked in the plan. */
  masked: number;
}

/**
 * Submits the plan. Throws USAGE, CONTENT_TOO_LARGE, TURN_OPEN, PLAN_PENDING, NOT_APPROVED, and any error that prevents
 * an entry on the line.
 */
export async function submitPlan(project: Project, request: SubmitRequest): Promise<SubmittedPlan> {
  const { message } = request;
  if (message.trim() === '')
    throw new TeddyError('EMPTY_MESSAGE', 'The message is empty.', 'Say what the plan is for.');
  if (request.plan.trim() === '') throw new TeddyError('USAGE', 'The plan is empty.', 'Pass its text as `plan`.');
  const { text: plan, count: masked } = await project.masker.mask(request.plan, 'plan.md');
  if (Buffer.byteLength(plan) > maxPlanBytes)
    throw new TeddyError('CONTENT_TOO_LARGE', `The plan is over ${maxPlanBytes} bytes.`, 'Submit a shorter one.');
  const parsed = isPlan(plan) ? parsePlan(plan) : null;
  const isTeddys = parsed !== null && parsed.problems.length === 0;
  const line = await openLine(project, request);
  const taken = isTeddys
    ? await keepAsAnswer(project, line, { ...request, plan })
    : await keepMarkdown(project, line, { message, plan });
  return {
    session: line.session,
    line: shortRef(line.ref),
    ...taken,
    planSha256: project.hash(plan),
    kind: isTeddys ? 'teddy' : 'markdown',
    actions: isTeddys ? parsed.plan.actions.length : 0,
    problems: isTeddys ? [] : (parsed?.problems.map((problem) => problem.message) ?? []),
    masked,
  };
}

async function openLine(project: Project, { selector, title, message }: SubmitRequest): Promise<ReadyLine> {
  if (selector !== undefined) {
    const line = await prepareLine(project, selector);
    refuseWaiting(line);
    return line;
  }
  const first = (title ?? message).trim().split('\n')[0] ?? '';
  const { count } = await project.masker.mask(first);
  // A separate session, like a captured agent's, so that none of the user's messages go to it automatically.
  const foreign = { agent: 'mcp', id: project.ids.entryId() };
  const name = toName(count > 0 ? '' : first);
  const { session } = await newSession(project, { name, switch: false, foreign });
  return prepareLine(project, session);
}

/** Returns a name for the session: the text, or `plan` when it has no letters or digits. */
function toName(text: string): string {
  return /[\p{L}\p{Nd}]/u.test(text) ? text : 'plan';
}

function refuseWaiting({ ref, session, state: { latest } }: ReadyLine): void {
  if (latest === null || latest.status === 'closed') return;
  const [code, what] =
    latest.status === 'planned'
      ? (['PLAN_PENDING', 'a plan that was not run'] as const)
      : (['TURN_OPEN', 'no answer or verdict yet'] as const);
  throw new TeddyError(
    code,
    `Turn ${latest.turn} of ${session} has ${what}.`,
    `A person decides on it first: \`teddy show ${latest.turn} -s ${toShellWord(shortRef(ref))}\`. Without a session, the plan gets one of its own.`,
  );
}

/** Adds the plan as an answer, as `teddy plan --from` does. */
async function keepAsAnswer(
  project: Project,
  line: ReadyLine,
  { plan, message, toChoice, signal }: SubmitRequest,
): Promise<{ turn: TurnName; commit: Oid }> {
  const selector = shortRef(line.ref);
  const outcome = await planTurn(project, {
    selector,
    message,
    choice: toChoice(plan),
    signal,
    onText: () => undefined,
  });
  if (outcome.kind === 'answered') return { turn: outcome.turn, commit: outcome.commit };
  throw new Error('A manual choice always gives an answer.');
}

/** Adds the message, and then the plan as another agent's. */
async function keepMarkdown(
  project: Project,
  line: ReadyLine,
  { message, plan }: Pick<SubmitRequest, 'message' | 'plan'>,
): Promise<{ turn: TurnName; commit: Oid }> {
  const { ref, session } = line;
  const toTime = () => project.clock.now().toISOString();
  const said = { role: 'user', content: message } as const;
  const { turn } = await appendRecords(project, {
    selector: shortRef(ref),
    records: [{ type: 'user', id: project.ids.entryId(), timestamp: toTime(), message: said, source: 'text' }],
    isFresh: true,
  });
  const { commit } = await append(project, { ref, workspace: line.workspace }, async (state) => {
    const { plan: known } = await readTurnState(project.repository.store, state.entryOid, session, turn);
    if (known !== null)
      throw new TeddyError(
        'REF_MOVED',
        `Turn ${turn} was given another plan in the meantime.`,
        'Submit the plan again.',
      );
    const record = { type: 'plan', id: project.ids.entryId(), timestamp: toTime(), file: 'plan.md' } as const;
    return [{ kind: 'plan', turn, label: labelHandedIn(plan), records: [record], files: { 'plan.md': plan } }];
  });
  return { turn, commit };
}
