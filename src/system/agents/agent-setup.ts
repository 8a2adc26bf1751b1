/** Installs teddy's hooks in each agent's user configuration, and the script that the hooks run. */
import { mkdir, readFile, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { homeOf, type Agent } from '../../agents/agent.ts';
import { errorCode, errorReason } from '../../disk/system-error.ts';
import { TeddyError } from '../../errors.ts';
import { agentNames, agents, type AgentName } from '../../agents/agents.ts';
import { agentFiles } from './agent-files.ts';
import type { AgentSetup, AgentState, HookScript, UninstallOutcome } from '../../ports/agent-setup.ts';
import type { HookProgram } from '../../ports/git.ts';
import { findOriginal, toEditRecord } from '../../session/text/edit-record.ts';
import { parseObject } from '../../session/text/parse-object.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { findProgram } from '../find-program.ts';
import { sha256 } from '../ids.ts';
import {
  addHooks,
  describeFault,
  findOwnHooks,
  readSetting,
  removeHooks,
  stateOfHooks,
  type HookSpec,
} from './hook-settings.ts';
import { isReadOnly, isThere, readIfThere, removeUserFile, resolveLink, writeUserFile as write } from './user-file.ts';

type Environment = Record<string, string | undefined>;

/** The package's files below `hooks/agents`, and the executable that they start. */
interface AgentSource {
  program: HookProgram;
  readScript(name: string): Promise<string>;
}

interface SetupOptions {
  env: Environment;
  source: AgentSource;
}

/** An agent with its name and the path of this user's hooks file for it. */
interface OwnFile extends Agent {
  name: AgentName;
  homePath: string;
  path: string;
}

const dataHome = (env: Environment) =>
  join(env['XDG_DATA_HOME'] || join(env['HOME'] ?? '/', '.local', 'share'), 'teddy');

/** Never changes: Codex trusts a hook by its hash, and teddy recognizes its hooks in other agents' settings by this command. */
const commandOf = (name: AgentName, word = '') =>
  `sh "\${XDG_DATA_HOME:-$HOME/.local/share}/teddy/agent-hook" ${name}${word} 2>/dev/null || :`;

export function agentSetup(options: SetupOptions): AgentSetup {
  const find = (name: AgentName): OwnFile => {
    const homePath = homeOf(agents[name], options.env, options.env['HOME'] ?? '/');
    return { ...agents[name], name, homePath, path: join(homePath, agents[name].hooks.file) };
  };
  return {
    list: () => Promise.all(agentNames.map((name) => inspectAgent(find(name), options))),
    script: () => readScript(options),
    async installScript() {
      const { path, state } = await readScript(options);
      if (state !== 'installed') await write(path, await renderScript(options), 0o755);
    },
    async removeScript() {
      const { path } = await readScript(options);
      await removeUserFile(path);
      for (const dir of [join(dirname(path), 'installed'), dirname(path)]) await rmdir(dir).catch(() => undefined);
    },
    install: (name, gate) => install(find(name), options, gate),
    uninstall: (name) => uninstall(find(name), options),
    async preview(name, isInstall, gate) {
      const agent = find(name);
      const planned = await (isInstall ? planInstall(agent, options, gate) : planUninstall(agent, options));
      return planned && { path: agent.path, before: planned.before, after: planned.after };
    },
  };
}

/** Returns null for an agent that keeps hooks in a separate file. */
function specOf({ name, hooks: { entry, events, gate, prints, section } }: OwnFile, hasGate: boolean): HookSpec | null {
  if (entry === undefined) return null;
  // An older version's entry may have a different command, but still belongs to teddy.
  const isOurs = (command: string) => new RegExp(`teddy/agent-hook["']? ${name}(?![\\w-])`).test(command);
  const toEntry = (more: object, word?: string) => ({ ...more, type: 'command', command: commandOf(name, word) });
  if (prints !== undefined) {
    const toCommand = (event: string) =>
      commandOf(name, ` ${event}`).replace(/ 2>.*$/, ` >/dev/null 2>&1; echo '${prints}'`);
    const own = Object.keys(events).map((event) => ({
      event,
      entry: { ...toEntry(entry), command: toCommand(event) },
    }));
    return { hooks: own, isOurs, section };
  }
  const hooks = Object.keys(events).map((event) => ({ event, entry: toEntry(entry) }));
  if (gate === undefined || !hasGate) return { hooks, isOurs };
  const { event, matcher, entry: own } = gate;
  const gateHook = { event, ...(matcher === undefined ? {} : { matcher }), entry: toEntry(own, ' gate') };
  return { hooks: [...hooks, gateHook], isOurs };
}

async function ownContent({ name, hooks }: OwnFile, { source }: SetupOptions, gate: boolean): Promise<string> {
  const command = (event: string) => commandOf(name, ` ${event}`);
  return (await hooks.own?.({ command, hasGate: gate, readScript: source.readScript })) ?? '';
}

/** The gate stays installed, or not, until the user decides otherwise. */
function hasGate(agent: OwnFile, text: string): boolean {
  const spec = specOf(agent, true);
  const isGate = (command: string) => /teddy\/agent-hook\W+[a-z-]+ gate(?![\w-])/.test(command);
  return spec === null ? isGate(text) : findOwnHooks(text, spec).some(({ command }) => isGate(command));
}

async function inspectAgent(agent: OwnFile, options: SetupOptions): Promise<AgentState> {
  const { name, title, path } = agent;
  const program = findProgram(agent.program, options.env);
  const found = program !== null || (await isThere(agent.homePath));
  const canGate = agent.hooks.gate !== undefined;
  const state = { name, title, program, found, path, canGate, trusted: null };
  try {
    const text = (await readIfThere(path))?.toString('utf8') ?? null;
    const hooks = text === null ? 'missing' : await stateOf(agent, text, options);
    const gate = text !== null && hasGate(agent, text);
    if (text === null || hooks === 'missing') return { ...state, gate, hooks, problem: null };
    const { areTrusted, findProblem } = agent.hooks;
    const spec = specOf(agent, false);
    const trusted =
      areTrusted === undefined || spec === null ? null : await areTrusted(findOwnHooks(text, spec), path, agentFiles);
    const problem = await findProblem?.({ path, get: (key) => readSetting(text, key) }, agentFiles);
    return { ...state, gate, hooks, trusted, problem: problem ?? null };
  } catch (error) {
    if (errorCode(error) === null && !(error instanceof TeddyError)) throw error;
    const problem = error instanceof TeddyError ? error.message : `${path} cannot be read: ${errorReason(error)}.`;
    return { ...state, gate: false, hooks: 'unknown', problem };
  }
}

async function stateOf(agent: OwnFile, text: string, options: SetupOptions, gate = hasGate(agent, text)) {
  const spec = specOf(agent, gate);
  if (spec !== null) {
    const fault = describeFault(text, spec);
    if (fault !== null) throw toInTheWay(agent, fault);
    return stateOfHooks(text, spec);
  }
  if (text === (await ownContent(agent, options, gate))) return 'installed';
  return isMarked(text) ? 'changed' : 'missing';
}

function isMarked(text: string): boolean {
  return text.includes('teddy/agent-hook');
}

/** The record of an agent's installation, with the path of its file. */
const recordOf = ({ name }: OwnFile, { env }: SetupOptions) => join(dataHome(env), 'installed', `${name}.json`);

/** A change of an agent's file. */
interface PlannedChange {
  /** The file itself, if `path` is a link. */
  target: string;
  before: Buffer | null;
  after: Buffer | null;
}

/** Returns null when everything is installed. `original` is the file's content without teddy's hooks. */
async function planInstall(
  agent: OwnFile,
  options: SetupOptions,
  wanted?: boolean,
): Promise<(PlannedChange & { after: Buffer; original: Uint8Array | null }) | null> {
  const target = await resolveLink(agent.path);
  const before = await readForChange(agent, target);
  const text = before?.toString('utf8') ?? '';
  if (before !== null && !Buffer.from(text).equals(before)) throw toInTheWay(agent, 'is not UTF-8');
  const gate = wanted ?? hasGate(agent, text);
  const state = before === null ? 'missing' : await stateOf(agent, text, options, gate);
  if (state === 'installed') return null;
  await requireWritable(agent, target);
  const spec = specOf(agent, gate);
  if (spec === null && before !== null && !isMarked(text)) throw toInTheWay(agent, 'was not written by teddy');
  const after = Buffer.from(spec === null ? await ownContent(agent, options, gate) : addHooks(text, spec));
  const original = (await toOriginal(before, recordOf(agent, options))) ?? {
    bytes: before === null || spec === null ? null : Buffer.from(removeHooks(text, spec)),
  };
  return { target, before, after, original: original.bytes };
}

async function install(agent: OwnFile, options: SetupOptions, wanted?: boolean): Promise<boolean> {
  const planned = await planInstall(agent, options, wanted);
  if (planned === null) return false;
  const { target, before, after, original } = planned;
  // The agent itself may have changed the file in the meantime.
  const now = await readForChange(agent, target);
  if (now === null ? before !== null : before === null || !now.equals(before)) return install(agent, options, wanted);
  const record = { path: agent.path, ...toEditRecord(original, after, sha256) };
  await write(recordOf(agent, options), JSON.stringify(record), 0o600);
  // The hooks come last: once they are there, nothing is missing.
  await writeCompanions(agent);
  await write(target, after, before === null ? null : (await stat(target)).mode & 0o777);
  return true;
}

/** Returns null when there are no hooks. `isExact`: nobody has changed the file since the installation. */
async function planUninstall(
  agent: OwnFile,
  options: SetupOptions,
): Promise<(PlannedChange & { isExact: boolean }) | null> {
  const target = await resolveLink(agent.path);
  const now = await readForChange(agent, target);
  if (now === null || (await stateOf(agent, now.toString('utf8'), options)) === 'missing') return null;
  await requireWritable(agent, target);
  const original = await toOriginal(now, recordOf(agent, options));
  const spec = specOf(agent, true);
  if (original === null && spec === null) {
    if (now.toString('utf8') !== (await ownContent(agent, options, hasGate(agent, now.toString('utf8')))))
      throw toInTheWay(agent, 'was installed by teddy but has been edited since', 'Remove it yourself.');
  }
  const left = spec === null ? null : Buffer.from(removeHooks(now.toString('utf8'), spec));
  const bytes = original === null ? left : original.bytes;
  return { target, before: now, after: bytes === null ? null : Buffer.from(bytes), isExact: original !== null };
}

async function uninstall(agent: OwnFile, options: SetupOptions): Promise<UninstallOutcome> {
  const planned = await planUninstall(agent, options);
  if (planned === null) {
    await clearInterrupted(agent, options);
    return 'missing';
  }
  const { target, after, isExact } = planned;
  if (after === null) {
    await removeUserFile(target);
    if (agent.hooks.entry === undefined) await rmdir(dirname(target)).catch(() => undefined);
  } else await write(target, after, (await stat(target)).mode & 0o777);
  await removeBeside(agent);
  await removeUserFile(recordOf(agent, options));
  return isExact ? 'restored' : 'removed';
}

/** Removes what an installation, or a removal, has left that ended before its hooks, or after them. */
async function clearInterrupted(agent: OwnFile, options: SetupOptions): Promise<void> {
  const record = recordOf(agent, options);
  if (!(await isThere(record))) return removeUserFile(`${record}.tmp`);
  await removeUserFile(`${await resolveLink(agent.path)}.tmp`);
  await removeBeside(agent);
  await removeUserFile(record);
}

async function toOriginal(now: Buffer | null, record: string): Promise<{ bytes: Uint8Array | null } | null> {
  const text = await readFile(record, 'utf8').catch(() => '');
  return findOriginal(now, parseObject(text) ?? null, sha256);
}

/** Writes nothing when one of the `unless` files exists, because that file belongs to the user. */
async function writeCompanions({ homePath, hooks: { beside } }: OwnFile): Promise<void> {
  if (beside === undefined) return;
  const read = async (name: string) => (await readIfThere(join(homePath, name)))?.toString('utf8');
  const files = Object.entries(beside.files);
  // An interrupted installation may have written the first of them.
  const begun = (await Promise.all(files.map(async ([name, content]) => (await read(name)) === content))).includes(
    true,
  );
  const others = beside.unless.filter(
    (name) => !begun || !(Object.hasOwn(beside.files, name) || name === beside.directory),
  );
  if ((await Promise.all(others.map((name) => isThere(join(homePath, name))))).includes(true)) return;
  for (const [name, content] of files)
    if (((await read(name)) ?? content) === content) await write(join(homePath, name), content, null);
  await mkdir(join(homePath, beside.directory), { recursive: true });
}

async function removeBeside({ homePath, hooks: { beside } }: OwnFile): Promise<void> {
  if (beside === undefined) return;
  for (const [name, content] of Object.entries(beside.files)) {
    if (((await readIfThere(join(homePath, name)))?.toString('utf8') ?? content) !== content) return;
  }
  // Without the files, an interrupted removal would have left a directory that could be the user's.
  await rmdir(join(homePath, beside.directory)).catch(() => undefined);
  for (const name of Object.keys(beside.files)) await removeUserFile(join(homePath, name));
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

async function readForChange(agent: OwnFile, target: string): Promise<Buffer | null> {
  try {
    return await readIfThere(target);
  } catch (error) {
    if (errorCode(error) === null) throw error;
    throw toInTheWay(agent, `cannot be read: ${errorReason(error)}`);
  }
}

async function requireWritable(agent: OwnFile, target: string): Promise<void> {
  if (isReadOnly(await stat(target).catch(() => null)))
    throw toInTheWay(agent, 'is read-only', 'Make it writable, or change the hooks at the source of the file.');
}

function toInTheWay({ title, path }: OwnFile, fault: string, hint?: string): TeddyError {
  return new TeddyError(
    'HOOK_IN_THE_WAY',
    `The hooks for ${title} were not changed: ${path} ${fault}.`,
    hint ?? `Correct ${basename(path)}, or move it away, and run the command again.`,
  );
}
