import { describe, expect } from 'vitest';
import { decodeTranscript } from '../../../src/conversation/history/decode-transcript.ts';
import type { LogLine } from '../../../src/ports/agent-logs.ts';
import { decodeEntry } from '../../../src/session/entries/entry.ts';
import { shortRef, type RefName } from '../../../src/names.ts';
import { advance, openFollower, settle, type FollowOptions } from '../../../src/workflow/capture/follow-log.ts';
import { verifySession } from '../../../src/workflow/verify/session.ts';
import type { AgentUnit } from '../../../src/conversation/logs/agent-log.ts';
import { startLine } from '../../../src/workflow/capture/open-line.ts';
import { findLine } from '../../../src/workflow/line/find.ts';
import { readAgentLogs } from '../../support/agent-logs.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';
import { memoryCapture, type MemoryCapture } from '../../support/memory-agent-logs.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { storyOf } from '../../support/turns.ts';

const path = '/home/user/.claude/projects/-project/s1.jsonl';
const log = { agent: 'claude-code', path } as const;
const options: FollowOptions = { cwd: null, isOurs: async () => true, isLeftOut: () => false };

interface Line {
  uuid: string;
  parent: string | null;
  user?: string;
  text?: string;
  /** The id of the model's answer, or else of the log line. */
  message?: string;
}

function claudeLine({ uuid, parent, user, text, message = uuid }: Line): string {
  const base = {
    uuid,
    parentUuid: parent,
    sessionId: 's1',
    cwd: '/project',
    version: '2.1.330',
    timestamp: '2026-01-24T10:00:00.000Z',
  };
  if (user !== undefined)
    return `${JSON.stringify({ type: 'user', ...base, message: { role: 'user', content: user } })}\n`;
  const content = [{ type: 'text', text }];
  const usage = { input_tokens: 10, output_tokens: 2 };
  const answer = { id: message, role: 'assistant', model: 'claude-opus', content, stop_reason: 'end_turn', usage };
  return `${JSON.stringify({ type: 'assistant', ...base, message: answer })}\n`;
}

const first = claudeLine({ uuid: 'u1', parent: null, user: 'Add a login route' });
const answer = claudeLine({ uuid: 'a1', parent: 'u1', text: 'It is there.' });
const second = claudeLine({ uuid: 'u2', parent: 'a1', user: 'And a logout' });
const secondAnswer = claudeLine({ uuid: 'a2', parent: 'u2', text: 'Done.' });

async function captureAll(project: MemoryProject, capture: MemoryCapture, text: string) {
  capture.files.set(path, text);
  const follower = await openFollower(project, capture, log, options);
  await advance(follower);
  await settle(follower);
  return follower.state.log;
}

async function violationsOf(project: MemoryProject, target: string): Promise<string[]> {
  const { lines } = await verifySession(project, {
    target,
    all: false,
    fsck: false,
    signal: new AbortController().signal,
  });
  expect(lines).toHaveLength(1);
  return lines.flatMap(({ violations }) => violations.map(({ message }) => message));
}

async function linesOf(project: MemoryProject): Promise<string[]> {
  const refs = await project.repository.store.listRefs('refs/heads/teddy/');
  return refs.map(({ ref }) => shortRef(ref));
}

async function textsOf(project: MemoryProject, ref: string): Promise<string[]> {
  const { store } = project.repository;
  const tip = await store.resolve(ref);
  if (tip === null) return [];
  const texts: string[] = [];
  for (const { path: file, oid } of await store.listTree(tip)) {
    if (!file.endsWith('transcript.jsonl')) continue;
    for (const record of decodeTranscript(new TextDecoder().decode(await store.readBlob(oid))).records)
      if ((record.type === 'user' || record.type === 'assistant') && 'content' in record.message)
        texts.push(record.message.content);
  }
  return texts;
}

