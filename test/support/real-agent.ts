/**
 * Real agents against a model on loopback, each run with its own home. Their programs come from `npm run test:agents`.
 *
 *   const agent = requireAgent();
 *   await agent.prepare(home, server.url, repository);
 *   const run = agent.run({ home, cwd: repository, prompt: 'K1 Say it' });
 *   const { exitCode } = await run.result;
 */
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { AgentName } from '../../src/agents/agents.ts';

export interface AgentRunOptions {
  home: string;
  cwd: string;
  prompt: string;
  /** The agent's id for the session to resume. */
  resume?: string;
  /** Continues in a copy of the resumed session. */
  fork?: boolean;
  /** Without it, the agent may not run commands. */
  mayRun?: boolean;
  /** It may call the tools in `teddy mcp`, which this file tells Claude Code to start. */
  mcpConfig?: string;
  env?: Record<string, string>;
}

export interface AgentResult {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  output: string;
  ms: number;
}

export interface RunningAgent {
  /** The id of the agent's process group. */
  pid: number;
  result: Promise<AgentResult>;
  /** To the agent alone, like a person's Ctrl-C; SIGKILL goes to all processes it has started. */
  kill(signal: NodeJS.Signals): void;
}

export interface RealAgent {
  name: AgentName;
  version: string;
  canFork: boolean;
  prepare(home: string, url: string, cwd: string): Promise<void>;
  run(options: AgentRunOptions): RunningAgent;
  /** Its own logs, oldest first. */
  logs(home: string): Promise<AgentOwnLog[]>;
  /** Returns the path of a file with this session that `teddy session import` reads. */
  toImport(home: string, log: AgentOwnLog): Promise<string>;
  /** Makes the session that `teddy resume --with` has written one of the agent's own. */
  adopt(options: { home: string; cwd: string; path: string }): Promise<void>;
  /** The tokens (see `tokensIn`) in the complete records of a log that have a message or a call. */
  saidIn(log: string): string[];
}

interface Kind {
  canFork: boolean;
  logFolder: string;
  environment(home: string, url: string): Record<string, string>;
  prepare(home: string, url: string, cwd: string): Promise<void>;
  args(options: AgentRunOptions): string[];
  isSaid(record: Record<string, any>): boolean;
  /** The session's id, where the log's path does not contain it. */
  idIn?(text: string): string | undefined;
  /** For an agent that keeps no logs. */
  readLogs?(program: string, home: string): Promise<AgentOwnLog[]>;
  /** Prints a session in the form that `teddy session import` reads. */
  exportSession?(program: string, home: string, id: string): Promise<string>;
  /** Makes the session in this file one of the agent's own. */
  adopt?(program: string, options: { home: string; cwd: string; path: string }): Promise<void>;
}

interface AgentOwnLog {
  path: string;
  id: string;
  text: string;
}

