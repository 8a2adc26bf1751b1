/**
 * The acts that the user starts from a page. Each runs the workflow that a command calls, with the same guards, and
 * only one act runs at a time. teddy keeps an act's events until the next act begins, so that a page that reconnects
 * sees all of them.
 */
import { z } from '@hono/zod-openapi';
import { TeddyError } from '../errors.ts';
import { describeAction } from '../plan/actions/actions.ts';
import type { Action } from '../plan/plan.ts';
import type { Notices, Project } from '../ports/project.ts';
import type { AgentTrace } from '../ports/project.ts';
import type { MemoChange } from '../session/global/memos.ts';
import { toVisible } from '../session/text/visible-text.ts';
import type { SteeringText } from '../workflow/line/foreign-texts.ts';
import { maskedOutput } from '../workflow/line/masked-output.ts';
import type { Approver } from '../workflow/run/run.ts';
import { planInstead } from '../workflow/run/execute-or-replan.ts';
import { executePlan, type ExecuteRequest } from '../workflow/run/execute-plan.ts';
import { findPlan, giveVerdict } from '../workflow/run/give-verdict.ts';
import { planTurn, type PlanOutcome, type PlanRequest } from '../workflow/turn/plan.ts';
import type { ServerEvent } from './event-stream.ts';
import type { Visitor } from './page-access.ts';
import { toPageWords } from './refusal.ts';

const plan = z.string().regex(/^[0-9a-f]{64}$/, 'must be the sha256 of the plan that is shown');
const comments = z.array(z.object({ line: z.int().min(1), text: z.string() })).max(1000);
const verdict = { plan, message: z.string().optional(), comments: comments.default([]) };

/**
 * A request from a page. `plan` is the sha256 of the plan that the page shows; the act applies to no other plan. `say`
 * without a message asks the model again about the open turn. `actions` are indexes, from 1; the act skips all others,
 * and null stands for all. A comment's `line` is a line of the plan, counted from 1.
 */
export const actRequest = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('say'), message: z.string().optional() }),
  z.object({ kind: z.literal('ask'), plan, message: z.string() }),
  z.object({ kind: z.literal('instead'), plan, message: z.string() }),
  z.object({ kind: z.literal('run'), plan, actions: z.array(z.int().min(1)).nullable() }),
  z.object({ kind: z.literal('approve'), ...verdict }),
  z.object({ kind: z.literal('reject'), ...verdict }),
]);
type ActRequest = z.infer<typeof actRequest>;

/** Opens the project for an act, as if a command had just started. */
export interface ActTools {
  /** The caller must close the project's repository. */
  open(notices: Notices): Promise<Project>;
  choose(project: Project): Promise<Choice>;
}

type Choice = PlanRequest['choice'];

export interface Act {
  /** Kept to resend any event that a page has missed. `events[0]` has the number `first`. */
  events: ServerEvent[];
  first: number;
  kind: ActRequest['kind'];
  isOver: boolean;
}

export interface PageActs {
  /**
   * Resolves when the act is under way, or over. Rejects with the reason when it did not begin, and with LOCKED while
   * another act is under way.
   */
  begin(target: { session: string; line: string }, request: ActRequest, visitor: Visitor): Promise<void>;
  /** Acts like Ctrl-C. Returns false when no act is under way. */
  stop(session: string): boolean;
  /** Returns false when no act is asking this question. */
  answer(session: string, question: number, text: string | null): boolean;
  /** Returns the last act that a page began in the session. */
  find(session: string): Act | null;
  /** Counts a page as looking at the session until the caller calls the returned function. */
  attend(session: string): () => void;
  /** Stops the act that is under way, and resolves when it has ended. */
  end(): Promise<void>;
}

interface Question {
  id: number;
  resolve(text: string | null): void;
}

interface RunningAct extends Act {
  session: string;
  controller: AbortController;
  /** The total length of the texts in `events`, in characters. */
  size: number;
  question: Question | null;
  over: Promise<unknown>;
}

interface PageActsOptions {
  tools: ActTools;
  /** Called when an act has ended, whether it succeeded or failed. */
  onEnd(): void;
  /** Called after each event. */
  onEvent(): void;
  /** Called for an act that failed through no fault of the user. */
  onDefect(error: unknown): void;
  /** When no page has shown a question for this long, the answer is null. */
  absentMs?: number;
}

