/** Codex CLI, by OpenAI. */
import { dirname, join } from 'node:path';
import { asText, fieldsOf, hasText } from '../../conversation/records/import-values.ts';
import { parseObject } from '../../session/text/parse-object.ts';
import type { Agent, AgentFiles, AgentGate, PlacedHook } from '../agent.ts';

/**
 * The hook that runs at the end of each turn; in plan mode, Codex asks about the plan after it. It can send the model
 * back to plan again, but cannot answer the question.
 */
const planGate: AgentGate = {
  event: 'Stop',
  // Long, because the hook waits for the user; Esc ends it.
  entry: { timeout: 3600 },
  async readCall(payload, { readText }) {
    const [path, turn] = [asText(payload['transcript_path']), asText(payload['turn_id'])];
    const plan = path === undefined ? undefined : findLastPlan(await readText(path), turn);
    return path === undefined || plan === undefined ? null : { callId: null, path, plan };
  },
  answer: ({ isApproved, reason }) => (isApproved ? { systemMessage: reason } : { decision: 'block', reason }),
};

/** Returns the plan with which the turn ends; undefined if there is none, or if a hook has sent the model back since. */
function findLastPlan(log: string, turn: string | undefined): string | undefined {
  for (const line of log.split('\n').toReversed()) {
    // Most lines are long, and do not matter here.
    if (!line.includes('"event_msg"')) continue;
    const payload = fieldsOf(parseObject(line)?.['payload']);
    const item = fieldsOf(payload['item']);
    const isOver = payload['type'] === 'task_started' || item['type'] === 'HookPrompt';
    if (isOver || (item['type'] === 'Plan' && payload['turn_id'] !== turn)) return undefined;
    if (item['type'] === 'Plan') return asText(item['text']);
  }
  return undefined;
}

export const codex: Agent = {
  title: 'Codex',
  program: 'codex',
  disclosedAs: 'Codex',
  traces: {
    version: '0.169.0',
    variables: ['CODEX_SANDBOX', 'CODEX_SANDBOX_NETWORK_DISABLED', 'CODEX_CI', 'CODEX_THREAD_ID', 'CODEX_SESSION_ID'],
    programs: ['codex', 'codex-exec', 'codex-linux-sandbox'],
    scripts: ['/node_modules/@openai/codex/'],
  },
  home: { directory: '.codex', variable: 'CODEX_HOME' },
  hooks: {
    file: 'hooks.json',
    events: {
      SessionStart: 'other',
      UserPromptSubmit: 'turn-begins',
      Stop: 'turn-ends',
      Interrupt: 'turn-ends',
      SessionEnd: 'session-ends',
    },
    entry: { timeout: 10 },
    gate: planGate,
    areTrusted,
    async findProblem({ path }, files) {
      const config = configBeside(path);
      const { features } = await files.readToml(config);
      return fieldsOf(features)['hooks'] === false
        ? `Codex runs no hooks: features.hooks is false in ${config}.`
        : null;
    },
  },
  mcpFile: 'config.toml',
  logs: {
    root: (home) => join(home, 'sessions'),
    depth: 3,
    isLog: (name) => name.startsWith('rollout-'),
    // A fork comes after its origin, whichever of them Codex wrote to last.
    isNamedByTime: true,
  },
  log: async () => (await import('./log.ts')).codexLog,
  openWith: {
    uuid: 7,
    toPath(_cwd, { id, startedAt }) {
      const [date = '', time = ''] = toLocalTime(startedAt).split('T');
      return join('sessions', ...date.split('-'), `rollout-${date}T${time.replaceAll(':', '-')}-${id}.jsonl`);
    },
    async readProvider(home, files) {
      // Codex's default also replaces a value that Codex would refuse.
      const { model_provider: provider } = await files.readToml(join(home, 'config.toml'));
      return hasText(provider) ? provider : 'openai';
    },
    resume: (id) => `codex resume ${id}`,
    render: async () => (await import('./session.ts')).renderCodexSession,
  },
};

function configBeside(path: string): string {
  return join(dirname(path), 'config.toml');
}

/** Codex runs a hook only if the user has trusted it, and records the trust by file, event and index. */
async function areTrusted(hooks: readonly PlacedHook[], path: string, files: AgentFiles): Promise<boolean> {
  const { hooks: settings } = await files.readToml(configBeside(path));
  const notes = fieldsOf(fieldsOf(settings)['state']);
  const paths = [path, await files.realPath(path)];
  return hooks.every(({ event, at }) => {
    const snake = event.replace(/(?!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
    return paths.some((file) => {
      const note = fieldsOf(notes[`${file}:${snake}:${at[0]}:${at[1]}`]);
      return typeof note['trusted_hash'] === 'string' && note['enabled'] !== false;
    });
  });
}

/** Returns the user's local time as `2026-11-24T09:30:00`. */
function toLocalTime(date: Date): string {
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
