/** The plugins that run inside opencode and pi: what they leave in the spool, and that nothing of theirs reaches the agent. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { isAlive, readBootId, readStartTime } from '../../src/disk/process-identity.ts';
import { agentSetup } from '../../src/system/agents/agent-setup.ts';
import { spool } from '../../src/system/agents/spool.ts';

type Handler = (...args: unknown[]) => Promise<void>;
type Plugin = (context: object) => Promise<{ event: Handler; 'chat.message': Handler }>;
interface Message {
  info: { id: string; sessionID: string; role: string; time?: object; error?: object };
  parts: object[];
}

const load = (name: string): Promise<Record<string, unknown>> =>
  import(new URL(`../../hooks/agents/${name}`, import.meta.url).href) as Promise<Record<string, unknown>>;

let top: string;
let root: string;
/** Reads what the server of opencode has of the session. */
let stored: Message[];

beforeEach(async () => {
  top = await realpath(await mkdtemp(join(tmpdir(), 'teddy-plugins-')));
  root = join(top, 'project');
  execFileSync('git', ['init', '--quiet', root]);
  await opened().open();
  vi.stubEnv('XDG_DATA_HOME', join(top, 'data'));
  await mkdir(join(top, 'data/teddy'), { recursive: true });
  const script = await readFile(new URL('../../hooks/agents/agent-hook', import.meta.url), 'utf8');
  await writeFile(join(top, 'data/teddy/agent-hook'), script);
  stored = [];
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(top, { recursive: true });
});

const opened = () =>
  spool({
    dir: join(root, '.git/teddy/spool'),
    clock: { now: () => new Date() },
    bootId: readBootId,
    isAlive,
    startTime: readStartTime,
  });

const client = {
  session: {
    messages: async ({ path: { id } }: { path: { id: string } }) => ({
      data: stored.filter(({ info }) => info.sessionID === id),
    }),
  },
};

async function open(directory = root, from: object = client) {
  const { default: teddy } = (await load('opencode.js')) as { default: { server: Plugin } };
  const plugin = await teddy.server({ client: from, directory });
  const tell = (type: string, properties: object) => plugin.event({ event: { type, properties } });
  return {
    tell,
    say: async (session: string, id: string, text: string) => {
      const message = { id, sessionID: session, role: 'user' };
      const parts = [{ id: `part-${id}`, messageID: id, sessionID: session, type: 'text', text }];
      await plugin['chat.message']({ sessionID: session }, { message, parts });
      await tell('message.updated', { info: message });
      for (const part of parts) await tell('message.part.updated', { part });
    },
    answer: async (session: string, id: string, text: string, end: object | null = { completed: 2 }) => {
      const info = { id, sessionID: session, role: 'assistant', time: { created: 1 } };
      const part = { id: `part-${id}`, messageID: id, sessionID: session, type: 'text' };
      await tell('message.updated', { info });
      await tell('message.part.updated', { part: { ...part, text: '' } });
      await tell('message.part.delta', { sessionID: session, messageID: id, delta: text });
      await tell('message.part.updated', { part: { ...part, text } });
      if (end !== null) await tell('message.updated', { info: { ...info, time: { created: 1, ...end } } });
    },
  };
}

const journal = async (session: string) =>
  (await readFile(join(root, '.git/teddy/spool/opencode', `${session}.jsonl`), 'utf8').catch(() => ''))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { info: { id: string }; parts: { text: string }[] })
    .map(({ info, parts }) => `${info.id} ${parts.map(({ text }) => text).join('|')}`);

async function takeBells() {
  const { calls: bells, done } = await opened().take();
  await done();
  return bells.map(
    ({ agent, payload }) => `${agent} ${String(payload['hook_event_name'])} ${String(payload['session_id'])}`,
  );
}