const titles: Record<ActRequest['kind'], string> = {
  say: 'Asking ...',
  ask: 'Asking about the plan ...',
  instead: 'Asking for another plan ...',
  run: 'Running ...',
  approve: 'Approving ...',
  reject: 'Rejecting ...',
};

const usualAbsentMs = 30_000;
/** In characters; teddy drops older events. */
const maxKept = 1024 * 1024;

/** The acts that a server's pages start. */
interface Acts extends Omit<Required<PageActsOptions>, 'absentMs'> {
  absentMs: number;
  last: RunningAct | null;
  questions: number;
  isEnding: boolean;
  /** The number of pages that look at each session. */
  attending: Map<string, number>;
  /** Runs while a question waits and no page shows it. */
  absence: NodeJS.Timeout | undefined;
}

export function pageActs(options: PageActsOptions): PageActs {
  const none = { last: null, questions: 0, isEnding: false, attending: new Map(), absence: undefined };
  const acts: Acts = { absentMs: usualAbsentMs, ...options, ...none };
  return {
    begin: (target, request, visitor) => beginAct(acts, target, request, visitor),
    stop(session) {
      const { last } = acts;
      if (last === null || last.isOver || last.session !== session) return false;
      last.controller.abort();
      return true;
    },
    answer(session, question, text) {
      const { last } = acts;
      if (last?.session !== session || last.question?.id !== question) return false;
      last.question.resolve(text);
      return true;
    },
    find: (session) => (acts.last?.session === session ? acts.last : null),
    attend(session) {
      countPages(acts, session, 1);
      return () => countPages(acts, session, -1);
    },
    async end() {
      acts.isEnding = true;
      acts.last?.controller.abort();
      await acts.last?.over;
    },
  };
}

function countPages(acts: Acts, session: string, more: number): void {
  acts.attending.set(session, (acts.attending.get(session) ?? 0) + more);
  watchAbsence(acts);
}

function watchAbsence(acts: Acts): void {
  clearTimeout(acts.absence);
  const question = acts.last?.question;
  if (acts.last === null || !question || (acts.attending.get(acts.last.session) ?? 0) > 0) return;
  acts.absence = setTimeout(() => question.resolve(null), acts.absentMs).unref();
}

async function beginAct(acts: Acts, ...[target, request, visitor]: Parameters<PageActs['begin']>): Promise<void> {
  if (acts.last !== null && !acts.last.isOver)
    throw new TeddyError('LOCKED', `Something started from a page is still running in ${acts.last.session}.`);
  if (acts.isEnding) throw new TeddyError('INTERRUPTED', 'The server is stopping.');
  let onBegun: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => (onBegun = resolve));
  const { session } = target;
  const controller = new AbortController();
  const empty = { events: [], first: 0, size: 0, isOver: false, question: null, over: Promise.resolve() };
  const act: RunningAct = { ...empty, kind: request.kind, session, controller };
  acts.last = act;
  const emit: Emit = (event, data) => addEvent(acts, act, { event, data: toVisibleData(data) });
  emit('act', { kind: request.kind, title: titles[request.kind] });
  const asking = { ask: (question: object) => ask(acts, act, emit, question), emit, onBegun, visitor };
  // Opens the project again, as a command does, which may take minutes, so no other request waits for the act.
  const performed = perform(acts.tools, target.line, request, { ...asking, signal: controller.signal });
  const over = performed.finally(acts.onEnd).then(
    (title) => ({ title }),
    (error: unknown) => ({ error }),
  );
  act.over = over.then((end) => {
    act.isOver = true;
    if ('error' in end && !(end.error instanceof TeddyError)) acts.onDefect(end.error);
    emit('done', 'error' in end ? toFailureData(end.error) : end);
  });
  await Promise.race([begun, over.then((end) => ('error' in end ? Promise.reject(end.error) : undefined))]);
}

function addEvent({ onEvent }: Acts, act: RunningAct, added: ServerEvent): void {
  act.events.push(added);
  act.size += sizeOf(added);
  // An answer arrives in tens of thousands of pieces, so this does not add up their sizes again for each one.
  while (act.size > maxKept && act.events.length > 1) {
    act.size -= sizeOf(act.events.shift() as ServerEvent);
    act.first += 1;
  }
  onEvent();
}

