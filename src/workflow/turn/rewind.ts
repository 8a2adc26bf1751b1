/** Goes back to the end of a turn, on a separate conversation branch. Adds nothing, and loses nothing. */
import { userMessages } from '../../conversation/records/transcript.ts';
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { mayFollowTurn, decodeEntry } from '../../session/entries/entry.ts';
import {
  conversationBranchRef,
  parseTurnName,
  shortRef,
  toTurnName,
  turnNumber,
  type Oid,
  type RefName,
  type TurnName,
} from '../../names.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { readTakenBranches } from './branch-session.ts';
import { prepareLineOf, type ReadyLine } from '../line/prepare.ts';
import { findTurn, type LineState } from '../../view/view.ts';
import { switchOrDelete } from '../line/switch.ts';
import { moveRefs } from '../line/move-refs.ts';

export interface RewindRequest {
  turn: string;
  selector?: string | undefined;
}

export interface Rewound {
  from: ReadyLine;
  ref: RefName;
  turn: TurnName;
  commit: Oid;
}

/**
 * Makes the branch and switches to it. The branch is numbered after the next turn on it. Throws UNKNOWN_TURN,
 * NO_WORK_TREE; TURN_OPEN or PLAN_PENDING when the turn has not ended yet; FILES_IN_THE_WAY when edits prevent the
 * switch, in which case it deletes the new branch again.
 */
export async function rewindTurn(project: Project, request: RewindRequest): Promise<Rewound> {
  parseTurnName(request.turn);
  const line = await prepareLineOf(project, request, { forks: true });
  const place = line.workspace ?? project.repository.workspace;
  if (!place) {
    throw new TeddyError(
      'NO_WORK_TREE',
      'A bare repository has no files to restore.',
      'Run the command in a work tree, or use `teddy branch <turn> --no-switch`.',
    );
  }
  const { state } = line;
  const turn = findTurn(state, request.turn);
  refuseUnended(state, turn, line);
  const commit = await findEnd(project, state, turn);
  const ref = await createBranch(project, state, turn, commit);
  await switchOrDelete(project, place, ref, commit);
  return { from: line, ref, turn, commit };
}

/** Refuses an unfinished turn; only a line's latest turn can be unfinished. */
function refuseUnended({ latest }: LineState, turn: TurnName, line: ReadyLine): void {
  if (latest?.turn !== turn || (latest.status !== 'open' && latest.status !== 'planned')) return;
  const isSaid = userMessages(latest.records).length > 0;
  const waiting = isSaid ? 'it is waiting for an answer' : 'it has no message yet';
  const reason = latest.status === 'open' ? waiting : 'its plan is pending';
  // A detached HEAD has no branch name, and a command uses it by default.
  const name = line.ref === 'HEAD' ? null : shortRef(line.ref);
  const option = name === null ? '' : ` -s ${toShellWord(name)}`;
  throw new TeddyError(
    latest.status === 'open' ? 'TURN_OPEN' : 'PLAN_PENDING',
    `Turn ${turn} of ${name ?? line.session} has not ended, so you cannot go back to its end: ${reason}.`,
    `To go back to its beginning: \`teddy branch ${turn}${option}\`.`,
  );
}

/** Finds the turn's newest entry, except later ones such as an undo of its code. */
async function findEnd(project: Project, state: LineState, turn: TurnName): Promise<Oid> {
  for await (const { oid, commit } of project.repository.store.firstParents(state.tip)) {
    const entry = decodeEntry(commit.message);
    if (entry?.session === state.session && entry.turn === turn && !mayFollowTurn(entry.kind)) return oid;
  }
  throw new TeddyError(
    'UNKNOWN_TURN',
    `The commits of turn ${turn} are not in this clone.`,
    'A shallow clone may lack them: `git fetch --unshallow`.',
  );
}

async function createBranch(project: Project, state: LineState, turn: TurnName, commit: Oid): Promise<RefName> {
  const taken = await readTakenBranches(project, state.session);
  for (let number = 1; ; number += 1) {
    const name = toTurnName(turnNumber(turn) + 1, number);
    if (taken.has(name)) continue;
    const ref = conversationBranchRef(state.session, name);
    if (await moveRefs(project, [{ ref, old: null, new: commit }], `rewound to turn ${turn}`)) return ref;
  }
}
