/** Appends a verdict on a turn's plan. */
import type { ApprovalRecord } from '../../conversation/records/record.ts';
import { TeddyError } from '../../errors.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef, type RefName, type TurnName } from '../../names.ts';
import type { VerdictWord } from '../../session/entries/entry.ts';
import { toAuthor } from '../../session/entries/logged-entry.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { append } from './append.ts';
import { labelVerdict } from './entry-labels.ts';
import { readTurnState, type LineState, type TurnStatus, type Verdict } from '../../view/view.ts';

export interface JudgedPlan {
  turn: TurnName;
  plan: Uint8Array;
  title: string;
  status: TurnStatus;
}

export interface VerdictDraft {
  verdict: VerdictWord;
  text?: string | undefined;
  comments: { line: number; text: string }[];
}

/** Appends the verdict. Throws REF_MOVED when somebody else has closed the turn or replaced the plan since it was judged. */
export async function appendVerdict(
  project: Project,
  line: { ref: RefName; workspace: Workspace | null; state?: LineState },
  judged: JudgedPlan,
  { verdict, text = '', comments }: VerdictDraft,
): Promise<Verdict> {
  const { store } = project.repository;
  const { turn } = judged;
  const sha256 = project.hash(judged.plan);
  const said: ApprovalRecord = {
    type: 'approval',
    id: project.ids.entryId(),
    timestamp: project.clock.now().toISOString(),
    verdict,
    plan_sha256: sha256,
    comments,
    ...(text.trim() === '' ? {} : { text: text.trim() }),
  };
  const { commit, records } = await append(project, line, async (state) => {
    const now = await readTurnState(store, state.entryOid, state.session, turn);
    if (now.plan === null || project.hash(now.plan) !== sha256 || now.status !== judged.status)
      throw movedTurnError(turn, line.ref);
    const label = ([masked]: readonly object[]) => labelVerdict(masked as ApprovalRecord, judged.title);
    return [{ kind: 'approval', turn, id: said.id, label, trailers: { verdict, sha256 }, records: [said] }];
  });
  const [approval] = records as ApprovalRecord[];
  return {
    verdict,
    turn,
    planSha256: sha256,
    comments: approval?.comments ?? [],
    text: approval?.text ?? null,
    commit,
    author: toAuthor((await store.readCommit(commit)).author),
    at: said.timestamp,
  };
}

export function movedTurnError(turn: TurnName, ref: RefName): TeddyError {
  return new TeddyError(
    'REF_MOVED',
    `Turn ${turn} has changed: another process has continued it.`,
    `Look at it again: \`teddy show ${turn} -s ${toShellWord(shortRef(ref))}\`.`,
  );
}