async function ask(acts: Acts, act: RunningAct, emit: Emit, question: object): Promise<string | null> {
  const { signal } = act.controller;
  if (signal.aborted) return null;
  const id = (acts.questions += 1);
  const answered = new Promise<string | null>((resolve) => {
    act.question = { id, resolve };
    signal.addEventListener('abort', () => resolve(null), { once: true });
  });
  emit('question', { id, ...question });
  watchAbsence(acts);
  const text = await answered;
  act.question = null;
  emit('answered', { id });
  return text;
}

type Emit = (event: string, data: object) => void;

interface Performing {
  visitor: Visitor;
  emit: Emit;
  signal: AbortSignal;
  /** Resolves with null when nobody has answered. */
  ask(question: object): Promise<string | null>;
  onBegun(): void;
}

/** An act under way: `selector` names its line. */
type Acting = Performing & { project: Project; selector: string };
type RequestTo<Kind> = Extract<ActRequest, { kind: Kind }>;

const programTrace: AgentTrace = {
  seen: "This was requested with the server's token, or from a page whose link a program made.",
  pid: null,
};

/** Returns a sentence that describes the result. */
async function perform(tools: ActTools, selector: string, request: ActRequest, of: Performing): Promise<string> {
  const toNotice = (level: string) => (text: string) => of.emit('notice', { level, text });
  const opened = await tools.open({ info: toNotice('info'), warn: toNotice('warning') });
  const findAgent = async () => (of.visitor === 'person' ? null : programTrace);
  // The user at the page decides, whatever started the server; a program that calls the server does not.
  const project = { ...opened, callers: { ...opened.callers, findAgent } };
  const acting = { ...of, project, selector };
  try {
    if (request.kind === 'run') return await execute(acting, request);
    if (request.kind === 'approve' || request.kind === 'reject') return await judge(acting, request);
    return await say(acting, request, await tools.choose(project));
  } finally {
    await project.repository.close();
  }
}

async function say(acting: Acting, request: RequestTo<'say' | 'ask' | 'instead'>, choice: Choice): Promise<string> {
  const { project, selector, emit, signal, onBegun } = acting;
  const shown = maskedOutput(project.masker, (_, text) => emit('text', { text }));
  const asked: PlanRequest = {
    selector,
    message: request.message,
    choice,
    signal,
    approveForeign: (texts) => askForeign(acting, texts),
    onAsk({ turn, agent, label }) {
      emit('asked', { turn, title: `Turn ${turn}: asking ${label} as ${agent} ...` });
      onBegun();
    },
    onText: (text) => shown.add('stdout', text),
  };
  try {
    if (request.kind === 'say') return describeAnswer(choice, await planTurn(project, asked));
    if (request.kind === 'ask') {
      await findPlan(project, { selector, verdict: 'rejected', sha256: request.plan });
      return describeAnswer(choice, await planTurn(project, { ...asked, mode: 'ask' }), 'ask');
    }
    const replacing = { ...asked, message: request.message, signal, onStart: requireShown(project, request.plan) };
    const { outcome } = await planInstead(project, replacing, ({ report: { turn } }) =>
      emit('notice', { level: 'info', text: `Turn ${turn}: refused; none of its actions ran.` }),
    );
    return describeAnswer(choice, outcome);
  } finally {
    await shown.end();
  }
}

/** Throws NO_MODEL when there was no model to ask; the user's message has already been committed. */
function describeAnswer({ missing }: Choice, outcome: PlanOutcome, verb: 'plan' | 'ask' = 'plan'): string {
  if (outcome.kind === 'open') {
    if (missing) throw missing;
    return `Turn ${outcome.turn}: your message is committed. Show the model ${outcome.logPath}, then add its answer: \`teddy ${verb} --from <file>\`.`;
  }
  const { turn, entry, actions, problems } = outcome;
  if (entry !== 'plan') return `Turn ${turn}: answered.`;
  const invalid = problems.length === 0 ? '' : ` It is not valid: ${problems[0]?.message ?? ''}`;
  return `Turn ${turn}: a plan with ${actions} ${actions === 1 ? 'action' : 'actions'}.${invalid}`;
}

