import { describe, expect, test } from 'vitest';
import { renderTurn } from '../../../src/cli/render/turn.ts';
import { openTerminal } from '../../../src/cli/terminal.ts';
import { decodeTranscript } from '../../../src/conversation/history/decode-transcript.ts';
import { decodeEntry } from '../../../src/session/entries/entry.ts';
import { shortRef, type RefName } from '../../../src/names.ts';
import { listRecentCaptures } from '../../../src/workflow/capture/capture.ts';
import { listSessions } from '../../../src/workflow/review/list-sessions.ts';
import { showTurn } from '../../../src/workflow/review/show-turn.ts';
import { drain, type Drained } from '../../../src/workflow/capture/drain.ts';
import { sweepWhenFree } from '../../../src/workflow/capture/sweep.ts';
import { memoryContext } from '../../support/cli-context.ts';
import type { MemorySpool } from '../../support/memory-spool.ts';
import { memoryCapture, type MemoryCapture } from '../../support/memory-agent-logs.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { memoryWorkTree } from '../../support/memory-work-trees.ts';
import { storyOf } from '../../support/turns.ts';

const path = '/home/user/.claude/projects/-project/s1.jsonl';
const line = 'teddy/20260124-claude-code-add-a-file';
const options = { signal: new AbortController().signal, lingerMs: 0, waitMs: 50 };

const base = { sessionId: 's1', cwd: '/project', version: '2.1.330' };
const at = (seconds: number) => `2026-01-24T10:00:${String(seconds).padStart(2, '0')}.000Z`;
const prompt = `${JSON.stringify({ type: 'user', uuid: 'u1', parentUuid: null, ...base, timestamp: at(0), message: { role: 'user', content: 'Add a file' } })}\n`;
const answer = `${JSON.stringify({ type: 'assistant', uuid: 'a1', parentUuid: 'u1', ...base, timestamp: at(9), message: { id: 'm1', role: 'assistant', model: 'claude-opus', content: [{ type: 'text', text: 'It is there.' }], stop_reason: 'end_turn' } })}\n`;

const use = { type: 'tool_use', id: 't1', name: 'Write', input: { file_path: 'b.txt' } };
const call = `${JSON.stringify({ type: 'assistant', uuid: 'c1', parentUuid: 'u1', ...base, timestamp: at(2), message: { id: 'm0', role: 'assistant', content: [use], stop_reason: 'tool_use' } })}\n`;
const result = `${JSON.stringify({ type: 'user', uuid: 'r1', parentUuid: 'c1', ...base, timestamp: at(3), message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'written' }] } })}\n`;
/** The same message once more. */
const again = prompt.replace('"u1"', '"u2"').replace('"parentUuid":null', '"parentUuid":"a1"');

interface Setting {
  project: MemoryProject;
  spool: MemorySpool;
  capture: MemoryCapture;
}

async function setUp(): Promise<Setting> {
  const project = await memoryProject();
  const spool = project.spool as MemorySpool;
  spool.isOpen = true;
  return { project, spool, capture: memoryCapture('claude-code') };
}

function ring({ spool }: Setting, event: string, more: Record<string, unknown> = {}): void {
  const payload = { session_id: 's1', transcript_path: path, cwd: '/project', hook_event_name: event, ...more };
  spool.calls.push({ agent: 'claude-code', at: 1, ppid: 1, payload });
}

const run = ({ project, capture }: Setting): Promise<Drained | null> => drain(project, capture, options);

async function story({ project }: Setting, branch = line): Promise<string[]> {
  const all = await storyOf(project, await project.tipOf(branch));
  return all.slice(all.indexOf('start'));
}

async function linesOf({ project }: Setting): Promise<string[]> {
  return (await project.repository.store.listRefs('refs/heads/teddy/')).map(({ ref }) => shortRef(ref));
}

test('an agent that waits with its plan is followed, although it writes the plan after its call', async () => {
  const setting = await setUp();
  setting.capture.files.set(path, prompt);
  const payload = { event: 'gate', session_id: 's1', transcript_path: path, cwd: '/project' };
  setting.spool.calls.push({ agent: 'claude-code', at: 1, ppid: 1, payload });
  const stop = new AbortController();
  const draining = drain(setting.project, setting.capture, { ...options, signal: stop.signal, lingerMs: 60_000 });
  await expect.poll(() => linesOf(setting)).toEqual([line]);
  setting.capture.files.set(path, prompt + answer + again);
  await expect.poll(() => story(setting), { timeout: 10_000 }).toContain('message 02');
  stop.abort();
  await expect(draining).rejects.toMatchObject({ code: 'INTERRUPTED' });
});