describe('the name of a line', () => {
  async function startAll(titles: string[]) {
    const notices: string[] = [];
    const notes = { info: (text: string) => notices.push(text), warn: () => undefined };
    const project = { ...(await memoryProject()), notices: notes } as unknown as MemoryProject;
    const names = [];
    for (const [at, title] of titles.entries()) {
      const timestamp = new Date(Date.UTC(2026, 0, 24, 8, at)).toISOString();
      const record = {
        type: 'user',
        id: `u${at}`,
        timestamp,
        source: 'capture',
        message: { role: 'user', content: title },
      };
      const unit = { kind: 'message', branch: 0, records: [record] } as unknown as AgentUnit;
      const foreign = { agent: at % 2 === 0 ? 'claude-code' : 'codex', id: `s${at}`, cwd: null, startedAt: timestamp };
      names.push(shortRef((await startLine(project, foreign, unit)).ref));
    }
    return { project, names, notices };
  }
  test('has at most 40 characters, including some of the title', async () => {
    const titles = [
      'Create hello',
      'Explain how all of the parsers here work together',
      'ок'.repeat(40),
      '日本語の題名'.repeat(9),
    ];
    const { names } = await startAll([...titles, '🚀 !?', '', 'x'.repeat(90)]);
    expect(names).toEqual([
      'teddy/20260124-claude-code-create-hello',
      'teddy/20260124-codex-explain-how-all-of',
      `teddy/20260124-claude-code-${'ок'.repeat(6)}о`,
      `teddy/20260124-codex-${'日本語の題名'.repeat(4).slice(0, 19)}`,
      'teddy/20260124-claude-code',
      'teddy/20260124-codex',
      `teddy/20260124-claude-code-${'x'.repeat(13)}`,
    ]);
  });

  test('gets a number if two names begin alike; then the newest session is found, which is reported', async () => {
    const { project, names, notices } = await startAll(
      Array.from({ length: 25 }, () => 'Explain how the parser works, please'),
    );
    expect(new Set(names).size).toBe(25);
    expect(names.filter((name) => name.length > 40)).toEqual([]);
    expect(names.slice(0, 3)).toEqual([
      'teddy/20260124-claude-code-explain-how',
      'teddy/20260124-codex-explain-how-the',
      'teddy/20260124-claude-code-explain-how-2',
    ]);
    const newest = names.findLast((name) => name.includes('claude')) as string;
    expect(shortRef((await findLine(project, 'claude-code-explain')).ref)).toBe(newest);
    await findLine(project, 'claude-code-explain');
    expect(notices).toEqual([`Using ${newest.slice('teddy/'.length)}, the newest of 13 sessions with this name.`]);
    await expect(findLine(project, 'explain')).rejects.toMatchObject({ code: 'AMBIGUOUS_SESSION' });
  });
});

describe('a log becomes a line', () => {
  test('named after the agent and the first message, with the agent, the model and the tokens', async () => {
    const project = await memoryProject();
    const followed = await captureAll(project, memoryCapture('claude-code'), first + answer);
    expect(await linesOf(project)).toEqual(['teddy/20260124-claude-code-add-a-login']);
    const ref = followed.branches[0]?.ref as RefName;
    const tip = await project.tipOf(shortRef(ref));
    expect((await storyOf(project, tip)).slice(-3)).toEqual(['start', 'message 01', 'reply 01']);
    const entry = decodeEntry((await project.repository.store.readCommit(tip)).message);
    expect(entry).toMatchObject({ model: 'claude-opus', tokens: { input: 10, output: 2 } });
    expect(followed).toMatchObject({ id: 's1', entries: 2, model: 'claude-opus', agentVersion: '2.1.330' });
    expect(await violationsOf(project, followed.session ?? '')).toEqual([]);
  });

  test('without changing HEAD, the index or the user’s branches', async () => {
    const project = await memoryProject();
    const before = await project.repository.workspace.head();
    await captureAll(project, memoryCapture('claude-code'), first + answer);
    expect(await project.repository.workspace.head()).toEqual(before);
    expect(await linesOf(project)).toHaveLength(1);
  });

  test('that continues where it stopped, and reads nothing twice', async () => {
    const project = await memoryProject();
    const capture = memoryCapture('claude-code');
    await captureAll(project, capture, first + answer);
    capture.read = 0;
    const followed = await captureAll(project, capture, first + answer + second + secondAnswer);
    expect(capture.read).toBe(Buffer.byteLength(second + secondAnswer));
    const tip = await project.tipOf('teddy/20260124-claude-code-add-a-login');
    expect((await storyOf(project, tip)).slice(-5)).toEqual([
      'start',
      'message 01',
      'reply 01',
      'message 02',
      'reply 02',
    ]);
    expect(followed.entries).toBe(4);
  });

  slowTest('with the same entries if the log is cut at every 19th byte and read twice', async () => {
    const whole = first + answer + second + secondAnswer;
    const bytes = Buffer.from(whole);
    const expected = ['Add a login route', 'It is there.', 'And a logout', 'Done.'];
    for (let cut = 0; cut <= bytes.length; cut += 19) {
      const project = await memoryProject();
      const capture = memoryCapture('claude-code');
      await captureAll(project, capture, bytes.subarray(0, cut).toString());
      await captureAll(project, capture, whole);
      const [line] = await linesOf(project);
      expect(await textsOf(project, `refs/heads/${line}`), `cut at ${cut}`).toEqual(expected);
    }
  });

  test('that has nothing twice if its state is lost and the log is reread from the start', async () => {
    const project = await memoryProject();
    const capture = memoryCapture('claude-code');
    await captureAll(project, capture, first + answer);
    capture.saved.clear();
    const followed = await captureAll(project, capture, first + answer + second + secondAnswer);
    expect(await linesOf(project)).toHaveLength(1);
    const tip = await project.tipOf('teddy/20260124-claude-code-add-a-login');
    expect((await storyOf(project, tip)).slice(-5)).toEqual([
      'start',
      'message 01',
      'reply 01',
      'message 02',
      'reply 02',
    ]);
    expect(followed.entries).toBe(2);
  });

  test('unless it belongs to another repository', async () => {
    const project = await memoryProject();
    const capture = memoryCapture('claude-code');
    capture.files.set(path, first + answer);
    const follower = await openFollower(project, capture, log, { ...options, isOurs: async () => false });
    await advance(follower);
    expect(follower.state.log.stopped).toBe('elsewhere');
    expect(await linesOf(project)).toEqual([]);
  });
});