async function execute(acting: Acting, request: RequestTo<'run'>): Promise<string> {
  const { project, selector, emit, signal, onBegun } = acting;
  const requireSame = requireShown(project, request.plan);
  const { report } = await executePlan(project, {
    selector,
    only: request.actions ?? undefined,
    approver: pageApprover(acting),
    memos: { kind: 'ask', ask: (changes) => askMemos(acting, changes) },
    signal,
    onStart(started) {
      requireSame(started);
      emit('asked', { turn: started.turn, title: `Turn ${started.turn}: ${started.plan.plan.title}` });
      onBegun();
    },
  });
  const { status, error } = report.run_summary;
  return `Turn ${report.turn}: ${status}${error === null ? '' : `, ${error}`}`;
}

/** Approves or rejects the plan, whether it follows teddy's grammar or is another agent's. */
async function judge({ project, selector }: Acting, request: RequestTo<'approve' | 'reject'>): Promise<string> {
  const { kind, plan: sha256, message: text, comments } = request;
  const word = kind === 'approve' ? 'approved' : 'rejected';
  const { verdict, plan } = await giveVerdict(project, { selector, verdict: word, text, comments, sha256 });
  const rest = kind === 'reject' && !plan.isForeign ? '; none of its actions ran' : '';
  return `Turn ${verdict.turn}: ${verdict.verdict}${rest}.`;
}

/** Returns a check that refuses any plan but the one on the page. It runs before teddy asks, runs or writes anything. */
function requireShown(project: Project, sha256: string): NonNullable<ExecuteRequest['onStart']> {
  return ({ line, turn }) => {
    const plan = line.state.latest?.plan ?? null;
    if (plan !== null && project.hash(plan) === sha256) return;
    const which = `The plan of turn ${turn}, which is now pending,`;
    throw new TeddyError('PLAN_REPLACED', `${which} is not the one that the page showed.`);
  };
}

/** Approves every action, because the user has selected each action that arrives here. */
function pageApprover({ emit, ask }: Performing): Approver {
  const show = (action: Pick<Action, 'index'>, more: object) => emit('action', { index: action.index, ...more });
  let running = 0;
  return {
    by: 'user',
    begin: () => Promise.resolve(),
    action: () => Promise.resolve({ decision: 'yes' }),
    answer: (text) => ask({ kind: 'text', title: 'The plan asks you:', text }),
    during({ action, count }, use) {
      running = action.index;
      show(action, { count, title: describeAction(action), status: 'RUNNING' });
      return use();
    },
    output: (stream, text) => emit('output', { index: running, stream, text }),
    done: ({ index, action_type: type, status, details }, count) =>
      show({ index }, { count, type, status, reason: details?.reason ?? null }),
  };
}

/** Throws INTERRUPTED when nobody answers, because silence is not a decision. */
async function askMemos({ ask }: Performing, changes: MemoChange[]): Promise<boolean> {
  const text = changes.map(({ kind, fact }) => `${kind === 'add' ? '[+]' : '[-]'} ${fact}`).join('\n');
  const title = 'The plan proposes to change the memos. Approve these updates?';
  return toDecision(await ask({ kind: 'confirm', title, text }));
}

/** Throws INTERRUPTED when nobody answers, as `askMemos` does. */
async function askForeign({ ask }: Performing, texts: SteeringText[]): Promise<boolean> {
  const text = texts.map((one) => `${one.name}\n\n${one.text}`).join('\n\n');
  const title =
    'These texts decide what the model is told and shown. They came from somebody else, and you have not accepted them yet. Use them?';
  return toDecision(await ask({ kind: 'confirm', title, text }));
}

function toDecision(answer: string | null): boolean {
  if (answer !== null) return answer === 'yes';
  throw new TeddyError('INTERRUPTED', 'Interrupted before a decision was made.');
}

/** Reveals nothing about a defect to the page; the server's log has the details. */
function toFailureData(error: unknown): object {
  if (!(error instanceof TeddyError)) return { code: 'DEFECT', message: 'An internal error occurred.' };
  return { code: error.code, ...toPageWords(error) };
}

function toVisibleData(data: object): object {
  const shown = Object.entries(data).map(([key, value]) => [key, typeof value === 'string' ? toVisible(value) : value]);
  return Object.fromEntries(shown) as object;
}

function sizeOf({ data }: ServerEvent): number {
  return 'text' in data ? String(data.text).length : 0;
}