const kinds: Partial<Record<AgentName, Kind>> = {
  'claude-code': {
    canFork: true,
    logFolder: '.claude/projects',
    environment: (_home, url) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'mock-key',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
    }),
    prepare: async () => undefined,
    args({ prompt, resume, fork = false, mayRun = true, mcpConfig }) {
      const session = resume === undefined ? [] : ['--resume', resume, ...(fork ? ['--fork-session'] : [])];
      const [mcp, tools] = mcpConfig === undefined ? [[], []] : [['--mcp-config', mcpConfig], ['mcp__teddy']];
      const allowed = mayRun ? ['--allowedTools', 'Bash', 'Agent', 'Task', ...tools] : ['--disallowedTools', 'Write'];
      return ['-p', ...session, ...mcp, '--permission-mode', 'default', ...allowed, '--', prompt];
    },
    isSaid: ({ type, isMeta }) => (type === 'user' && isMeta !== true) || type === 'assistant',
  },
  codex: {
    canFork: true,
    logFolder: '.codex/sessions',
    environment: () => ({ OPENAI_API_KEY: 'mock-key' }),
    async prepare(home, url, cwd) {
      await mkdir(join(home, '.codex'), { recursive: true });
      const provider = `[model_providers.mock]\nname = "mock"\nbase_url = "${url}/v1"\nenv_key = "OPENAI_API_KEY"\nwire_api = "responses"\n`;
      const head = 'model = "mock-model"\nmodel_provider = "mock"\napproval_policy = "never"\n';
      // Without these it looks for the network at every start, and waits for it.
      const offline = '[analytics]\nenabled = false\n[features]\nplugins = false\napps = false\n';
      const trust = `[projects.${JSON.stringify(cwd)}]\ntrust_level = "trusted"\n`;
      await writeFile(join(home, '.codex', 'config.toml'), `${head}${provider}${offline}${trust}`);
    },
    args({ prompt, resume, fork = false, mayRun = true }) {
      const session = resume === undefined ? [] : [fork ? 'fork' : 'resume', resume];
      const sandbox = `sandbox_mode="${mayRun ? 'danger-full-access' : 'read-only'}"`;
      return ['exec', ...session, '-c', sandbox, '--dangerously-bypass-hook-trust', prompt];
    },
    isSaid: ({ type, payload }) =>
      type === 'response_item' && ['message', 'function_call', 'function_call_output'].includes(payload?.type),
  },
  copilot: {
    canFork: false,
    logFolder: '.copilot/session-state',
    environment: (_home, url) => ({
      COPILOT_OFFLINE: 'true',
      COPILOT_AUTO_UPDATE: 'false',
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_API_KEY: 'mock-key',
      COPILOT_MODEL: 'gpt-4.1',
    }),
    prepare: async () => undefined,
    args({ prompt, resume, mayRun = true }) {
      const session = resume === undefined ? [] : [`--resume=${resume}`];
      return [...session, mayRun ? '--allow-all-tools' : '--deny-tool=shell', '-p', prompt];
    },
    isSaid: ({ type }) => ['user.message', 'assistant.message', 'tool.execution_complete'].includes(type),
  },
  gemini: {
    canFork: false,
    logFolder: '.gemini/tmp',
    environment: (_home, url) => ({
      GEMINI_API_KEY: 'mock-key',
      GOOGLE_GEMINI_BASE_URL: url,
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
    }),
    async prepare(home) {
      await mkdir(join(home, '.gemini'), { recursive: true });
      const settings = {
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
      };
      const path = join(home, '.gemini/settings.json');
      // The hooks may be there already.
      await writeFile(path, JSON.stringify(settings), { flag: 'wx' }).catch(ignoreExisting);
    },
    args({ prompt, resume, mayRun = true }) {
      const session = resume === undefined ? [] : ['--resume', resume];
      return [...session, '--model', 'gemini-2.5-flash', '--approval-mode', mayRun ? 'yolo' : 'default', '-p', prompt];
    },
    isSaid: ({ type }) => type === 'user' || type === 'gemini',
    idIn: (text) => /"sessionId":"([^"]+)"/.exec(text)?.[1],
  },
  opencode: {
    canFork: false,
    logFolder: '.local/share/opencode',
    environment: () => ({ OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_AUTOUPDATE: '1' }),
    async prepare(home, url) {
      const folder = join(home, '.config/opencode');
      await mkdir(folder, { recursive: true });
      const options = { baseURL: `${url}/v1`, apiKey: 'mock-key' };
      const mock = {
        npm: '@ai-sdk/openai-compatible',
        name: 'mock',
        options,
        models: { 'mock-model': { name: 'mock' } },
      };
      const config = { model: 'mock/mock-model', provider: { mock }, autoupdate: false };
      await writeFile(join(folder, 'opencode.json'), JSON.stringify(config));
    },
    args({ prompt, resume }) {
      const session = resume === undefined ? [] : ['--session', resume];
      // It puts an argument that has spaces between quotation marks.
      return ['run', ...session, '--model', 'mock/mock-model', ...prompt.split(' ')];
    },
    isSaid: ({ info }) => info.role === 'user' || info.time?.completed !== undefined || info.error !== undefined,
    async readLogs(program, home) {
      const parts =
        'select json_group_array(json(data)) from (select data from part where message_id = m.id order by id)';
      const query = `select session_id as session, json_object('info', json(data), 'parts', json((${parts}))) as line from message m order by id`;
      const path = join(home, '.local/share/opencode/opencode.db');
      if (!existsSync(path)) return [];
      const { stdout } = await execute(program, ['db', query, '--format', 'json'], { cwd: home, env: bare(home) });
      const logs = new Map<string, string>();
      for (const { session, line } of JSON.parse(stdout) as { session: string; line: string }[])
        logs.set(session, `${logs.get(session) ?? ''}${line}\n`);
      return [...logs].map(([id, text]) => ({ path, id, text }));
    },
    async exportSession(program, home, id) {
      return (await execute(program, ['export', id], { cwd: home, env: bare(home) })).stdout;
    },
    async adopt(program, { home, cwd, path }) {
      await execute(program, ['import', path], { cwd, env: bare(home) });
    },
  },
  pi: {
    canFork: false,
    logFolder: '.pi/agent/sessions',
    environment: () => ({ PI_OFFLINE: '1' }),
    async prepare(home, url) {
      const folder = join(home, '.pi/agent');
      await mkdir(folder, { recursive: true });
      const provider = { baseUrl: `${url}/v1`, api: 'openai-completions', apiKey: 'mock-key' };
      const models = { providers: { mock: { ...provider, models: [{ id: 'mock-model' }] } } };
      await writeFile(join(folder, 'models.json'), JSON.stringify(models));
      const settings = { defaultProvider: 'mock', defaultModel: 'mock-model' };
      await writeFile(join(folder, 'settings.json'), JSON.stringify(settings));
    },
    args: ({ prompt, resume }) => [...(resume === undefined ? [] : ['--session', resume]), '-p', prompt],
    isSaid: ({ type }) => type === 'message',
  },
  qwen: {
    canFork: false,
    logFolder: '.qwen/projects',
    environment: (_home, url) => ({
      OPENAI_API_KEY: 'mock-key',
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_MODEL: 'mock-model',
    }),
    prepare: async () => undefined,
    args({ prompt, resume, mayRun = true }) {
      const session = resume === undefined ? [] : ['--resume', resume];
      return ['--auth-type', 'openai', ...session, '--approval-mode', mayRun ? 'yolo' : 'plan', '-p', prompt];
    },
    isSaid: ({ type }) => ['user', 'assistant', 'tool_result'].includes(type),
  },
};

