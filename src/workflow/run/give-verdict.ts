/**
 * Approves or rejects a turn's plan with a separate entry. The entry's author gave the verdict, which applies only to
 * these exact bytes.
 */
import { hasAgentPlan } from '../../conversation/records/transcript.ts';
import { TeddyError } from '../../errors.ts';
import { parsePlan } from '../../plan/parse/parse.ts';
import { findPlanTitle } from '../../plan/plan-comments.ts';
import type { Report } from '../../plan/report/report.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef, type TurnName } from '../../names.ts';
import { formatCount } from '../../session/text/format-count.ts';
import type { VerdictWord } from '../../session/entries/entry.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { appendVerdict, movedTurnError } from '../line/append-verdict.ts';
import { finishMemos } from '../line/decide-memos.ts';
import { findAsker, isSamePerson, readApproval, readOwnEmail, refuseAgent } from '../line/needed-approval.ts';
import { refuseModified, type PendingTurn } from '../line/pending-plan.ts';
import { prepareLineOf, type ReadyLine } from '../line/prepare.ts';
import {
  describeRejection,
  findTurn,
  lastWord,
  readTurnState,
  readVerdicts,
  refreshLine,
  toText,
  type TurnState,
  type Verdict,
} from '../../view/view.ts';
import { rejectTurn } from './finish.ts';

export interface VerdictRequest {
  selector?: string | undefined;
  /** Defaults to the latest turn. */
  turn?: string | undefined;
  verdict: VerdictWord;
  text?: string | undefined;
  /** `line` is a line of plan.md, from 1. */
  comments?: readonly { line: number; text: string }[];
  /** The hash of the plan that the user has seen, in hexadecimal; may be abbreviated. */
  sha256?: string | undefined;
}

export interface GivenVerdict {
  line: ReadyLine;
  verdict: Verdict;
  plan: { title: string; isForeign: boolean };
  /** The report that closed the turn after the rejection of teddy's own pending plan. */
  report: Report | null;
  /** False when the same person had already given the same verdict; in that case there is no new entry. */
  isNew: boolean;
  /** True when the verdicts now satisfy `teddy.approvals`. */
  isEnough: boolean;
  /** True when somebody else asked for the plan, and therefore waits for the verdict. */
  isForOthers: boolean;
}

/**
 * Gives the verdict. Throws NO_PENDING_PLAN when there is no plan to judge, or nothing left to reject; EMPTY_MESSAGE
 * for a rejection without a reason, USAGE for a comment on a line that the plan does not have, PLAN_REPLACED when the
 * plan is not the one that the user has seen, PLAN_MODIFIED, LOCKED while somebody executes the plan,
 * AGENT_MAY_NOT_APPROVE, and the errors of preparing a line.
 */
export async function giveVerdict(project: Project, request: VerdictRequest): Promise<GivenVerdict> {
  if (request.verdict === 'approved') await refuseAgent(project, { name: request.selector, turn: request.turn });
  const line = await prepareLineOf(project, request);
  const judged = await findJudged(project, line, request);
  if (request.verdict !== 'rejected' || judged.status !== 'planned') return judge(project, line, judged, request);
  const place = { session: line.session, turn: judged.turn, ref: line.ref };
  const claim = await project.journals.claim(place);
  try {
    // A run that ended in between has closed the turn.
    const state = await refreshLine(project.repository.store, line);
    const now = { ...line, state };
    return await judge(project, now, await findJudged(project, now, request), request);
  } finally {
    await claim.release();
  }
}

/** Finds the plan to judge, so that the caller can read it first. Throws as `giveVerdict` does. */
export async function findPlan(
  project: Project,
  request: VerdictRequest,
): Promise<{ line: ReadyLine; turn: TurnName; text: string; sha256: string }> {
  if (request.verdict === 'approved') await refuseAgent(project, { name: request.selector, turn: request.turn });
  const line = await prepareLineOf(project, request);
  const { turn, plan } = await findJudged(project, line, request);
  return { line, turn, text: toText(plan), sha256: project.hash(plan) };
}

type JudgedTurn = TurnState & { plan: Uint8Array; isForeign: boolean };

async function findJudged(project: Project, line: ReadyLine, request: VerdictRequest): Promise<JudgedTurn> {
  const { store } = project.repository;
  const { state } = line;
  const latest = request.turn === undefined ? state.latest : null;
  const turn =
    latest ??
    (request.turn === undefined
      ? null
      : await readTurnState(store, state.entryOid, state.session, findTurn(state, request.turn)));
  const name = shortRef(line.ref);
  if (turn === null || turn.plan === null)
    throw new TeddyError(
      'NO_PENDING_PLAN',
      turn === null ? `${name} has no turns yet.` : `Turn ${turn.turn} of ${name} has no plan.`,
      `\`teddy log -s ${toShellWord(name)}\` shows the turns.`,
    );
  const isForeign = hasAgentPlan(turn.records);
  const judged = { ...turn, plan: turn.plan, isForeign };
  if (!isForeign && turn.status === 'closed') refuseClosed(judged, line, request);
  if (turn.status === 'planned' && line.workspace !== null)
    await refuseModified(line.workspace, line.session, judged as unknown as PendingTurn);
  const sha256 = project.hash(turn.plan);
  if (request.sha256 !== undefined && !sha256.startsWith(request.sha256.toLowerCase()))
    throw new TeddyError(
      'PLAN_REPLACED',
      `The plan of turn ${turn.turn} is not the one you have seen: its sha256 is ${sha256.slice(0, 12)}.`,
      `Look at it again: \`teddy show ${turn.turn} -s ${toShellWord(name)}\`.`,
    );
  return judged;
}

