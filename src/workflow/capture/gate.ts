/** Holds an agent at its plan until somebody has approved or rejected the plan. Never approves a plan on its own. */
import type { PlanCall } from '../../agents/agent.ts';
import { agents, type AgentName } from '../../agents/agents.ts';
import { toMessage } from '../../errors.ts';
import type { Capture } from '../../ports/agent-logs.ts';
import type { OperationKind, Settling } from '../../ports/journal.ts';
import type { Project } from '../../ports/project.ts';
import { joinPath, parseLineRef, shortRef, turnDir } from '../../names.ts';
import type { Oid, RefName, SessionId, TurnName } from '../../names.ts';
import { findPlanTitle } from '../../plan/plan-comments.ts';
import { maskString } from '../line/mask-text.ts';
import { appendVerdict } from '../line/append-verdict.ts';
import { readApproval } from '../line/needed-approval.ts';
import { describeRejection, lastWord, readLine, readTurnState, readVerdicts, toText } from '../../view/view.ts';
import type { Verdict } from '../../view/view.ts';
import { toFollowedLog } from './capture.ts';
import { workspaceOn } from './open-line.ts';

/** An agent's question about whether it may carry out a plan. */
export interface GateCall extends PlanCall {
  agent: AgentName;
  /** The IDs of the processes that wait for the answer. */
  pids: number[];
}

/** A plan on its line. */
export interface WaitingPlan {
  ref: RefName;
  session: SessionId;
  turn: TurnName;
  sha256: string;
  title: string;
}

interface GateOptions {
  /** Resolves when it is time to look again; false when the agent no longer waits, or nobody can answer. */
  pause(): Promise<boolean>;
}

/** Returns null for a call that is not about the session's own plan. */
export async function readGateCall(
  { logs }: Pick<Capture, 'logs'>,
  agent: AgentName,
  pids: number[],
  payload: Record<string, unknown>,
): Promise<GateCall | null> {
  const call = await logs.planCall(agent, payload);
  return call === null ? null : { ...call, agent, pids };
}

/**
 * Returns false when the call contains neither the plan nor its location, so that teddy cannot match an approval to the
 * agent's plan.
 */
export function namesPlan({ plan, planFile }: GateCall): boolean {
  return plan !== undefined || planFile !== undefined;
}

/**
 * Waits until the drainer, which the same hook has started, has put the plan on its line. Returns null when the plan
 * never appears.
 */
export async function findWaitingPlan(
  project: Project,
  capture: Capture,
  call: GateCall,
  { pause }: GateOptions,
): Promise<WaitingPlan | null> {
  do {
    const found = await lookForPlan(project, capture, call);
    if (found !== null) return found;
  } while (await pause());
  return null;
}

async function lookForPlan(
  project: Project,
  { states }: Capture,
  { callId, path, plan }: GateCall,
): Promise<WaitingPlan | null> {
  const { repository, hash, masker } = project;
  const { store } = repository;
  const log = toFollowedLog(await states.read(path));
  for (const { ref } of log?.branches ?? []) {
    const tip = ref === null ? null : await store.resolve(ref);
    if (ref === null || tip === null) continue;
    const { session, latest } = await readLine(store, tip);
    const isIts = (id: string) => callId === null || id === `${callId}/plan`;
    const isThere = latest?.records.some((record) => record.type === 'plan' && isIts(record.id)) === true;
    if (latest === null || latest.plan === null || !isThere) continue;
    const text = toText(latest.plan);
    // Older logs do not contain the plan, only the last content written to its file, which the user may have edited
    // since.
    if (plan !== undefined && !(await isSamePlan(masker, plan, text))) return null;
    const { turn } = latest;
    // An earlier plan with the same text may have a verdict, which was not about this call.
    if (callId === null && (await readVerdicts(project, { session, tip, turn })).length > 0) continue;
    const { title } = findPlanTitle(text);
    return { ref, session, turn, sha256: hash(latest.plan), title };
  }
  return null;
}

/**
 * Waits for a verdict that satisfies `teddy.approvals`. Returns null when the agent no longer waits, or when somebody
 * has moved the line so that it no longer contains this plan.
 */
export async function awaitVerdict(
  project: Project,
  { ref, session, turn, sha256 }: WaitingPlan,
  { pause }: GateOptions,
): Promise<Verdict | null> {
  const { store } = project.repository;
  const { hash } = project;
  let seen: Oid | null = null;
  do {
    const tip = await store.resolve(ref);
    if (tip === null) return null;
    if (tip === seen) continue;
    seen = tip;
    const plan = await store.readFile(tip, joinPath(turnDir(session, turn), 'plan.md'));
    if (plan === null || hash(plan.bytes) !== sha256) return null;
    const { counted, verdicts } = await readApproval(project, { session, tip }, turn);
    const last = lastWord(verdicts.filter(({ planSha256 }) => planSha256 === sha256));
    if (last?.verdict === 'rejected') return last;
    const yes = counted.findLast(({ planSha256 }) => planSha256 === sha256);
    if (yes !== undefined) return yes;
  } while (await pause());
  return null;
}