describe('the hooks in a turn', () => {
  test('record the message and the answer, with the changes by the user and the agent around them', async () => {
    const setting = await setUp();
    await setting.project.write({ 'a.txt': 'an edit of the user\n' });
    setting.capture.files.set(path, prompt);
    ring(setting, 'UserPromptSubmit', { prompt: 'Add a file' });
    await run(setting);
    await setting.project.write({ 'b.txt': 'made by the agent\n' });
    setting.capture.files.set(path, prompt + answer);
    ring(setting, 'Stop', { last_assistant_message: 'It is there.' });
    const drained = await run(setting);
    expect(drained).toMatchObject({ calls: 1, problems: [] });
    expect(await story(setting)).toEqual(['start', 'snapshot', 'message 01', 'reply 01', 'snapshot 01']);
    const { store } = setting.project.repository;
    const tip = await setting.project.tipOf(line);
    expect(decodeEntry((await store.readCommit(tip)).message)).toMatchObject({
      title: '1 file changed by claude-code',
    });
    expect(setting.spool.calls).toEqual([]);
  });

  test('do not take a call from within a turn for its beginning', async () => {
    const project = await memoryProject();
    const setting = { project, spool: project.spool as MemorySpool, capture: memoryCapture('antigravity') };
    setting.spool.isOpen = true;
    const log = '/home/user/brain/s1/.system_generated/logs/transcript_full.jsonl';
    setting.capture.logs.locate = async () => log;
    const step = (index: number, source: string, type: string, content: string) =>
      `${JSON.stringify({ step_index: index, source, type, status: 'DONE', created_at: at(index), content })}\n`;
    const calls = async (text: string, invocationNum: number) => {
      setting.capture.files.set(log, text);
      const payload = { conversationId: 's1', workspacePaths: ['/project'], invocationNum, event: 'PreInvocation' };
      setting.spool.calls.push({ agent: 'antigravity', at: 1, ppid: 1, payload });
      expect(await run(setting)).toMatchObject({ calls: 1, problems: [] });
    };
    const first = step(0, 'USER_EXPLICIT', 'USER_INPUT', 'Add a file');
    await project.write({ 'a.txt': 'an edit of the user\n' });
    await calls(first, 0);
    await project.write({ 'b.txt': 'made by the agent\n' });
    const second = first + step(1, 'MODEL', 'PLANNER_RESPONSE', 'Done.');
    await calls(second, 1);
    await calls(second + step(2, 'USER_EXPLICIT', 'USER_INPUT', 'Hurry'), 2);
    const [own = ''] = await linesOf(setting);
    expect(await story(setting, own)).toEqual(['start', 'snapshot', 'message 01', 'reply 01', 'message 02']);
  });

  test('change nothing when they fire twice', async () => {
    const setting = await setUp();
    setting.capture.files.set(path, prompt + answer);
    for (let time = 0; time < 2; time += 1) {
      ring(setting, 'UserPromptSubmit', { prompt: 'Add a file' });
      ring(setting, 'Stop', { last_assistant_message: 'It is there.' });
      await run(setting);
    }
    expect(await story(setting)).toEqual(['start', 'message 01', 'reply 01']);
  });

  test('record the agent’s changes even if the text of the turn was read earlier', async () => {
    const setting = await setUp();
    const { files, saved } = setting.capture;
    // The user went back: the open turn is on a conversation branch.
    const again = prompt.replace('"uuid":"u1"', '"uuid":"u2"').replace('Add a file', 'Add it otherwise');
    const other = answer.replace('"a1"', '"a2"').replace('"u1"', '"u2"').replace('"m1"', '"m2"');
    files.set(path, prompt + answer + again + other);
    await sweepAll(setting);
    const lines = await linesOf(setting);
    expect(lines).toHaveLength(2);
    const branch = lines.find((one) => one !== line) ?? '';
    await setting.project.write({ 'b.txt': 'made by the agent\n' });
    // With the state that a drainer saved, and without it.
    for (const forget of [() => undefined, () => saved.clear()]) {
      forget();
      ring(setting, 'Stop', { last_assistant_message: 'It is there.' });
      await run(setting);
      expect((await story(setting)).at(-1)).toBe('reply 01');
      expect((await story(setting, branch)).filter((one) => one.startsWith('snapshot'))).toHaveLength(1);
      expect((await story(setting, branch)).at(-1)).toMatch(/^snapshot/);
      expect(await linesOf(setting)).toEqual(lines);
    }
  });

  test.each([
    [
      'another work tree is on the line by then',
      ({ project }: Setting) => void project.linked.push(memoryWorkTree(`refs/heads/${line}` as RefName)),
    ],
    [
      'others have brought code to the line by then',
      async ({ project }: Setting) => {
        await project.switchTo(line);
        await project.commit('Mine\n', { 'mine.txt': 'mine\n' });
        await project.switchTo('main');
      },
    ],
  ])('leave the line unchanged if %s, and report it', async (_, meanwhile) => {
    const setting = await setUp();
    setting.capture.files.set(path, prompt + answer);
    await sweepAll(setting);
    await meanwhile(setting);
    const tip = await setting.project.tipOf(line);
    await setting.project.write({ 'b.txt': 'made by the agent\n' });
    ring(setting, 'Stop', { last_assistant_message: 'It is there.' });
    expect(await run(setting)).toMatchObject({
      problems: [expect.stringContaining(`${line} is checked out elsewhere, or has somebody else's code`)],
    });
    expect(await setting.project.tipOf(line)).toBe(tip);
  });

  test('take a sub-agent’s work since a drainer was killed before it saved its position', async () => {
    const setting = await setUp();
    const { files, saved, logs } = setting.capture;
    const helper = '/home/user/.claude/projects/-project/s1/subagents/agent-x.jsonl';
    logs.subAgents = async () => [{ path: helper, callId: null, description: '' }];
    files.set(path, prompt + answer);
    const work = [prompt, answer, call.replace('"parentUuid":"u1"', '"parentUuid":"a1"'), result];
    for (const count of [2, 2, 4, 4]) {
      files.set(helper, work.slice(0, count).join(''));
      ring(setting, 'Stop', { last_assistant_message: 'It is there.' });
      await run(setting);
      saved.set(path, { ...saved.get(path), folded: {} });
    }
    const file = `.teddy/sessions/${line.slice('teddy/'.length)}/01/transcript.jsonl`;
    const text = await setting.project.readAt(await setting.project.tipOf(line), file);
    const notes = decodeTranscript(text ?? '').records.flatMap((one) => (one.type === 'note' ? [one] : []));
    expect(notes.map(({ id }) => id)).toEqual(['agent-x', 'agent-x-2']);
    expect(notes.flatMap(({ records = [] }) => records.map(({ type }) => type))).toEqual(
      'user assistant tool_use tool_result'.split(' '),
    );
  });

  test('take nothing from a session in another repository, nor from its sub-agents', async () => {
    const setting = await setUp();
    const { files, logs } = setting.capture;
    const helper = '/home/user/.claude/projects/-project/s1/subagents/agent-x.jsonl';
    logs.subAgents = async () => [{ path: helper, callId: null, description: '' }];
    const elsewhere = (prompt + answer).replaceAll('"cwd":"/project"', '"cwd":"/other"');
    files.set(path, elsewhere);
    files.set(helper, elsewhere);
    ring(setting, 'Stop', { last_assistant_message: 'It is there.' });
    expect(await run(setting)).toMatchObject({ entries: 0, problems: [] });
    expect(await setting.project.repository.store.listRefs('refs/heads/teddy/')).toEqual([]);
  });

  test('record the messages if the log was deleted before anybody read it', async () => {
    const setting = await setUp();
    ring(setting, 'UserPromptSubmit', { prompt: 'Add a file' });
    ring(setting, 'Stop', { last_assistant_message: 'It is there.' });
    await run({
      ...setting,
      capture: { ...setting.capture, logs: { ...setting.capture.logs, stat: async () => null } },
    });
    expect(await story(setting)).toEqual(['start', 'message 01', 'reply 01']);
  });

  test('at the end of a session leave time for the last lines of the log', async () => {
    const setting = await setUp();
    const { files } = setting.capture;
    files.set(path, prompt + call);
    ring(setting, 'SessionEnd', { reason: 'other' });
    setTimeout(() => files.set(path, prompt + call + result), 150);
    await drain(setting.project, setting.capture, { ...options, waitMs: 10_000 });
    expect(await story(setting)).toEqual(['start', 'message 01', 'exchange 01']);
    const tip = await setting.project.tipOf(line);
    const file = `.teddy/sessions/${line.slice('teddy/'.length)}/01/transcript.jsonl`;
    expect(await setting.project.readAt(tip, file)).toContain('"output":"written"');
  });

  test('of a killed agent end its turn, and keep everything it had written', async () => {
    const setting = await setUp();
    setting.capture.files.set(path, prompt + call);
    setting.capture.isAlive = async () => false;
    ring(setting, 'UserPromptSubmit', { prompt: 'Add a file' });
    await drain(setting.project, setting.capture, { ...options, lingerMs: 60_000 });
    expect(await story(setting)).toEqual(['start', 'message 01', 'exchange 01']);
  });

  test('add nothing twice if they fire again, or if another drainer has read the message', async () => {
    const setting = await setUp();
    setting.capture.files.set(path, prompt);
    ring(setting, 'UserPromptSubmit', { prompt: 'Add a file' });
    await run(setting);
    setting.capture.files.clear();
    for (let time = 0; time < 2; time += 1) {
      ring(setting, 'UserPromptSubmit', { prompt: 'Add a file' });
      ring(setting, 'Stop', { last_assistant_message: 'It is there.' });
      await run(setting);
    }
    expect(await story(setting)).toEqual(['start', 'message 01', 'reply 01']);
  });

  test('answer in the turn that a killed drainer had begun, although the log is gone', async () => {
    const setting = await setUp();
    setting.capture.files.set(path, prompt + answer);
    ring(setting, 'UserPromptSubmit', { prompt: 'Add a file' });
    await run(setting);
    setting.capture.files.clear();
    ring(setting, 'Stop', { last_assistant_message: 'It is there.' });
    await run(setting);
    expect(await story(setting)).toEqual(['start', 'message 01', 'reply 01']);
  });

  test.each([
    ['after its answer was read, do not repeat it', prompt + answer, ['reply 01']],
    ['before its answer was read, give it', prompt + answer + again, ['reply 01', 'message 02', 'reply 02']],
  ])('that join the pieces of an answer, of a log that was deleted %s', async (_, read, told) => {
    const setting = await setUp();
    setting.capture.files.set(path, read);
    await sweepAll(setting);
    setting.capture.files.clear();
    ring(setting, 'UserPromptSubmit', { prompt: 'Add a file' });
    ring(setting, 'Stop', { prompt_response: 'It is there. is there.' });
    await run(setting);
    expect(await story(setting)).toEqual(['start', 'message 01', ...told]);
  });

  test('that fire all together attribute every change to the agent', async () => {
    const setting = await setUp();
    await setting.project.write({ 'b.txt': 'made by the agent\n' });
    setting.capture.files.set(path, prompt + answer);
    ring(setting, 'UserPromptSubmit', { prompt: 'Add a file' });
    ring(setting, 'Stop', { last_assistant_message: 'It is there.' });
    await run(setting);
    expect(await story(setting)).toEqual(['start', 'message 01', 'reply 01', 'snapshot 01']);
  });

  test('in a directory that no longer exists still vouch for the session', async () => {
    const setting = await setUp();
    setting.capture.logs.topOf = async () => null;
    const elsewhere = (prompt + answer).replaceAll('"cwd":"/project"', '"cwd":"/linked"');
    setting.capture.files.set(path, elsewhere);
    ring(setting, 'Stop', { last_assistant_message: 'It is there.', cwd: '/linked' });
    await run(setting);
    expect(await story(setting)).toEqual(['start', 'message 01', 'reply 01']);
  });

  test('of a session whose line was deleted record the rest once the line is back', async () => {
    const setting = await setUp();
    setting.capture.files.set(path, prompt);
    await sweepAll(setting);
    const { store } = setting.project.repository;
    const tip = await setting.project.tipOf(line);
    const ref = `refs/heads/${line}` as RefName;
    await store.updateRefs([{ ref, old: tip, new: null }], 'test');
    setting.capture.files.set(path, prompt + answer);
    ring(setting, 'Stop', { last_assistant_message: 'It is there.' });
    expect(await run(setting)).toMatchObject({ problems: [] });
    expect(setting.capture.saved.get(path)).toMatchObject({ stopped: 'line-gone' });
    expect(await linesOf(setting)).toEqual([]);
    await sweepAll(setting);
    await store.updateRefs([{ ref, old: null, new: tip }], 'test');
    await sweepAll(setting);
    expect(await story(setting)).toEqual(['start', 'message 01', 'reply 01']);
  });

  test('in a turn that is still being followed are kept if the drain is interrupted, which is reported', async () => {
    const setting = await setUp();
    const { project, capture } = setting;
    capture.files.set(path, prompt);
    ring(setting, 'UserPromptSubmit', { prompt: 'Add a file' });
    const signal = AbortSignal.timeout(300);
    const ended = drain(project, capture, { ...options, lingerMs: 600_000, signal });
    await expect(ended).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(await story(setting)).toEqual(['start', 'message 01']);
    expect(setting.spool.calls).toEqual([]);
  });

  test('of an unknown agent are reported as a problem without further effect', async () => {
    const setting = await setUp();
    setting.spool.calls.push({ agent: 'other', at: 1, ppid: 1, payload: {} });
    const problems = ['An agent that teddy does not recognize called a hook: other.'];
    expect(await run(setting)).toMatchObject({ problems });
    expect(setting.capture.saved.get('last-drain')).toMatchObject({ problems });
    await sweepAll(setting);
    expect(setting.capture.saved.get('last-drain')).toMatchObject({ problems: [] });
    expect(await linesOf(setting)).toEqual([]);
  });

  test('of an excluded session keep its log out, also from sweeps', async () => {
    const setting = await setUp();
    setting.capture.files.set(path, prompt + answer);
    setting.spool.calls.push({ agent: 'claude-code', at: 1, ppid: 1, payload: { session_id: 's1', left_out: true } });
    await run(setting);
    await sweepAll(setting);
    expect(await linesOf(setting)).toEqual([]);
  });
});

