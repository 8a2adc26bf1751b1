/** Our hooks in the user's configuration of each agent, and the script that they run. */
import { chmod, lstat, mkdir, readFile, readlink, realpath, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { parse as parseToml } from 'smol-toml';
import { removeFile, replaceFile } from '../disk/replace-file.ts';
import { replaceDurably } from '../disk/durable-file.ts';
import { errorCode, errorReason, nullIfGone } from '../disk/system-error.ts';
import { TeddyError } from '../errors.ts';
import type { AgentName, AgentSetup, AgentState, HookScript } from '../ports/capture.ts';
import type { HookProgram } from '../ports/git.ts';
import { isObject, parseObject } from '../session/parse-object.ts';
import { toShellWord } from '../session/shell-word.ts';
import { findProgram } from './find-program.ts';
import { sha256 } from './hash.ts';
import {
  addHooks,
  describeFault,
  findOwnHooks,
  readSetting,
  removeHooks,
  stateOfHooks,
  type HookSpec,
} from './hook-settings.ts';

type Environment = Record<string, string | undefined>;

/** The files of the package below `hooks/agents`, and the executable that they start. */
interface AgentSource {
  program: HookProgram;
  readScript(name: string): Promise<string>;
}

interface SetupOptions {
  env: Environment;
  source: AgentSource;
}

interface KnownAgent {
  name: AgentName;
  title: string;
  program: string;
  /** The directory that the agent makes for itself. */
  home(env: Environment): string;
  /** Below its home. */
  file: string;
  /** Hooks among the user's own settings. */
  settings?: {
    events: readonly string[];
    entry: Record<string, unknown>;
    gate?: { event: string; matcher: string; entry: Record<string, unknown> };
  };
  /** A file that is all ours. */
  own?(source: AgentSource): Promise<string>;
}

interface OwnFile extends KnownAgent {
  path: string;
}

const homeOf = (env: Environment) => env['HOME'] ?? '/';
const dirOf =
  (variable: string, ...below: string[]) =>
  (env: Environment) =>
    env[variable] || join(homeOf(env), ...below);
const configHome = dirOf('XDG_CONFIG_HOME', '.config');
const dataHome = (env: Environment) => join(dirOf('XDG_DATA_HOME', '.local', 'share')(env), 'teddy');

/** It never changes: Codex trusts the hash of a hook, and the settings of others are known by it. */
const commandOf = (name: AgentName, word = '') =>
  `sh "\${XDG_DATA_HOME:-$HOME/.local/share}/teddy/agent-hook" ${name}${word} 2>/dev/null || :`;

const known: readonly KnownAgent[] = [
  {
    name: 'claude-code',
    title: 'Claude Code',
    program: 'claude',
    home: dirOf('CLAUDE_CONFIG_DIR', '.claude'),
    file: 'settings.json',
    settings: {
      events: ['SessionStart', 'UserPromptSubmit', 'Stop', 'StopFailure', 'SubagentStop', 'PreCompact', 'SessionEnd'],
      entry: { timeout: 10 },
      // It waits for a person: the agent's own question has no limit at all.
      gate: { event: 'PreToolUse', matcher: 'ExitPlanMode', entry: { timeout: 3600 } },
    },
  },
  {
    name: 'codex',
    title: 'Codex',
    program: 'codex',
    home: dirOf('CODEX_HOME', '.codex'),
    file: 'hooks.json',
    settings: {
      events: ['SessionStart', 'UserPromptSubmit', 'Stop', 'Interrupt', 'SessionEnd'],
      entry: { timeout: 10 },
    },
  },
  {
    name: 'gemini',
    title: 'Gemini CLI',
    program: 'gemini',
    home: (env) => join(homeOf(env), '.gemini'),
    file: 'settings.json',
    // It counts milliseconds.
    settings: {
      events: ['SessionStart', 'BeforeAgent', 'AfterAgent', 'SessionEnd'],
      entry: { name: 'teddy', timeout: 10_000 },
    },
  },
  {
    name: 'opencode',
    title: 'opencode',
    program: 'opencode',
    home: (env) => join(configHome(env), 'opencode'),
    file: 'plugin/teddy.js',
    own: (source) => source.readScript('agents/opencode.js'),
  },
  {
    name: 'copilot',
    title: 'Copilot CLI',
    program: 'copilot',
    home: (env) => join(homeOf(env), '.copilot'),
    file: 'hooks/teddy.json',
    own: async () => {
      const hook = { type: 'command', bash: commandOf('copilot'), timeoutSec: 10 };
      const events = ['sessionStart', 'userPromptSubmitted', 'agentStop', 'sessionEnd'];
      const hooks = Object.fromEntries(events.map((event) => [event, [hook]]));
      return `${JSON.stringify({ version: 1, hooks }, null, 2)}\n`;
    },
  },
  {
    name: 'qwen',
    title: 'Qwen Code',
    program: 'qwen',
    home: (env) => join(homeOf(env), '.qwen'),
    file: 'settings.json',
    settings: { events: ['UserPromptSubmit', 'Stop'], entry: {} },
  },
  {
    name: 'pi',
    title: 'pi',
    program: 'pi',
    home: dirOf('PI_CODING_AGENT_DIR', '.pi', 'agent'),
    // Plain JavaScript, under the name that it looks for.
    file: 'extensions/teddy.ts',
    own: (source) => source.readScript('agents/pi.js'),
  },
];

export function agentSetup(options: SetupOptions): AgentSetup {
  const agents = known.map((agent): OwnFile => ({ ...agent, path: join(agent.home(options.env), agent.file) }));
  const find = (name: AgentName): OwnFile => {
    const agent = agents.find((one) => one.name === name);
    if (agent === undefined) throw new Error(`There is no agent ${name}.`);
    return agent;
  };
  return {
    list: () => Promise.all(agents.map((agent) => lookAt(agent, options))),
    script: () => readScript(options),
    async installScript() {
      const { path, state } = await readScript(options);
      if (state !== 'installed') await write(path, await renderScript(options), 0o755);
    },
    async removeScript() {
      const { path } = await readScript(options);
      await removeFile(path);
      for (const dir of [join(dirname(path), 'installed'), dirname(path)]) await rmdir(dir).catch(() => undefined);
    },
    install: (name, gate) => install(find(name), options, gate),
    uninstall: (name) => uninstall(find(name), options),
  };
}

function specOf({ name, settings }: KnownAgent, hasGate: boolean): HookSpec | null {
  if (settings === undefined) return null;
  const { events, entry, gate } = settings;
  // An entry of an older version may have another command; it is ours all the same.
  const isOurs = (command: string) => new RegExp(`teddy/agent-hook["']? ${name}(?![\\w-])`).test(command);
  const toEntry = (more: object, word?: string) => ({ ...more, type: 'command', command: commandOf(name, word) });
  const hooks = events.map((event) => ({ event, entry: toEntry(entry) }));
  if (gate === undefined || !hasGate) return { hooks, isOurs };
  return { hooks: [...hooks, { ...gate, entry: toEntry(gate.entry, ' gate') }], isOurs };
}

/** The gate stays where it is, until somebody says otherwise. */
function hasGate(agent: KnownAgent, text: string): boolean {
  const spec = specOf(agent, true);
  return spec !== null && findOwnHooks(text, spec).some(({ command }) => / gate(?![\w-])/.test(command));
}

async function lookAt(agent: OwnFile, options: SetupOptions): Promise<AgentState> {
  const { name, title, path } = agent;
  const program = findProgram(agent.program, options.env);
  const found = program !== null || (await isThere(agent.home(options.env)));
  const canGate = agent.settings?.gate !== undefined;
  const state = { name, title, program, found, path, canGate, trusted: null };
  try {
    const bytes = await readIfThere(path);
    const hooks = bytes === null ? 'missing' : await stateOf(agent, bytes.toString('utf8'), options);
    const gate = bytes !== null && hasGate(agent, bytes.toString('utf8'));
    if (bytes === null || hooks === 'missing') return { ...state, gate, hooks, problem: null };
    const trusted = name === 'codex' ? await isTrusted(agent, bytes.toString('utf8')) : null;
    return { ...state, gate, hooks, trusted, problem: await describeSwitchedOff(agent, bytes.toString('utf8')) };
  } catch (error) {
    if (errorCode(error) === null && !(error instanceof TeddyError)) throw error;
    const problem = error instanceof TeddyError ? error.message : `${path} cannot be read: ${errorReason(error)}.`;
    return { ...state, gate: false, hooks: 'unknown', problem };
  }
}

async function stateOf(agent: OwnFile, text: string, { source }: SetupOptions, gate = hasGate(agent, text)) {
  const spec = specOf(agent, gate);
  if (spec !== null) {
    const fault = describeFault(text);
    if (fault !== null) throw toInTheWay(agent, fault);
    return stateOfHooks(text, spec);
  }
  if (text === (await agent.own?.(source))) return 'installed';
  return isMarked(text) ? 'changed' : 'missing';
}

function isMarked(text: string): boolean {
  return text.includes('teddy/agent-hook');
}

/** Codex runs a hook only when its user has trusted it; it notes that by file, event and index. */
async function isTrusted({ path, home, ...agent }: OwnFile, text: string): Promise<boolean> {
  const spec = specOf({ home, ...agent }, false);
  const state = (await readToml(join(dirname(path), 'config.toml')))['hooks'];
  const notes = isObject(state) && isObject(state['state']) ? state['state'] : {};
  const paths = [path, await realpath(path).catch(() => path)];
  return findOwnHooks(text, spec ?? { hooks: [], isOurs: () => false }).every(({ event, at }) => {
    const snake = event.replace(/(?!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
    return paths.some((file) => {
      const note = notes[`${file}:${snake}:${at[0]}:${at[1]}`];
      return isObject(note) && typeof note['trusted_hash'] === 'string' && note['enabled'] !== false;
    });
  });
}

async function describeSwitchedOff({ name, path }: OwnFile, text: string): Promise<string | null> {
  if (name === 'claude-code' && readSetting(text, 'disableAllHooks') === true)
    return `Claude Code runs no hooks: disableAllHooks is set in ${path}.`;
  if (name !== 'codex') return null;
  const { features } = await readToml(join(dirname(path), 'config.toml'));
  return isObject(features) && features['hooks'] === false
    ? `Codex runs no hooks: features.hooks is false in ${join(dirname(path), 'config.toml')}.`
    : null;
}

/** Empty when there is none, or it is no TOML: Codex itself says so then. */
async function readToml(path: string): Promise<Record<string, unknown>> {
  const bytes = await readIfThere(path);
  try {
    return bytes === null ? {} : parseToml(bytes.toString('utf8'));
  } catch {
    return {};
  }
}

/** An installation is undone by this: the bytes between a common start and a common end. */
interface Installed {
  path: string;
  /** sha256 of the file as it was written. */
  after: string;
  /** False: there was no file before. */
  existed: boolean;
  start: number;
  end: number;
  /** In base64. */
  between: string;
}

const recordOf = ({ name }: KnownAgent, { env }: SetupOptions) => join(dataHome(env), 'installed', `${name}.json`);

async function install(agent: OwnFile, options: SetupOptions, wanted?: boolean): Promise<boolean> {
  const target = await resolveLink(agent.path);
  const before = await readForChange(agent, target);
  const text = before?.toString('utf8') ?? '';
  if (before !== null && !Buffer.from(text).equals(before)) throw toInTheWay(agent, 'is not UTF-8');
  const gate = wanted ?? hasGate(agent, text);
  const state = before === null ? 'missing' : await stateOf(agent, text, options, gate);
  if (state === 'installed') return false;
  await requireWritable(agent, target);
  const spec = specOf(agent, gate);
  if (spec === null && before !== null && !isMarked(text)) throw toInTheWay(agent, 'is not a file of teddy');
  const after = Buffer.from(spec === null ? ((await agent.own?.(options.source)) ?? '') : addHooks(text, spec));
  const original = (await toOriginal(before, recordOf(agent, options))) ?? {
    bytes: before === null || spec === null ? null : Buffer.from(removeHooks(text, spec)),
  };
  // The agent itself may have changed it meanwhile.
  const now = await readForChange(agent, target);
  if (now === null ? before !== null : before === null || !now.equals(before)) return install(agent, options, wanted);
  await write(recordOf(agent, options), JSON.stringify(toRecord(agent.path, original.bytes, after)), 0o600);
  await write(target, after, before === null ? null : (await stat(target)).mode & 0o777);
  if (agent.name === 'opencode') await layPackages(agent.home(options.env));
  return true;
}

async function uninstall(agent: OwnFile, options: SetupOptions): Promise<'restored' | 'removed' | 'missing'> {
  const target = await resolveLink(agent.path);
  const record = recordOf(agent, options);
  const now = await readForChange(agent, target);
  if (now === null || (await stateOf(agent, now.toString('utf8'), options)) === 'missing') return 'missing';
  await requireWritable(agent, target);
  const original = await toOriginal(now, record);
  const spec = specOf(agent, true);
  if (original === null && spec === null) {
    if (now.toString('utf8') !== (await agent.own?.(options.source)))
      throw toInTheWay(agent, 'was installed by teddy and has been changed since', 'Remove it yourself.');
  }
  const bytes = original === null ? (spec === null ? null : removeHooks(now.toString('utf8'), spec)) : original.bytes;
  if (bytes === null) {
    await removeFile(target);
    if (agent.own !== undefined) await rmdir(dirname(target)).catch(() => undefined);
  } else await write(target, bytes, (await stat(target)).mode & 0o777);
  if (agent.name === 'opencode') await removePackages(agent.home(options.env));
  await removeFile(record);
  return original === null ? 'removed' : 'restored';
}

function toRecord(path: string, before: Buffer | null, after: Buffer): Installed {
  const was = before ?? Buffer.alloc(0);
  const most = Math.min(was.length, after.length);
  let start = 0;
  while (start < most && was[start] === after[start]) start += 1;
  let end = 0;
  while (end < most - start && was[was.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const between = was.subarray(start, was.length - end).toString('base64');
  return { path, after: sha256(after), existed: before !== null, start, end, between };
}

/** The file as it was before the installation; `bytes` null: there was none. Null: somebody has changed it since. */
async function toOriginal(now: Buffer | null, record: string): Promise<{ bytes: Buffer | null } | null> {
  const text = await readFile(record, 'utf8').catch(() => '');
  const { after, existed, start, end, between } = parseObject(text) ?? {};
  if (now === null || after !== sha256(now) || typeof between !== 'string') return null;
  if (existed !== true) return { bytes: null };
  const tail = now.subarray(now.length - Number(end));
  return { bytes: Buffer.concat([now.subarray(0, Number(start)), Buffer.from(between, 'base64'), tail]) };
}

/**
 * With a plugin, opencode installs a package beside it before it starts, and waits 75 s for a network that is not there. Ours
 * needs none; opencode looks for the directory, and for the name in the lock file. Where any of them is, they are the user's.
 */
const laid: readonly [name: string, content: object][] = [
  ['package.json', { dependencies: { '@opencode-ai/plugin': '*' } }],
  ['package-lock.json', { lockfileVersion: 3, packages: { '': { dependencies: { '@opencode-ai/plugin': '*' } } } }],
];
const render = (content: object) => `${JSON.stringify(content, null, 2)}\n`;

async function layPackages(home: string): Promise<void> {
  const names = ['node_modules', 'bun.lock', ...laid.map(([name]) => name)];
  if ((await Promise.all(names.map((name) => isThere(join(home, name))))).includes(true)) return;
  await mkdir(join(home, 'node_modules'), { recursive: true });
  for (const [name, content] of laid) await write(join(home, name), render(content), null);
}

async function removePackages(home: string): Promise<void> {
  for (const [name, content] of laid) {
    if ((await readIfThere(join(home, name)))?.toString('utf8') !== render(content)) return;
  }
  for (const [name] of laid) await removeFile(join(home, name));
  await rmdir(join(home, 'node_modules')).catch(() => undefined);
}

const scriptPath = (env: Environment) => join(dataHome(env), 'agent-hook');
const programLine = /^node=.* main=.*$/m;

async function renderScript({ source }: SetupOptions): Promise<string> {
  const { node, main } = source.program;
  const text = await source.readScript('agents/agent-hook');
  return text.replace(programLine, () => `node=${toShellWord(node)} main=${toShellWord(resolve(main))}`);
}

async function readScript(options: SetupOptions): Promise<HookScript> {
  const path = scriptPath(options.env);
  const text = (await readIfThere(path).catch(() => null))?.toString('utf8') ?? null;
  if (text === null) return { path, state: 'missing' };
  const [, node = '', main = ''] = /^node=('.*'|\S*) main=(.*)$/m.exec(text) ?? [];
  const programs = [node, main].map((word) => word.replace(/^'(.*)'$/, '$1').replaceAll(String.raw`'\''`, "'"));
  if (!(await Promise.all(programs.map(isThere))).every(Boolean)) return { path, state: 'broken' };
  return { path, state: text === (await renderScript(options)) ? 'installed' : 'outdated' };
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null;
}

/** Null when there is none. */
function readIfThere(path: string): Promise<Buffer | null> {
  return readFile(path).catch(nullIfGone);
}

/** Users keep such files elsewhere, and link to them: the link stays. */
async function resolveLink(path: string): Promise<string> {
  const real = await realpath(path).catch(() => null);
  if (real !== null) return real;
  const link = await lstat(path).catch(() => null);
  return link?.isSymbolicLink() === true ? resolve(dirname(path), await readlink(path)) : path;
}

async function readForChange(agent: OwnFile, target: string): Promise<Buffer | null> {
  try {
    return await readIfThere(target);
  } catch (error) {
    if (errorCode(error) === null) throw error;
    throw toInTheWay(agent, `cannot be read: ${errorReason(error)}`);
  }
}

/** A rename would replace a read-only file all the same, and whoever made it so had a reason. */
async function requireWritable(agent: OwnFile, target: string): Promise<void> {
  const found = await stat(target).catch(() => null);
  if (found !== null && (found.mode & 0o222) === 0)
    throw toInTheWay(agent, 'is read-only', 'Make it writable, or change the hooks where it comes from.');
}

/** `mode` null: as other new files. */
async function write(path: string, content: Buffer | string, mode: number | null): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    if (mode === null) return await replaceFile(path, content);
    await replaceDurably(path, content, mode);
    await chmod(path, mode);
  } catch (error) {
    if (error instanceof TeddyError) throw error;
    const message = `${path} could not be written: ${errorReason(error)}.`;
    throw new TeddyError('WRITE_FAILED', message, `Check the permissions of ${dirname(path)}.`, { cause: error });
  }
}

function toInTheWay({ title, path }: OwnFile, fault: string, hint?: string): TeddyError {
  return new TeddyError(
    'HOOK_IN_THE_WAY',
    `The hooks of ${title} stay as they are: ${path} ${fault}.`,
    hint ?? `Correct ${basename(path)}, or move it away, and run the command again.`,
  );
}