test('opencode: each finished message is in the journal once, and the spool has a bell for each turn', async () => {
  const { say, answer, tell } = await open();
  await tell('session.created', { info: { id: 'ses_1', version: '1.18.33' } });
  await say('ses_1', 'msg_1', 'Hello');
  await answer('ses_1', 'msg_2', 'Forty-two.');
  await answer('ses_1', 'msg_3', 'Not yet', null);
  await tell('session.idle', { sessionID: 'ses_1' });
  await tell('session.idle', { sessionID: 'ses_1' });
  expect(await journal('ses_1')).toEqual(['msg_1 Hello', 'msg_2 Forty-two.']);
  expect(await takeBells()).toEqual([
    'opencode chat.message ses_1',
    'opencode session.idle ses_1',
    'opencode session.idle ses_1',
  ]);
});

test('opencode: messages from before this process are asked for when the session goes on', async () => {
  const old = (id: string, role: string, time: object): Message => ({
    info: { id, sessionID: 'ses_1', role, time },
    parts: [{ text: `old ${id}` }],
  });
  stored = [old('msg_1', 'user', {}), old('msg_2', 'assistant', { completed: 1 }), old('msg_3', 'assistant', {})];
  const first = await open();
  await first.say('ses_1', 'msg_4', 'Go on');
  expect(await journal('ses_1')).toEqual(['msg_1 old msg_1', 'msg_2 old msg_2', 'msg_4 Go on']);
});

test('opencode: what was finished before it was killed is in the journal', async () => {
  const { say, answer, tell } = await open();
  await say('ses_1', 'msg_1', 'Run it');
  expect(await journal('ses_1')).toEqual(['msg_1 Run it']);
  const tool = { id: 'part-t', messageID: 'msg_2', sessionID: 'ses_1', type: 'tool', text: 'call' };
  await tell('message.part.updated', { part: { ...tool, state: { status: 'running' } } });
  await answer('ses_1', 'msg_2', 'I run it.');
  expect(await journal('ses_1')).toEqual(['msg_1 Run it']);
  await tell('message.part.updated', { part: { ...tool, state: { status: 'completed' } } });
  await answer('ses_1', 'msg_2', 'I run it.');
  expect(await journal('ses_1')).toEqual(['msg_1 Run it', 'msg_2 call|I run it.']);
});

test('opencode: a message that is typed while the model answers comes after the answer', async () => {
  const { say, answer } = await open();
  await say('ses_1', 'msg_1', 'Go');
  await answer('ses_1', 'msg_2', 'Going', null);
  await say('ses_1', 'msg_3', 'Faster');
  expect(await journal('ses_1')).toEqual(['msg_1 Go']);
  await answer('ses_1', 'msg_2', 'Going');
  expect(await journal('ses_1')).toEqual(['msg_1 Go', 'msg_2 Going', 'msg_3 Faster']);
});

test('opencode: a journal line that was cut costs no other', async () => {
  const { say, tell } = await open();
  await mkdir(join(root, '.git/teddy/spool/opencode'));
  await writeFile(join(root, '.git/teddy/spool/opencode/ses_1.jsonl'), '{"info":{"id":"msg_0"},"pa');
  await say('ses_1', 'msg_1', 'Hello');
  await tell('session.idle', { sessionID: 'ses_1' });
  const lines = (await readFile(join(root, '.git/teddy/spool/opencode/ses_1.jsonl'), 'utf8')).split('\n');
  expect(lines[1]).toContain('msg_1');
});

test('opencode: nothing is kept where nothing is captured, and no failure reaches the person', async () => {
  vi.stubEnv('TEDDY_CAPTURE', '0');
  const off = await open();
  await off.say('ses_1', 'msg_1', 'Hello');
  await off.tell('session.idle', { sessionID: 'ses_1' });
  vi.unstubAllEnvs();
  vi.stubEnv('XDG_DATA_HOME', join(top, 'nowhere'));
  const elsewhere = await open(top);
  await elsewhere.say('ses_1', 'msg_1', 'Hello');
  await elsewhere.tell('session.idle', { sessionID: 'ses_1' });
  expect(await journal('ses_1')).toEqual([]);
  const broken = await open(root, { session: { messages: () => Promise.reject(new Error('No server.')) } });
  await broken.say('ses_2', 'msg_1', 'Hello');
  await broken.tell('message.updated', {});
  await broken.tell('session.idle', { sessionID: '../../x' });
  await broken.tell('session.idle', { sessionID: 'ses_2' });
  expect(await journal('ses_2')).toEqual(['msg_1 Hello']);
  vi.stubEnv('XDG_DATA_HOME', join(top, 'data'));
  await broken.say('ses_2', 'msg_2', 'Again');
  expect(await takeBells()).toEqual(['opencode chat.message ses_2']);
  expect(await readdir(join(root, '.git/teddy'))).toEqual(['spool']);
  await opened().pause(true);
  await broken.say('ses_3', 'msg_1', 'Hello');
  await broken.tell('session.idle', { sessionID: 'ses_3' });
  expect(await journal('ses_3')).toEqual([]);
});

