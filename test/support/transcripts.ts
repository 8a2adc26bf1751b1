/** Turns as in a tree, written in one commit, for histories that no command has made. */
import type { TranscriptRecord } from '../../src/conversation/records/record.ts';
import { encodeRecord } from '../../src/conversation/records/transcript.ts';
import type { Project } from '../../src/ports/project.ts';
import { parseLineRef, turnDir, type Oid, type RefName, type RepoPath, type TurnName } from '../../src/names.ts';
import { append } from '../../src/workflow/line/append.ts';

export interface WrittenTurn {
  /** Records, or raw lines. */
  records?: (TranscriptRecord | string)[];
  plan?: string;
  report?: string;
}

let ids = 0;

function toBase(): { id: string; timestamp: string } {
  return { id: `record-${(ids += 1)}`, timestamp: '2026-01-24T10:00:00.000Z' };
}

export function userSays(content: string, source = 'text'): TranscriptRecord {
  return { type: 'user', ...toBase(), message: { role: 'user', content }, source };
}

export function assistantSays(content: string, source = 'text'): TranscriptRecord {
  return { type: 'assistant', ...toBase(), message: { role: 'assistant', content }, source };
}

/** `plan.md`, `report.md`, or another file. */
export function assistantWrites(file: string): TranscriptRecord {
  return { type: 'assistant', ...toBase(), message: { role: 'assistant', file }, source: 'plan' };
}

export function calls(callId: string, name: string, input: unknown): TranscriptRecord {
  return { type: 'tool_use', ...toBase(), tool_call_id: callId, tool_name: name, tool_input: input };
}

export function brings(callId: string, output: unknown, isError = false): TranscriptRecord {
  return { type: 'tool_result', ...toBase(), tool_call_id: callId, output, is_error: isError };
}

/** One `reply` entry with these turns on the branch; returns its commit. */
export async function writeTurns(project: Project, branch: string, turns: Record<string, WrittenTurn>): Promise<Oid> {
  const ref = `refs/heads/${branch}` as RefName;
  const session = parseLineRef(ref)?.session;
  if (session === undefined) throw new Error(`${branch} is no line.`);
  const { workspace } = project.repository;
  const isHere = (await workspace?.head())?.ref === ref;
  const files = Object.entries(turns).flatMap(([turn, { records = [], plan, report }]) => {
    const dir = turnDir(session, turn as TurnName);
    const lines = records.map((record) => (typeof record === 'string' ? `${record}\n` : encodeRecord(record)));
    return Object.entries({
      'transcript.jsonl': lines.join('') || undefined,
      'plan.md': plan,
      'report.md': report,
    }).flatMap(([name, bytes]) => (bytes === undefined ? [] : [{ path: `${dir}/${name}` as RepoPath, bytes }]));
  });
  const { commit } = await append(project, { ref, workspace: isHere ? workspace : null }, () => [
    {
      kind: 'reply',
      turn: (Object.keys(turns).at(-1) ?? '01') as TurnName,
      label: { title: 'Written', details: [] },
      code: { files },
    },
  ]);
  return commit;
}