/**
 * Explains in a sentence why an approval does not let the agent continue; null when the agent still has the plan that
 * the user saw. An agent rereads its file when it may continue, so the file may have changed in the meantime.
 */
export async function findChange(
  { repository: { store }, masker }: Project,
  { logs }: Capture,
  { plan, planFile }: GateCall,
  { session }: WaitingPlan,
  { commit, turn }: Verdict,
): Promise<string | null> {
  const shown = await store.readFile(commit, joinPath(turnDir(session, turn), 'plan.md'));
  const inFile = planFile === undefined ? null : await logs.readNamed(planFile);
  const held = [plan ?? null, inFile].filter((text) => text !== null);
  if (held.length === 0) return 'It was approved, but nothing shows that the agent still has this plan.';
  for (const text of held)
    if (!(await isSamePlan(masker, text, toText(shown?.bytes ?? null))))
      return 'It was approved, but the agent has a different plan now: its plan file has changed.';
  return null;
}

async function isSamePlan(masker: Project['masker'], plan: string, shown: string): Promise<boolean> {
  return (await maskString(masker, plan)).trim() === shown.trim();
}

/** Returns the answer in the form that the agent's hooks expect; `payload` is the call's own. */
export function toGateAnswer(
  { agent }: GateCall,
  verdict: Verdict,
  payload: Record<string, unknown>,
): object | undefined {
  const isApproved = verdict.verdict === 'approved';
  const said = describeRejection({
    ...verdict,
    text: verdict.text ?? (isApproved || verdict.comments.length > 0 ? '' : 'No reason was given.'),
  }).trim();
  const who = verdict.author.name;
  const head = isApproved ? `${who} approved this plan.` : `${who} rejected this plan. Plan again, with this in mind:`;
  return agents[agent].hooks.gate?.answer({ isApproved, reason: said === '' ? head : `${head}\n${said}` }, payload);
}

/** `isSaid` is true when teddy has told the user that it could not record the gate's end. */
type WaitingGate = WaitingPlan & { isSaid?: true };

const gateKind: OperationKind<WaitingGate> = { name: 'gate', title: 'a plan that keeps an agent waiting' };

/** Records that the agent waits, so that however the gate ends, the line eventually shows that nobody has decided. */
export function openGate({ journal }: Project, plan: WaitingPlan): Promise<Settling<WaitingGate>> {
  return journal.open(gateKind, plan);
}

/**
 * Closes the gate. `reason` explains, in a sentence, why no verdict has counted; null when one has. `isJudged` is true
 * when there is a verdict that did not count.
 */
export async function closeGate(
  project: Project,
  gate: Settling<WaitingGate>,
  plan: WaitingPlan,
  { reason, isJudged = false }: { reason: string | null; isJudged?: boolean },
): Promise<void> {
  try {
    if (reason !== null) await noteUndecided(project, plan, reason, isJudged);
  } catch (error) {
    // The next drain tries again, and teddy has told the user.
    await gate.note({ isSaid: true });
    await gate.leave();
    throw error;
  }
  await gate.done();
}

/** Closes killed gates, using their notes. Returns sentences that explain why some could not be closed. */
export async function closeLostGates(project: Project): Promise<string[]> {
  const problems: string[] = [];
  for (const { facts: plan, take } of await project.journal.left(gateKind)) {
    const gate = await take();
    const reason = 'The wait ended before anybody decided.';
    // A damaged note does not show which plan waited.
    if (plan === null) await gate?.done();
    else if (gate !== null)
      await closeGate(project, gate, plan, { reason }).catch((error: unknown) => {
        if (!plan.isSaid) problems.push(`The plan of turn ${plan.turn} of ${shortRef(plan.ref)}: ${toMessage(error)}`);
      });
  }
  return problems;
}

async function noteUndecided(project: Project, plan: WaitingPlan, text: string, isJudged: boolean): Promise<void> {
  const { store } = project.repository;
  const { ref, sha256, title } = plan;
  const tip = parseLineRef(ref) === null ? null : await store.resolve(ref);
  if (tip === null) return;
  const { session, turn } = plan;
  const bytes = (await store.readFile(tip, joinPath(turnDir(session, turn), 'plan.md')))?.bytes ?? null;
  const verdicts = await readVerdicts(project, { session, tip, turn });
  // Somebody may have moved the line, so that it no longer contains this plan.
  if (bytes === null || project.hash(bytes) !== sha256 || (verdicts.length > 0 && !isJudged)) return;
  const judged = await readTurnState(store, (await readLine(store, tip)).entryOid, session, turn);
  const line = { ref, workspace: await workspaceOn(project, ref) };
  await appendVerdict(project, line, { ...judged, plan: bytes, title }, { verdict: 'none', text, comments: [] });
}