function sweepAll({ project, capture }: Setting) {
  const { signal } = options;
  return sweepWhenFree(project, capture, { signal, sinceMs: 0, pause: async () => undefined, onBusy: () => undefined });
}

describe('without hooks', () => {
  test('a sweep makes the same entries', async () => {
    const [hooked, swept] = [await setUp(), await setUp()];
    for (const { capture } of [hooked, swept]) capture.files.set(path, prompt + answer);
    ring(hooked, 'UserPromptSubmit', { prompt: 'Add a file' });
    ring(hooked, 'Stop', { last_assistant_message: 'It is there.' });
    await run(hooked);
    const { logs } = await sweepAll(swept);
    expect(logs).toMatchObject([{ agent: 'claude-code', line, entries: 2, records: 2 }]);
    expect(await story(swept)).toEqual(await story(hooked));
    const idsOf = async ({ project }: Setting) => {
      const ids: string[] = [];
      for await (const { commit } of project.repository.store.firstParents(await project.tipOf(line))) {
        const entry = decodeEntry(commit.message);
        if (entry !== null && entry.kind !== 'snapshot') ids.push(entry.id);
      }
      return ids;
    };
    expect(await idsOf(swept)).toEqual(await idsOf(hooked));
  });

  test('a sub-agent’s work that could not be written is taken by the next sweep', async () => {
    const setting = await setUp();
    const { files, logs } = setting.capture;
    const { store } = setting.project.repository;
    const helper = '/home/user/.claude/projects/-project/s1/subagents/agent-x.jsonl';
    logs.subAgents = async () => [{ path: helper, callId: null, description: '' }];
    const { find } = logs;
    logs.find = async function* (...wanted) {
      for await (const one of find(...wanted)) if (one.path === path) yield one;
    };
    files.set(path, prompt + answer);
    await sweepAll(setting);
    files.set(helper, prompt + answer);
    ring(setting, 'Stop', { last_assistant_message: 'It is there.' });
    const { updateRefs } = store;
    store.updateRefs = () => Promise.reject(new Error('No space left.'));
    expect(await run(setting)).toMatchObject({ problems: [expect.stringContaining('No space left.')] });
    store.updateRefs = updateRefs;
    expect(await sweepAll(setting)).toMatchObject({ unchanged: 0, logs: [{ path }], problems: [] });
    expect(await sweepAll(setting)).toMatchObject({ unchanged: 1, logs: [] });
    expect((await story(setting)).at(-1)).toBe('reply 01');
    expect((await story(setting)).filter((one) => one === 'reply 01')).toHaveLength(2);
  });

  test('a log that has not changed is not reread', async () => {
    const setting = await setUp();
    setting.capture.files.set(path, prompt + answer);
    await sweepAll(setting);
    setting.capture.read = 0;
    expect(await sweepAll(setting)).toMatchObject({ logs: [], unchanged: 1 });
    expect(setting.capture.read).toBe(0);
  });

  test('nothing is swept if capturing is off or paused', async () => {
    const setting = await setUp();
    setting.spool.isOpen = false;
    await expect(sweepAll(setting)).rejects.toMatchObject({ code: 'NOT_CAPTURED' });
    setting.spool.isOpen = true;
    await setting.spool.pause(true);
    await expect(sweepAll(setting)).rejects.toMatchObject({ code: 'NOT_CAPTURED' });
  });

  test('an interrupted sweep reports it and keeps its results, and the next sweep continues', async () => {
    const setting = await setUp();
    const { project, capture } = setting;
    const other = '/home/user/.claude/projects/-project/s2.jsonl';
    capture.files.set(path, prompt + answer);
    capture.files.set(other, (prompt + answer).replaceAll('"s1"', '"s2"').replaceAll(/"([ua])1"/g, '"$1-2"'));
    const controller = new AbortController();
    const wanted = { signal: controller.signal, sinceMs: 0, pause: async () => undefined, onBusy: () => undefined };
    const cut = sweepWhenFree(project, capture, { ...wanted, onLog: () => controller.abort() });
    await expect(cut).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(await linesOf(setting)).toEqual([line]);
    expect(await sweepAll(setting)).toMatchObject({ unchanged: 1, logs: [{ path: other, entries: 2 }] });
  });

  test('unreadable and unknown records are counted', async () => {
    const setting = await setUp();
    setting.capture.files.set(path, `${prompt}{"type":"strange"}\n{"type":"assistant","mess\n${answer}`);
    const { logs } = await sweepAll(setting);
    expect(logs).toMatchObject([
      {
        leftOut: [
          { what: 'lines of unknown types', count: 1 },
          { what: 'lines that could not be read', count: 1 },
        ],
      },
    ]);
  });

  test('work from a pause stays out', async () => {
    const setting = await setUp();
    setting.capture.files.set(path, prompt + answer);
    setting.spool.nowMs = Date.parse(at(5));
    await setting.spool.pause(true);
    setting.spool.nowMs = Date.parse(at(30));
    await setting.spool.pause(false);
    const { logs } = await sweepAll(setting);
    expect(await story(setting)).toEqual(['start', 'message 01']);
    expect(logs).toMatchObject([{ leftOut: [{ what: 'records from a pause', count: 1 }] }]);
  });
});