async function* withLongLine(lines: AsyncIterable<LogLine>): AsyncIterable<LogLine> {
  yield { number: 1, text: null };
  for await (const { number, text } of lines) yield { number: number + 1, text };
}

describe('a changed log', () => {
  test('that has shrunk and grown again adds nothing twice', async () => {
    const project = await memoryProject();
    const capture = memoryCapture('claude-code');
    await captureAll(project, capture, first + answer + second + secondAnswer);
    await captureAll(project, capture, first);
    await captureAll(project, capture, first + answer + second + secondAnswer);
    const [line] = await linesOf(project);
    expect(await textsOf(project, `refs/heads/${line}`)).toHaveLength(4);
  });

  test('with an overlong line is counted, and nothing of that line is kept', async () => {
    const project = await memoryProject();
    const capture = memoryCapture('claude-code');
    const { read } = capture.logs;
    capture.logs.read = async (file, position) => {
      const reading = await read(file, position);
      return reading === null || position !== null ? reading : { ...reading, lines: withLongLine(reading.lines) };
    };
    const followed = await captureAll(project, capture, first + answer);
    expect(followed).toMatchObject({ unknown: 1, entries: 2 });
    const tip = await project.tipOf('teddy/20260124-claude-code-add-a-login');
    const files = await project.repository.store.listTree(tip);
    expect(files.filter(({ path: file }) => file.endsWith('raw.jsonl'))).toEqual([]);
  });

  test('that was deleted is reported as vanished, and the entries read from it stay', async () => {
    const project = await memoryProject();
    const capture = memoryCapture('claude-code');
    await captureAll(project, capture, first + answer);
    capture.files.clear();
    const follower = await openFollower(project, capture, log, options);
    await advance(follower);
    expect(follower.state.log).toMatchObject({ stopped: 'vanished', entries: 2 });
  });
});

describe('a user who goes back', () => {
  test('gets a conversation branch before the turn, and the first attempt stays on the line', async () => {
    const project = await memoryProject();
    const again = claudeLine({ uuid: 'u3', parent: 'a1', user: 'And a password reset' });
    const resetAnswer = claudeLine({ uuid: 'a3', parent: 'u3', text: 'Reset is there.' });
    const capture = memoryCapture('claude-code');
    await captureAll(project, capture, first + answer + second + secondAnswer);
    const followed = await captureAll(project, capture, first + answer + second + secondAnswer + again + resetAnswer);
    const main = 'teddy/20260124-claude-code-add-a-login';
    expect(await linesOf(project)).toEqual([main, `${main}--02-branch-01`]);
    expect(await textsOf(project, `refs/heads/${main}--02-branch-01`)).toEqual([
      'Add a login route',
      'It is there.',
      'And a password reset',
      'Reset is there.',
    ]);
    expect(await textsOf(project, `refs/heads/${main}`)).toHaveLength(4);
    for (const line of [main, `${main}--02-branch-01`]) expect(await violationsOf(project, line), line).toEqual([]);
    expect(followed.branches).toHaveLength(2);
  });
});

slowTest('the logs of all agents become lines without faults', async () => {
  for (const { agent, name, lines } of readAgentLogs()) {
    const project = await memoryProject();
    const capture = memoryCapture(agent);
    capture.files.set(path, lines.map(({ text }) => `${text}\n`).join(''));
    const follower = await openFollower(project, capture, { agent, path }, options);
    await advance(follower);
    await settle(follower);
    for (const line of await linesOf(project))
      expect(await violationsOf(project, line), `${name}: ${line}`).toEqual([]);
  }
});
