import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openableAgents } from '../../src/agents/agents.ts';
import { startAgentModel, type AgentModel } from '../support/agent-model-server.ts';
import { requireAgent } from '../support/real-agent.ts';

import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

const agent = requireAgent();
let model: AgentModel;
let project: TeddyProject;
let home: string;

beforeEach(async () => {
  model = await startAgentModel();
  project = await openTeddyProject();
  home = await realpath(await mkdtemp(join(tmpdir(), 'agent-home-')));
  await agent.prepare(home, model.url, project.repo.root);
});
afterEach(async () => {
  await model.close();
  await project.close();
  await rm(home, { recursive: true, force: true });
});

const records = [
  { type: 'user', message: { role: 'user', content: 'ask-01 Read both files.' } },
  { type: 'assistant', message: { role: 'assistant', content: 'say-01 I look.' } },
  { type: 'tool_use', tool_call_id: 'c1', tool_name: 'read_file', tool_input: { path: 'call-01' } },
  { type: 'tool_use', tool_call_id: 'c2', tool_name: 'mcp.read file', tool_input: { path: 'call-02' } },
  { type: 'tool_result', tool_call_id: 'c1', output: 'out-01', is_error: false },
  { type: 'tool_result', tool_call_id: 'c2', output: 'out-02 no such file', is_error: true },
  { type: 'assistant', message: { role: 'assistant', content: 'say-02 There is only one.' } },
  { type: 'user', message: { role: 'user', content: 'ask-02 Run it.' } },
  { type: 'tool_use', tool_call_id: 'c3', tool_name: 'Bash', tool_input: { command: 'call-03' } },
];

async function beginTalk(): Promise<void> {
  const lines = records.map((record, at) => {
    const said = 'message' in record ? { source: 'text' } : {};
    return JSON.stringify({
      id: `r${at}`,
      timestamp: new Date(Date.UTC(2026, 0, 24, 10, 0, at)).toISOString(),
      ...record,
      ...said,
    });
  });
  await project.repo.write('talk.jsonl', `${lines.join('\n')}\n`);
  await project.ok('session', 'import', 'talk.jsonl', '--name', 'talk');
  await rm(join(project.repo.root, 'talk.jsonl'));
}

async function open(target: string): Promise<{ id: string; path: string }> {
  const { stdout } = await project.run(['session', 'resume', '-s', target, '--with', agent.name, '--json'], {
    env: { HOME: home },
  });
  const opened = JSON.parse(stdout) as { id: string; path: string };
  await agent.adopt({ home, cwd: project.repo.root, path: opened.path });
  return opened;
}

/** Returns those among these that the model is shown, in order. */
const shown = (messages: { text: string; calls: string[] }[]) =>
  messages.flatMap(({ text, calls }) => [text, ...calls].join('\n').match(/\b(?:ask|say|call|out)-[0-9a-f]+\b/g) ?? []);

describe.runIf(openableAgents.some((name) => name === agent.name))(
  `a session opened with ${agent.name} ${agent.version}`,
  () => {
    test('is resumed with its whole history, in order, and continues in the same file', async () => {
      await beginTalk();
      const { id, path } = await open('talk');
      const read = async () =>
        agent.name === 'opencode' ? (await agent.logs(home)).map(({ text }) => text).join('') : readFile(path, 'utf8');
      const before = await read();
      model.script('K1', [{ says: 'say-03 It goes on.' }]);
      const { exitCode, output } = await agent.run({
        home,
        cwd: project.repo.root,
        prompt: 'K1 ask-03 And now?',
        resume: id,
      }).result;
      expect(output).toContain('say-03');
      expect(exitCode).toBe(0);
      const [request] = model.requests('K1');
      expect(shown(request?.messages ?? [])).toEqual(
        'ask-01 say-01 call-01 call-02 out-01 out-02 say-02 ask-02 call-03 ask-03'.split(' '),
      );
      const after = await read();
      expect(after.startsWith(before)).toBe(true);
      expect(agent.saidIn(after.slice(before.length))).toEqual(['ask-03', 'say-03']);
      // A second turn, in the same file.
      model.script('K2', [{ says: 'say-04 Still here.' }]);
      await agent.run({ home, cwd: project.repo.root, prompt: 'K2 ask-04 And then?', resume: id }).result;
      expect(shown(model.requests('K2')[0]?.messages ?? []).slice(-3)).toEqual(['ask-03', 'say-03', 'ask-04']);
      const others = (await agent.logs(home)).filter((log) => log.text.includes('ask-04'));
      expect(others.map((log) => (agent.name === 'opencode' ? log.id : log.path))).toEqual([
        agent.name === 'opencode' ? id : path,
      ]);
    });

    test('has teddy’s plans and reports, up to the requested turn', async () => {
      const session = await project.begin('add-login');
      await project.plan(createPlan('a.txt', 'A\n'), 'ask-01 Make a file.');
      await project.ok('session', 'execute', '--yes');
      await project.plan('say-02 It is there.', 'ask-02 Is it there?');
      const { id } = await open(`${session}:01`);
      model.script('K1', [{ says: 'say-05' }]);
      await agent.run({ home, cwd: project.repo.root, prompt: 'K1 ask-03 Well?', resume: id }).result;
      const messages = model.requests('K1')[0]?.messages ?? [];
      const text = messages.map((message) => message.text).join('\n');
      expect(text).toContain('## Action Plan');
      expect(text).toContain('run_summary');
      expect(messages.filter((message) => /^(?:ask|say)-02/.test(message.text))).toEqual([]);
    });

    test('by the same agent can return to it', async () => {
      model.script('K1', [
        { says: 'say-01 I look.', runs: 'echo call-01 | sed s/call/out/' },
        { says: 'say-02 It says so.' },
      ]);
      await agent.run({ home, cwd: project.repo.root, prompt: 'K1 ask-01 Run it.' }).result;
      const [log] = await agent.logs(home);
      if (log === undefined) throw new Error(`${agent.name} has left no log.`);
      await project.ok('session', 'import', await agent.toImport(home, log), '--name', 'real');
      const { id } = await open('real');
      model.script('K2', [{ says: 'say-03' }]);
      await agent.run({ home, cwd: project.repo.root, prompt: 'K2 ask-02 And?', resume: id }).result;
      const said = shown(model.requests('K2')[0]?.messages ?? []);
      expect(said).toEqual(['ask-01', 'say-01', 'call-01', 'out-01', 'say-02', 'ask-02']);
    });
  },
);