describe('a captured line', () => {
  async function captureOne(log: string): Promise<Setting> {
    const setting = await setUp();
    setting.capture.files.set(path, log);
    ring(setting, 'Stop');
    await run(setting);
    return setting;
  }

  test('is shown with the agent and its model', async () => {
    const counted = answer.replace('"stop_reason"', '"usage":{"input_tokens":3,"output_tokens":2},"stop_reason"');
    const { project } = await captureOne(prompt + counted);
    expect(await showTurn(project, { selector: line })).toMatchObject({ agent: 'claude-code', model: 'claude-opus' });
  });

  test('is listed with the last message, not with the snapshot after it', async () => {
    const setting = await captureOne(prompt + answer);
    await setting.project.write({ 'b.txt': 'made by the agent\n' });
    ring(setting, 'Stop');
    await run(setting);
    expect((await story(setting)).at(-1)).toBe('snapshot 01');
    expect(await listSessions(setting.project)).toMatchObject([{ title: 'It is there.', agent: 'claude-code' }]);
  });

  test('counts as recent until it is archived or deleted', async () => {
    const { project, capture } = await captureOne(prompt + answer);
    expect(await listRecentCaptures(project, capture)).toMatchObject([{ line, turn: '01' }]);
    const ref = `refs/heads/${line}` as RefName;
    await project.repository.store.updateRefs([{ ref, old: await project.tipOf(line), new: null }], 'archive');
    expect(await listRecentCaptures(project, capture)).toEqual([]);
  });

  test('titles an entry that only has thinking with the thought', async () => {
    const content = [{ type: 'thinking', thinking: 'The routes come first.\nThen the rest.', signature: 'x' }];
    const thought = answer.replace(/"content":\[.*\],/, `"content":${JSON.stringify(content)},`);
    const { project } = await captureOne(prompt + thought);
    const shown = await showTurn(project, { selector: line });
    const view = '`teddy view 20260124-claude-code-add-a-file`';
    expect(renderTurn(openTerminal(memoryContext(), 'never'), shown)).toContain(`  not shown 1 thought (${view})\n`);
    expect(shown.entries.map(({ entry }) => entry?.title)).toContain('thinking: The routes come first.');
  });
});