/** A user who names the turn can approve a plan that ran, or that had only words, after the fact, but cannot reject it. */
function refuseClosed({ turn, report }: JudgedTurn, line: ReadyLine, { turn: named, verdict }: VerdictRequest): void {
  const word = toShellWord(shortRef(line.ref));
  if (verdict === 'rejected')
    throw new TeddyError(
      'NO_PENDING_PLAN',
      `Turn ${turn} is closed: there is nothing left to reject.`,
      report === null || /^changes: \[\]$/m.test(toText(report))
        ? `Say what to do next: \`teddy plan -s ${word} -m "..."\`.`
        : `Say what to do next: \`teddy plan -s ${word} -m "..."\`; \`teddy undo ${turn} -s ${word}\` undoes its changes.`,
    );
  if (named === undefined)
    throw new TeddyError(
      'NO_PENDING_PLAN',
      `${shortRef(line.ref)} has no pending plan. Its last turn, ${turn}, is closed.`,
      `To approve its plan anyway: \`teddy approve ${turn} -s ${word}\`.`,
    );
}

async function judge(
  project: Project,
  line: ReadyLine,
  judged: JudgedTurn,
  request: VerdictRequest,
): Promise<GivenVerdict> {
  const given = await append(project, line, judged, request);
  const tip = given.line.state.tip;
  const { isNeeded, counted } = await readApproval(project, { session: line.session, tip }, judged.turn);
  const asker = await findAsker(project, { session: line.session, tip }, judged.turn);
  const isForOthers = asker !== null && !isSamePerson(given.verdict.author.email, asker.email);
  return { ...given, isEnough: !isNeeded || counted.length > 0, isForOthers };
}

async function append(
  project: Project,
  line: ReadyLine,
  judged: JudgedTurn,
  request: VerdictRequest,
): Promise<Omit<GivenVerdict, 'isEnough' | 'isForOthers'>> {
  const { turn, plan: bytes, isForeign } = judged;
  const text = toText(bytes);
  const comments = (request.comments ?? []).map((comment) => ({ line: comment.line, text: comment.text.trim() }));
  refuseInvalid(request, comments, text);
  const plan = { title: isForeign ? findPlanTitle(text).title : parsePlan(text).plan.title, isForeign };
  const verdicts = await readVerdicts(project, { tip: line.state.tip, session: line.session, turn });
  const own = await readOwnEmail(project);
  const before = lastWord(verdicts);
  const isSaid = before?.verdict === request.verdict && before.author.email === own;
  const isRepeated = isSaid && comments.length === 0 && (request.text ?? '').trim() === (before.text ?? '');
  const isWeaker = isRepeated && before !== null && (await lacksSignature(project, before));
  const isPending = judged.status === 'planned' && request.verdict === 'rejected';
  if (isRepeated && before !== null && !isPending && !isWeaker)
    return { line, verdict: before, plan, report: null, isNew: false };
  const said = { verdict: request.verdict, text: request.text, comments };
  const given = await appendVerdict(project, line, { ...judged, title: plan.title }, said);
  const judgedLine = { ...line, state: await refreshLine(project.repository.store, line) };
  if (!isPending) return { line: judgedLine, verdict: given, plan, report: null, isNew: true };
  const { report, line: closed } = await close(project, judgedLine, given);
  return { line: closed, verdict: given, plan, report, isNew: true };
}

/** Returns true if the verdict is unsigned although `teddy.sign` is now set; a person who repeats it wants to sign it. */
async function lacksSignature({ repository: { store }, settings }: Project, { commit }: Verdict): Promise<boolean> {
  if ((await settings.get('sign')) !== 'true') return false;
  const { parents } = await store.readCommit(commit);
  return !(await store.checkSignatures(commit, parents)).has(commit);
}

function refuseInvalid(
  { verdict, text = '' }: VerdictRequest,
  comments: readonly { line: number; text: string }[],
  plan: string,
): void {
  const count = plan.replace(/\n$/, '').split('\n').length;
  const odd = comments.find(({ line }) => !Number.isSafeInteger(line) || line < 1 || line > count);
  if (odd !== undefined)
    throw new TeddyError(
      'USAGE',
      `The plan has ${formatCount(count)} ${count === 1 ? 'line' : 'lines'}, so there is no line ${odd.line}.`,
      'Use the number of the line in plan.md that the comment is about, counting from 1.',
    );
  const empty = comments.find((comment) => comment.text === '');
  if (empty !== undefined)
    throw new TeddyError(
      'EMPTY_MESSAGE',
      `The comment on line ${empty.line} is empty.`,
      `Put the text after the colon: --comment ${empty.line}:"..."`,
    );
  if (verdict === 'rejected' && text.trim() === '' && comments.length === 0)
    throw new TeddyError(
      'EMPTY_MESSAGE',
      'A rejection needs a reason: the model reads it before it plans again.',
      'Pass it with `-m "..."`, or with `--comment 12:"..."` for a line in the plan; `-e` opens the plan in your editor.',
    );
}

/** Ends the turn of teddy's own plan with a report; discards the memos that it proposed. */
async function close(project: Project, line: ReadyLine, verdict: Verdict) {
  const started = project.clock.now();
  const { memos: taken, state } = await finishMemos(project, line);
  const { latest } = state;
  if (latest === null || latest.turn !== verdict.turn || latest.plan === null || latest.parsed === null)
    throw movedTurnError(verdict.turn, line.ref);
  const turn = { ...latest, plan: latest.plan, parsed: latest.parsed };
  const executed = await rejectTurn(
    { project, line: { ...line, state }, turn, started },
    taken,
    describeRejection(verdict),
  );
  return { report: executed.report, line: { ...line, state: await refreshLine(project.repository.store, line) } };
}
