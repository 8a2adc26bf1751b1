/** Checks that an approval's record agrees with its trailers and, on request, that every plan has an approval. */
import type { PlanRecord, TranscriptRecord } from '../../conversation/records/record.ts';
import { parseReport } from '../../plan/report/report-yaml.ts';
import { joinPath, turnDir, type Oid, type TurnName } from '../../names.ts';
import { parseIdent } from '../../session/entries/logged-entry.ts';
import type { Violation } from '../../session/entries/violation.ts';
import { toText } from '../../view/view.ts';
import type { LineWatch, Step, WalkedLine } from './walked-line.ts';

/** `others` requires an approval from somebody who did not write the message. */
export type NeededApproval = 'anybody' | 'others';

export function checkApproval(walk: WalkedLine, { entry, blame }: Step): void {
  if (entry.kind !== 'approval' || entry.turn === null) return;
  const path = joinPath(turnDir(walk.session, entry.turn), 'transcript.jsonl');
  const record = recordsOf(walk, entry.turn).find((one) => one.type === 'approval' && one.id === entry.id);
  if (record?.type !== 'approval') return blame('published', path, 'An approval has no record in the transcript.');
  if (record.verdict !== entry.verdict)
    blame('trailers', path, `The record says ${record.verdict}, but Teddy-Verdict says ${entry.verdict ?? 'nothing'}.`);
  if (record.plan_sha256 !== entry.sha256)
    blame('trailers', path, 'The record names a different sha256 from Teddy-Sha256.');
}

/** A plan on the line, with everything that determines whether it counts as approved. */
interface JudgedPlan {
  turn: TurnName;
  sha256: string | undefined;
  /**
   * The commit where the plan went ahead, because teddy or the agent executed it. Null when the plan is waiting or the
   * user refused it.
   */
  ranIn: Oid | null;
  /** True when teddy asked the user about every action that ran. */
  wasAsked: boolean;
  /** Null for teddy's own plan. */
  record: PlanRecord | null;
}

export function watchApprovals(needed: NeededApproval): LineWatch {
  const plans = new Map<TurnName, JudgedPlan>();
  const askers = new Map<TurnName, { commit: Oid; email: string }>();
  const verdicts = new Map<TurnName, { commit: Oid; email: string; verdict: string; sha256: string | undefined }[]>();
  /** An agent's plan, until its outcome is certain. */
  let waiting: JudgedPlan | null = null;
  return {
    async see(walk, { commit, entry }) {
      const { kind, turn, sha256 } = entry;
      if (turn === null) return;
      const asker = { commit: commit.oid, email: parseIdent(commit.commit.author).email.toLowerCase() };
      const plan = plans.get(turn);
      // A question about the plan does not count as a request for it.
      if (kind === 'message' && plan === undefined) askers.set(turn, asker);
      if (waiting !== null && !followPlan(waiting, walk, { commit, entry })) waiting = null;
      if (kind === 'plan') {
        const record = recordsOf(walk, turn).find(({ type }) => type === 'plan') as PlanRecord | undefined;
        const judged = { turn, sha256, ranIn: null, wasAsked: false, record: record ?? null };
        plans.set(turn, judged);
        if (record !== undefined) waiting = judged;
        if (!askers.has(turn)) askers.set(turn, asker);
      } else if (kind === 'approval' && entry.verdict !== undefined && entry.verdict !== 'none')
        verdicts.set(turn, [...(verdicts.get(turn) ?? []), { ...asker, verdict: entry.verdict, sha256 }]);
      else if (kind === 'report' && plan !== undefined) {
        const { ran, wasAsked } = await readRun(walk, { commit, entry });
        if (ran) Object.assign(plan, { ranIn: commit.oid, wasAsked });
      }
    },
    violations(keysOf) {
      return [...plans].flatMap(([turn, plan]): Violation[] => {
        if (plan.ranIn === null) return [];
        const said = (verdicts.get(turn) ?? []).filter(({ sha256 }) => sha256 === plan.sha256);
        const since = said.slice(said.findLastIndex(({ verdict }) => verdict === 'rejected') + 1);
        if (needed === 'anybody' && (since.length > 0 || plan.wasAsked)) return [];
        const asker = askers.get(turn);
        const isOther = (one: { commit: Oid; email: string }) =>
          asker === undefined ||
          (one.email !== asker.email &&
            (keysOf === null || !keysOf(one.commit).some((key) => keysOf(asker.commit).includes(key))));
        if (needed === 'others' && since.some(isOther)) return [];
        const whose = needed === 'others' ? 'by somebody who did not write its message' : '';
        const did = plan.record !== null ? 'The agent carried out its plan' : 'The plan was run';
        const message = `${did} without an approval ${whose}`.trimEnd();
        return [{ rule: 'approval', commit: plan.ranIn, turn, path: null, message: `${message}.` }];
      });
    },
  };
}

/** Returns false once the plan's outcome is certain. */
function followPlan(
  plan: JudgedPlan,
  walk: WalkedLine,
  { commit, entry: { kind, turn } }: Pick<Step, 'commit' | 'entry'>,
): boolean {
  const callId = plan.record?.tool_call_id;
  // An agent that plans again was refused. For a plan that exists only in words, the user's next message decides.
  if (kind === 'plan') plan.ranIn = null;
  if (kind === 'plan' || (kind === 'message' && (callId !== undefined || plan.ranIn !== null))) return false;
  if (kind === 'message') plan.ranIn = commit.oid;
  if (callId === undefined || turn !== plan.turn || plan.ranIn !== null) return true;
  const records = recordsOf(walk, turn);
  const answer = records.find((one) => one.type === 'tool_result' && one.tool_call_id === callId);
  if (answer?.type !== 'tool_result') return true;
  if (!answer.is_error) plan.ranIn = commit.oid;
  // Claude Code marks a refusal as an error; others express it in words.
  const isMarked = records.some(
    (one) => one.type === 'tool_use' && one.tool_call_id === callId && one.tool_name === 'ExitPlanMode',
  );
  return !answer.is_error && !isMarked;
}

function recordsOf({ current }: WalkedLine, turn: TurnName): readonly TranscriptRecord[] {
  return current !== null && current.turn === turn ? current.records : [];
}

/** Another check reports an unreadable report as a separate fault; its plan counts as executed. */
async function readRun(walk: WalkedLine, { commit, entry }: Pick<Step, 'commit' | 'entry'>) {
  const path = joinPath(turnDir(walk.session, entry.turn as TurnName), 'report.md');
  const content = await commit.contents.get(path)?.read();
  if (content?.kind !== 'bytes') return { ran: true, wasAsked: false };
  try {
    const logs = parseReport(toText(content.bytes)).action_logs;
    const ran = logs.filter(({ approved_by }) => approved_by !== 'none');
    return { ran: ran.length > 0, wasAsked: ran.every(({ approved_by }) => approved_by === 'user') };
  } catch {
    return { ran: true, wasAsked: false };
  }
}
