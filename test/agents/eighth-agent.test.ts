/**
 * An agent is one folder: an eighth one is added to a copy of the source, and everything that handles agents supports
 * it.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type * as agents from '../../src/agents/agents.ts';
import type { ImportFormat, loadImportFormats } from '../../src/agents/import-formats.ts';
import type { findAgentTrace } from '../../src/agents/traces.ts';
import type { agentLogs } from '../../src/system/agents/agent-logs.ts';
import type { agentSetup } from '../../src/system/agents/agent-setup.ts';
import type { drain } from '../../src/workflow/capture/drain.ts';
import { additions } from '../support/additions.ts';
import { bundleGrown, growSource } from '../support/grown-source.ts';
import type { memoryCapture } from '../support/memory-agent-logs.ts';
import type { memoryProject } from '../support/memory-repository.ts';
import type { MemorySpool } from '../support/memory-spool.ts';

interface Grown {
  agents: typeof agents;
  loadImportFormats: typeof loadImportFormats;
  findAgentTrace: typeof findAgentTrace;
  agentLogs: typeof agentLogs;
  agentSetup: typeof agentSetup;
  drain: typeof drain;
  memoryCapture: typeof memoryCapture;
  memoryProject: typeof memoryProject;
}

const eighth = 'eighth' as agents.AgentName;

let dir: string;
let grown: Grown;

beforeAll(async () => {
  dir = await growSource(additions['capture another agent']);
  const entry = `
    export * as agents from './src/agents/agents.ts';
    export { loadImportFormats } from './src/agents/import-formats.ts';
    export { findAgentTrace } from './src/agents/traces.ts';
    export { agentLogs } from './src/system/agents/agent-logs.ts';
    export { agentSetup } from './src/system/agents/agent-setup.ts';
    export { drain } from './src/workflow/capture/drain.ts';
    export { memoryCapture } from './test/support/memory-agent-logs.ts';
    export { memoryProject } from './test/support/memory-repository.ts';`;
  grown = await bundleGrown<Grown>(dir, entry);
});
afterAll(() => rm(dir, { recursive: true }));

const time = '2026-01-24T10:00:00.000Z';

test('its session becomes a branch when its hooks call', async () => {
  const project = await grown.memoryProject();
  const capture = grown.memoryCapture(eighth);
  const path = '/home/user/.eighth/logs/s8.jsonl';
  const line = (who: string, text: string) =>
    `${JSON.stringify({ eighth: true, who, text, session: 's8', cwd: '/project', at: time })}\n`;
  capture.files.set(path, line('person', 'Sort the list') + line('model', 'It is sorted.'));
  const spool = project.spool as MemorySpool;
  spool.isOpen = true;
  const ring = (at: number, event: string) =>
    spool.calls.push({
      agent: 'eighth',
      at,
      ppid: 1,
      payload: { session_id: 's8', transcript_path: path, cwd: '/project', hook_event_name: event },
    });
  ring(1, 'Begin');
  ring(2, 'Over');
  const signal = new AbortController().signal;
  const drained = await grown.drain(project, capture, { signal, lingerMs: 0, waitMs: 0 });
  expect(drained).toMatchObject({ calls: 2, entries: 2, problems: [] });
  const lines = await project.repository.store.listRefs('refs/heads/teddy/');
  expect(lines.map(({ ref }) => ref)).toEqual(['refs/heads/teddy/20260124-eighth-sort-the-list']);
});

test('its hooks are installed and removed, its logs are found and imported, and its traces are recognized', async () => {
  const home = join(dir, 'home');
  const env = { HOME: home };
  await mkdir(join(home, '.eighth/logs'), { recursive: true });
  await writeFile(join(home, '.eighth/logs/s8.jsonl'), '{}\n');
  const source = { program: { node: process.execPath, main: 'main.js' }, readScript: async () => 'node= main=\n' };
  const setup = grown.agentSetup({ env, source });
  expect(await setup.install(eighth)).toBe(true);
  const hooks = await readFile(join(home, '.eighth/settings.json'), 'utf8');
  expect(Object.keys((JSON.parse(hooks) as { hooks: object }).hooks)).toEqual(['Begin', 'Over']);
  expect(hooks).toContain('teddy/agent-hook\\" eighth');
  expect((await setup.list()).at(-1)).toMatchObject({ title: 'The Eighth', found: true, hooks: 'installed' });
  expect(await setup.uninstall(eighth)).toBe('restored');
  const logs = grown.agentLogs({ env, spoolDir: join(dir, 'spool') });
  const found: string[] = [];
  for await (const log of logs.find([dir], 0)) found.push(`${log.agent} ${log.path}`);
  expect(found).toEqual([`eighth ${join(home, '.eighth/logs/s8.jsonl')}`]);
  expect(grown.findAgentTrace({ EIGHTH_AGENT: '1' }, [])?.seen).toContain('The Eighth started this');
  const formats = await grown.loadImportFormats();
  const text = '{"eighth":true,"who":"person","text":"Sort the list","session":"s8"}\n';
  expect(formats.detect(text)).toBe('eighth');
  const importer = formats.open('eighth' as ImportFormat, { hash: (bytes) => String(bytes), importedAt: time });
  const units = [...importer.push(text), ...importer.end()];
  expect(units.map(({ kind, branch }) => [kind, branch])).toEqual([['message', 0]]);
});