const execute = promisify(execFile);

function bare(home: string): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', HOME: home, TERM: 'dumb' };
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

/** The agent that this test run is about. */
export function requireAgent(): RealAgent {
  const { AGENT_NAME = '', AGENT_VERSION = '', AGENT_PROGRAM = '' } = process.env;
  const kind = kinds[AGENT_NAME as AgentName];
  if (kind === undefined || AGENT_PROGRAM === '')
    throw new Error('AGENT_NAME and AGENT_PROGRAM name no agent; `npm run test:agents` sets them.');
  const urls = new Map<string, string>();
  return {
    name: AGENT_NAME as AgentName,
    version: AGENT_VERSION,
    canFork: kind.canFork,
    async prepare(home, url, cwd) {
      urls.set(home, url);
      await kind.prepare(home, url, cwd);
    },
    run(options) {
      const environment = kind.environment(options.home, urls.get(options.home) ?? '');
      return startAgent(AGENT_PROGRAM, kind.args(options), { ...options, env: { ...environment, ...options.env } });
    },
    async toImport(home, { id, path }) {
      if (kind.exportSession === undefined) return path;
      const exported = join(home, `${id}.json`);
      await writeFile(exported, await kind.exportSession(AGENT_PROGRAM, home, id));
      return exported;
    },
    async adopt(options) {
      await kind.adopt?.(AGENT_PROGRAM, options);
    },
    async logs(home) {
      if (kind.readLogs !== undefined) return kind.readLogs(AGENT_PROGRAM, home);
      const folder = join(home, kind.logFolder);
      const names = await readdir(folder, { recursive: true }).catch(() => []);
      const paths = names.filter((name) => name.endsWith('.jsonl')).sort();
      return Promise.all(
        paths.map(async (name) => {
          const text = await readFile(join(folder, name), 'utf8');
          const id = kind.idIn?.(text) ?? /([0-9a-f-]{36})(?:\/events)?\.jsonl$/.exec(name)?.[1] ?? name;
          return { path: join(folder, name), id, text };
        }),
      );
    },
    saidIn: (log) =>
      log
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Record<string, any>)
        .filter(kind.isSaid)
        .flatMap((record) =>
          tokensIn(JSON.stringify(record['message'] ?? record['payload'] ?? record['data'] ?? record)),
        ),
  };
}

/** Words that stand for a message (`say-1f`), a call (`call-1f`) or a result (`out-1f`), each of which occurs once. */
export function tokensIn(text: string): string[] {
  // The letter of a JSON escape is not part of a word.
  return [...new Set(text.replace(/\\+[nrt]/g, ' ').match(/\b(?:ask|say|call|out)-[0-9a-f]+\b/g))];
}

function startAgent(program: string, args: string[], options: AgentRunOptions): RunningAgent {
  const began = Date.now();
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: { ...bare(options.home), ...options.env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  const pid = child.pid ?? -1;
  const result = new Promise<AgentResult>((resolve, reject) => {
    const timer = setTimeout(() => process.kill(-pid, 'SIGKILL'), 90_000);
    child.on('error', reject);
    // The processes that it has started may hold its streams.
    child.on('exit', (exitCode, signal) => {
      clearTimeout(timer);
      setTimeout(() => resolve({ exitCode, signal, output, ms: Date.now() - began }), 20);
    });
  });
  return {
    pid,
    result,
    kill(signal) {
      if (child.exitCode !== null || child.signalCode !== null) return;
      if (signal === 'SIGKILL') process.kill(-pid, signal);
      else child.kill(signal);
    },
  };
}
