/** A line's pending plan, and the files to execute it in. */
import { equalBytes } from '../../session/text/bytes.ts';
import { hasAgentPlan, userMessages } from '../../conversation/records/transcript.ts';
import { TeddyError, type ErrorCode } from '../../errors.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { ParsedPlan } from '../../plan/plan.ts';
import { joinPath, shortRef, turnDir, type RefName, type SessionId, type TurnName } from '../../names.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { lineName } from './find.ts';
import { findWayTo } from './way-to-line.ts';
import { awaitsVerdict, type LineState, type TurnState } from '../../view/view.ts';

/**
 * Returns the line's work tree. Throws NOT_ON_LINE when the line is not checked out anywhere; the hint suggests no
 * switch in a bare repository.
 */
export async function requireWorkspace(
  project: Project,
  line: { ref: RefName; workspace: Workspace | null },
): Promise<Workspace> {
  if (line.workspace) return line.workspace;
  const own = `\`teddy execute -s ${toShellWord(lineName(line))} --worktree\``;
  throw new TeddyError(
    'NOT_ON_LINE',
    `${lineName(line)} is not checked out anywhere, and executing a plan needs its files.`,
    project.repository.workspace === null
      ? `Give it a work tree: ${own}.`
      : `Give it a work tree: ${own}; or switch yours to it: \`${await findWayTo(project, line)}\`.`,
  );
}

/** A turn with a plan that waits to be executed. */
export type PendingTurn = TurnState & { plan: Uint8Array; parsed: ParsedPlan };

/** Returns the pending plan. Throws NO_PENDING_PLAN; `hint` explains what to do when no plan is waiting. */
export function requirePlan(
  { ref, state }: { ref: RefName; state: LineState },
  hint = 'Say what to do next: `teddy plan -m "..."`.',
): PendingTurn {
  const { latest } = state;
  if (latest?.status === 'planned' && latest.plan !== null && latest.parsed !== null)
    return { ...latest, plan: latest.plan, parsed: latest.parsed };
  const last = latest === null ? 'It has no turns yet.' : `Its last turn, ${latest.turn}, is ${latest.status}.`;
  if (latest !== null && awaitsVerdict(state)) throw verdictError('NO_PENDING_PLAN', { ref, turn: latest.turn });
  if (latest !== null && latest.report === null && hasAgentPlan(latest.records))
    throw new TeddyError(
      'NO_PENDING_PLAN',
      `The plan of turn ${latest.turn} on ${shortRef(ref)} was made by another agent, which carries it out itself: teddy does not execute it.`,
      `Read it: \`teddy show ${latest.turn} -s ${toShellWord(shortRef(ref))}\`. To get a plan from teddy: \`teddy plan -s ${toShellWord(shortRef(ref))} -m "..."\`.`,
    );
  throw new TeddyError(
    'NO_PENDING_PLAN',
    `${shortRef(ref)} has no plan to execute. ${last}`,
    latest?.status === 'open' && userMessages(latest.records).length > 0
      ? '`teddy plan` asks the model again; with `--from <file>` it uses an answer of your own.'
      : hint,
  );
}

/** Returns the error for another agent's plan; the agent continues once the plan is approved. */
export function verdictError(code: ErrorCode, { ref, turn }: { ref: RefName; turn: TurnName }): TeddyError {
  const option = `-s ${toShellWord(shortRef(ref))}`;
  return new TeddyError(
    code,
    `Turn ${turn} of ${shortRef(ref)} has another agent's plan, which is waiting for a verdict.`,
    `Read it: \`teddy show ${option}\`; then \`teddy approve ${option}\` or \`teddy reject ${option} -m "what to do instead"\`.`,
  );
}

/** Checks that the plan to run is the published one, before teddy asks or writes anything. Throws PLAN_MODIFIED. */
export async function refuseModified(
  workspace: Workspace,
  session: SessionId,
  { turn, plan }: PendingTurn,
): Promise<void> {
  const path = joinPath(turnDir(session, turn), 'plan.md');
  const disk = await workspace.readDisk(path);
  if (disk === null || equalBytes(disk, plan)) return;
  throw new TeddyError(
    'PLAN_MODIFIED',
    `${path} differs from the published version, and a published plan never changes.`,
    `Undo the change: \`git restore --source=HEAD --staged --worktree ${path}\`.`,
  );
}