/** Stands in for opencode 2, which nobody has met here: it loads the plugin as its documentation says. */
async function openSecond(messages: object[], directory = root) {
  const { default: teddy } = (await load('opencode.js')) as {
    default: { id: string; setup(context: object): Promise<() => Promise<void>> };
  };
  const hooks = new Map<string, (event: object) => Promise<void>>();
  const waiting: object[] = [];
  let wake = () => {};
  const cleanUp = await teddy.setup({
    app: { version: '2.2.6' },
    location: { directory },
    session: {
      get: async ({ sessionID: id }: { sessionID: string }) => ({ id, title: 'A title', time: { created: 1 } }),
      context: async () => messages,
      hook: async (name: string, handler: (event: object) => Promise<void>) => void hooks.set(name, handler),
    },
    event: {
      async *subscribe({ signal }: { signal: AbortSignal }) {
        signal.addEventListener('abort', () => wake());
        while (!signal.aborted) {
          yield* waiting.splice(0);
          await new Promise<void>((next) => (wake = next));
        }
      },
    },
  });
  return {
    id: teddy.id,
    prompt: (sessionID: string) => hooks.get('prompt')?.({ sessionID }),
    tell: (...events: object[]) => (waiting.push(...events), wake()),
    cleanUp,
  };
}

const second = (type: string, more: object = {}) => ({ type, data: { sessionID: 'ses_2' }, ...more });

test('opencode 2: messages are in the journal in the form of version 1, and each end of a turn rings', async () => {
  const call = { type: 'tool', id: 'call_1', name: 'bash', time: {} };
  const messages: object[] = [{ id: 'msg_1', type: 'user', text: 'Hello', time: { created: 1 } }];
  const { id, prompt, tell, cleanUp } = await openSecond(messages);
  expect(id).toBe('teddy');
  await prompt('ses_2');
  messages.push(
    { id: 'msg_2', type: 'model-switched', time: { created: 2 } },
    {
      id: 'msg_3',
      type: 'assistant',
      model: { id: 'a-model', providerID: 'a-provider' },
      tokens: { input: 7, output: 3 },
      time: { created: 3, completed: 4 },
      content: [
        { type: 'reasoning', text: 'Hm.' },
        { type: 'text', text: 'I run it.' },
        {
          ...call,
          state: { status: 'completed', input: { command: 'ls' }, content: [{ type: 'text', text: 'a.txt' }] },
        },
      ],
    },
    {
      id: 'msg_4',
      type: 'assistant',
      content: [],
      error: { type: 'aborted', message: 'Stopped.' },
      time: { created: 5 },
    },
    { id: 'msg_5', type: 'compaction', status: 'completed', summary: 'In short.', time: { created: 6 } },
    { id: 'msg_6', type: 'assistant', content: [{ type: 'text', text: 'Not yet' }], time: { created: 7 } },
  );
  tell(second('session.text.delta'), second('session.execution.succeeded'), second('session.execution.failed'));
  tell(second('session.execution.succeeded', { location: { directory: top } }));
  await vi.waitFor(async () => expect(await journal('ses_2')).toHaveLength(4), { timeout: 5000 });
  await cleanUp();
  const lines = (await readFile(join(root, '.git/teddy/spool/opencode/ses_2.jsonl'), 'utf8')).trim().split('\n');
  const [, answer, stopped, summary] = lines.map((line) => JSON.parse(line) as Message);
  expect(answer).toMatchObject({
    info: { id: 'msg_3', role: 'assistant', modelID: 'a-model', providerID: 'a-provider', path: { cwd: root } },
    parts: [
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'I run it.' },
      { type: 'tool', callID: 'call_1', tool: 'bash', state: { status: 'completed', output: 'a.txt' } },
    ],
  });
  expect(stopped?.info.error).toEqual({ name: 'MessageAbortedError', data: { message: 'Stopped.' } });
  expect(summary).toMatchObject({ info: { summary: true }, parts: [{ text: 'In short.' }] });
  const { calls: bells } = await opened().take();
  expect(bells.map(({ payload }) => payload['hook_event_name'])).toEqual([
    'chat.message',
    'session.idle',
    'session.error',
  ]);
  expect(bells[1]?.payload).toMatchObject({ session: { id: 'ses_2', version: '2.2.6', title: 'A title' }, cwd: root });
});

