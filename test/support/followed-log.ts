/** A Claude Code log in a test's own words, followed in an in-memory repository, and the resulting lines. */
import { decodeTranscript } from '../../src/conversation/history/decode-transcript.ts';
import { shortRef, type SessionId } from '../../src/names.ts';
import {
  advance,
  openFollower,
  settle,
  type Follower,
  type FollowOptions,
} from '../../src/workflow/capture/follow-log.ts';
import { verifySession } from '../../src/workflow/verify/session.ts';
import { claudePlans, codexPlans } from './agent-plan-fixtures.ts';
import { memoryCapture, type MemoryCapture } from './memory-agent-logs.ts';
import type { MemoryProject } from './memory-repository.ts';

export const path = '/home/user/.claude/projects/-project/s1.jsonl';
const options: FollowOptions = { cwd: null, isOurs: async () => true, isLeftOut: () => false };

const base = { sessionId: 's1', cwd: '/project', version: '2.1.330', timestamp: '2026-01-24T10:00:00.000Z' };
export const toLine = (value: object) => `${JSON.stringify({ ...base, ...value })}\n`;
export const said = (uuid: string, parentUuid: string | null, content: string) =>
  toLine({ type: 'user', uuid, parentUuid, message: { role: 'user', content } });
export const answered = (uuid: string, parentUuid: string, text: string) =>
  toLine({
    type: 'assistant',
    uuid,
    parentUuid,
    message: { id: uuid, role: 'assistant', content: [{ type: 'text', text }], stop_reason: 'end_turn' },
  });

/** The agent's part is over: everything is captured. `text`: the complete log so far. */
export async function capture(project: MemoryProject, logs: MemoryCapture, text: string): Promise<Follower> {
  logs.files.set(path, text);
  const follower = await openFollower(project, logs, { agent: 'claude-code', path }, options);
  await advance(follower);
  await settle(follower);
  return follower;
}

/** A line of Claude Code's that waits at the plan in `call`, its second by default. */
export const claudePlanWaits = (project: MemoryProject, call = 'toolu_4') =>
  planWaits(project, 'claude-code', claudePlans('2.1.330'), call);

/** A line of Codex's that waits at its second plan, which is in the answer that submits it. */
export const codexPlanWaits = (project: MemoryProject) => planWaits(project, 'codex', codexPlans(), 'turn_2-answer');

async function planWaits(
  project: MemoryProject,
  agent: 'claude-code' | 'codex',
  log: readonly object[],
  last: string,
): Promise<{ capture: MemoryCapture; session: SessionId; line: string }> {
  const logs = memoryCapture(agent);
  const lines = log.map((one) => `${JSON.stringify(one)}\n`);
  logs.files.set(path, lines.slice(0, lines.findIndex((one) => one.includes(`"${last}"`)) + 1).join(''));
  const follower = await openFollower(project, logs, { agent, path }, options);
  await advance(follower);
  if (agent === 'codex') await settle(follower);
  const [line = ''] = await linesOf(project);
  return { capture: logs, session: follower.state.log.session as SessionId, line };
}

export async function filesOf(project: MemoryProject, line: string, name: string): Promise<Record<string, string>> {
  const { store } = project.repository;
  const files: Record<string, string> = {};
  for (const { path: file, oid } of await store.listTree(await project.tipOf(line)))
    if (file.endsWith(name)) files[file.split('/').at(-2) ?? ''] = new TextDecoder().decode(await store.readBlob(oid));
  return files;
}

/** Returns the messages, by turn. */
export async function textsOf(project: MemoryProject, line: string): Promise<Record<string, string[]>> {
  const files = Object.entries(await filesOf(project, line, 'transcript.jsonl'));
  return Object.fromEntries(
    files.map(([turn, text]) => [
      turn,
      decodeTranscript(text).records.flatMap((record) =>
        (record.type === 'user' || record.type === 'assistant') && 'content' in record.message
          ? [record.message.content]
          : [],
      ),
    ]),
  );
}

export async function linesOf(project: MemoryProject): Promise<string[]> {
  return (await project.repository.store.listRefs('refs/heads/teddy/')).map(({ ref }) => shortRef(ref));
}

export async function faultsOf(project: MemoryProject): Promise<string[]> {
  const { signal } = new AbortController();
  const { lines } = await verifySession(project, { target: undefined, all: true, fsck: false, signal });
  return lines.flatMap(({ violations }) => violations.map(({ message }) => message));
}
