/** Another agent's turns on its own line, as capture writes them, without a log to follow. */
import type { AgentUnit } from '../../src/conversation/logs/agent-log.ts';
import type { AgentName } from '../../src/agents/agents.ts';
import type { Oid, RepoPath, TurnName } from '../../src/names.ts';
import type { Project } from '../../src/ports/project.ts';
import { editTree } from '../../src/session/paths/edit-tree.ts';
import { newFollowedLog } from '../../src/workflow/capture/capture.ts';
import { startState, type BranchLine, type FollowState } from '../../src/workflow/capture/decide-entries.ts';
import { appendUnits, startLine } from '../../src/workflow/capture/open-line.ts';
import { appendCode } from '../../src/workflow/capture/work-tree-snapshot.ts';

export interface CapturedTurn {
  /** Null if the log does not name it. */
  model: string | null;
  /** The files that the agent writes; null deletes one, and without files it only talks. */
  files?: Record<string, string | null>;
}

/** HEAD and the files in the work tree stay unchanged. */
export async function captureTurns(
  project: Project,
  agent: AgentName,
  turns: readonly CapturedTurn[],
): Promise<BranchLine> {
  const timestamp = '2026-01-24T10:00:00.000Z';
  const said = (id: string, content: string) => ({
    id,
    timestamp,
    source: 'import',
    message: { role: 'user', content },
  });
  const messageOf = (at: number) => ({ type: 'user', ...said(`u${at}`, `Message ${at}`) }) as const;
  const toUnits = ({ model }: CapturedTurn, at: number) => [
    { kind: 'message' as const, branch: 0, records: [messageOf(at)] },
    {
      kind: 'reply' as const,
      branch: 0,
      ...(model === null ? {} : { model, provider: 'somebody' }),
      records: [
        {
          type: 'assistant' as const,
          ...said(`a${at}`, ''),
          message: { role: 'assistant' as const, content: `Answer ${at}` },
        },
      ],
    },
  ];
  const foreign = { agent, id: `${agent}-session`, cwd: null, startedAt: timestamp };
  const first = { kind: 'message' as const, branch: 0, records: [messageOf(0)] };
  const line = await startLine(project, foreign, first as Parameters<typeof startLine>[2]);
  let state: FollowState | undefined;
  for (const [at, turn] of turns.entries()) {
    state = await writeUnits(project, line, toUnits(turn, at) as unknown as AgentUnit[], state);
    if (turn.files === undefined) continue;
    const tree = await withFiles(project, line.tip, turn.files);
    const head = await project.repository.store.resolve('HEAD');
    await appendCode(project, line, { tree, head, root: '/' }, { turn: turnOf(state), whose: `changed by ${agent}` });
  }
  return line;
}

/** Writes units on a line like its follower; returns the state after them. */
export async function writeUnits(
  project: Project,
  line: BranchLine,
  units: readonly AgentUnit[],
  state = startState(newFollowedLog('claude-code', '/log.jsonl', '')),
): Promise<FollowState> {
  const found = { opens: null, before: null, absent: new Set<string>(), isOfSession: false };
  const facts = { branch: 0, line, ...found };
  const written = await appendUnits(project, state, units, { facts, raw: [] });
  return written?.next ?? state;
}

/** The open turn. */
export function turnOf(state: FollowState): TurnName | null {
  return state.places[0]?.turn ?? null;
}

async function withFiles(
  { repository: { store } }: Project,
  commit: Oid,
  files: Record<string, string | null>,
): Promise<Oid> {
  const batch = store.batch();
  const edits = await Promise.all(
    Object.entries(files).map(async ([path, text]) => ({
      path: path as RepoPath,
      entry: text === null ? null : { mode: '100644' as const, oid: await batch.blob(text) },
    })),
  );
  const tree = await editTree(store, batch, (await store.readCommit(commit)).tree, [
    ...edits,
    { path: '.teddy' as RepoPath, entry: null },
  ]);
  await batch.flush();
  return tree;
}