test('opencode 2: no failure of the plugin reaches the person', async () => {
  const { prompt, tell, cleanUp } = await openSecond(null as never);
  await prompt('../../x');
  tell(second('session.execution.succeeded'));
  await cleanUp();
  const elsewhere = await openSecond([], top);
  await elsewhere.prompt('ses_2');
  await elsewhere.cleanUp();
  expect(await journal('ses_2')).toEqual([]);
});

test('pi: its calls ring, with the session and its file, and answer nothing', async () => {
  const { default: extend } = (await load('pi.js')) as { default: (pi: object) => void };
  const handlers = new Map<string, (event: object, context: object) => Promise<unknown>>();
  extend({ on: (name: string, handler: never) => handlers.set(name, handler) });
  const sessionManager = { getSessionId: () => 'abc', getSessionFile: () => '/sessions/abc.jsonl' };
  for (const [name, handler] of handlers)
    expect(await handler({ type: name, prompt: 'Hello' }, { cwd: root, sessionManager })).toBe(undefined);
  expect(await handlers.get('agent_end')?.({}, {})).toBe(undefined);
  const { calls: bells } = await opened().take();
  expect(bells.map(({ agent, payload }) => [agent, payload['hook_event_name']])).toEqual([
    ['pi', 'before_agent_start'],
    ['pi', 'agent_end'],
    ['pi', 'session_shutdown'],
  ]);
  expect(bells[0]?.payload).toMatchObject({ session_id: 'abc', transcript_path: '/sessions/abc.jsonl', cwd: root });
});

test('opencode loads nothing else from the file', async () => {
  expect(Object.keys(await load('opencode.js'))).toEqual(['default']);
});

test('Copilot’s own file names each event, since Copilot does not, and gets the gate only with a yes', async () => {
  const source = { program: { node: process.execPath, main: 'main.js' }, readScript: async () => 'node= main=\n' };
  const setup = agentSetup({ env: { HOME: top }, source });
  const events = async () => {
    const { hooks } = JSON.parse(await readFile(join(top, '.copilot/hooks/teddy.json'), 'utf8')) as {
      hooks: Record<string, { bash: string }[]>;
    };
    return Object.entries(hooks).map(([event, [hook]]) => `${event}: ${/copilot (\w*)/.exec(hook?.bash ?? '')?.[1]}`);
  };
  const state = async () => (await setup.list()).find(({ name }) => name === 'copilot');
  const own = ['sessionStart', 'userPromptSubmitted', 'agentStop', 'sessionEnd'].map((event) => `${event}: ${event}`);
  expect(await setup.install('copilot')).toBe(true);
  expect(await events()).toEqual(own);
  expect(await state()).toMatchObject({ hooks: 'installed', canGate: true, gate: false });
  expect(await setup.install('copilot', true)).toBe(true);
  expect(await events()).toEqual([...own, 'preToolUse: gate']);
  expect(await state()).toMatchObject({ hooks: 'installed', gate: true });
  expect(await setup.install('copilot')).toBe(false);
  expect(await setup.uninstall('copilot')).toBe('restored');
  expect(await state()).toMatchObject({ hooks: 'missing', gate: false });
});
