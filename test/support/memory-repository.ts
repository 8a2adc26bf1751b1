/**
 * A whole project in memory for the workflows: repository, files, scripted commands, a clock that advances a second
 * with every look, ids in order, notices in a list; and the few things that a user does with git between two commands.
 */
import type { IFs } from 'memfs';
import { createHash } from 'node:crypto';
import { TeddyError } from '../../src/errors.ts';
import type { AnswerTarget, AnswerStaging, LeftAnswer, ScratchFiles } from '../../src/ports/disk.ts';
import type { CommandResult } from '../../src/ports/files.ts';
import type { MarkedCommit, Repository, Store, Workspace } from '../../src/ports/git.ts';
import type { Masked, Project, Settings } from '../../src/ports/project.ts';
import { applyMasks } from '../../src/session/masks/mask.ts';
import { decideSetting, requireUsable } from '../../src/session/settings/decide-setting.ts';
import { identSeconds } from '../../src/session/entries/logged-entry.ts';
import { runName, type Oid, type RefName, type RepoPath } from '../../src/names.ts';
import type { AgentTrace } from '../../src/ports/project.ts';
import type { SettingName } from '../../src/session/settings/settings.ts';
import { parseTrackedConfig, trackedConfigPath } from '../../src/session/settings/tracked-config.ts';
import { writeLimits, type Limits } from '../../src/session/settings/write-limits.ts';
import { syntaxChecker } from '../../src/system/writes/check-syntax.ts';
import { judgeFetched } from '../../src/workflow/sharing/check-incoming.ts';
import type { AllowedCommand } from '../../src/conversation/prompts/allowed-commands.ts';
import { memoryJournal, type MemoryOperation } from './memory-journal.ts';
import { memoryFiles } from './memory-files.ts';
import { memoryHooks, type MemoryHooks } from './memory-hooks.ts';
import { memoryJournals, type MemoryJournal } from './memory-journals.ts';
import { dropObject, memoryBatch, memoryDisk, putRef, type MemoryDisk } from './memory-objects.ts';
import { memoryRemotes, type MemoryRemote } from './memory-remotes.ts';
import { memoryScratchTrees } from './memory-scratch.ts';
import { memoryRemains, type MemoryRemains } from './memory-remains.ts';
import { memoryRecords, memorySpool } from './memory-spool.ts';
import { memoryServers } from './memory-servers.ts';
import { memoryStore } from './memory-store.ts';
import { memoryWrites, type MemoryWrite } from './memory-writes.ts';
import { memoryWorkTrees, type MemoryWorkTree } from './memory-work-trees.ts';
import { keepDisk, memoryWorkspace, writeFiles, writeTreeOf, type MemoryWorkspaceState } from './memory-workspace.ts';

export interface MemoryProject extends Project {
  /** The work tree, at `/project`. */
  fs: IFs;
  disk: MemoryDisk;
  repository: Repository & { workspace: Workspace };
  /** Every notice, warnings with the prefix `warning: `. */
  said: string[];
  configuration: Map<string, string>;
  state: MemoryWorkspaceState;
  /** Linked work trees. */
  linked: MemoryWorkTree[];
  /** Git hooks. */
  hooked: MemoryHooks;
  /** Other repositories, by name or address. */
  remotes: Map<string, MemoryRemote>;
  /** Null if git does not know the user. */
  identity: { text: string | null };
  /** Secret -> its kind: the masker's secrets. */
  secrets: Map<string, string>;
  /** URL -> text. */
  web: Map<string, string>;
  /** Received answers that are neither on the line nor discarded; a test adds those of a dead process. */
  staged: StagedText[];
  /** Limits for write sessions, which a test may change. */
  writeLimits: Limits;
  /** Write sessions, by id. */
  writing: Map<string, MemoryWrite>;
  /** Files that a command got to read, by path, as long as they exist. */
  scratched: Map<string, Uint8Array>;
  /** Set by a test if an agent has started this, or is behind a call over HTTP. */
  agent: { trace: AgentTrace | null; behind: AgentTrace | null };
  trusted: Set<Oid>;
  /** Journals, by the name of their run: appended records and kept files. */
  left: Map<string, MemoryJournal>;
  /** Operations that a crash may interrupt, in the order in which they began. */
  noted: MemoryOperation[];
  remains: MemoryRemains;
  /** The effect of a plan's command; it may use `write`. */
  command: {
    run: (
      script: string,
      signal: AbortSignal,
      onOutput?: (stream: 'stdout' | 'stderr', text: string) => void,
      env?: Record<string, string>,
    ) => Promise<Partial<CommandResult>>;
  };
  /** Writes files in the work tree; null removes one. */
  write(files: Record<string, string | null>): Promise<void>;
  read(path: string): Promise<string | null>;
  /** Drops an object, as a `git gc` drops an unreachable one. */
  drop(oid: Oid): Promise<void>;
  stage(...paths: string[]): Promise<void>;
  /** Does the work of `git commit -a`: commits the tracked files as they are on disk, and staged ones. */
  commit(message: string, files?: Record<string, string | null>): Promise<Oid>;
  /** Does the work of `git update-ref`, without any check. */
  setRef(ref: string, oid: Oid): Promise<void>;
  /** Does the work of `git switch`, with `-c` if `at` is given. */
  switchTo(branch: string, at?: Oid): Promise<void>;
  detach(): Promise<void>;
  tipOf(branch: string): Promise<Oid>;
  /** A file in a commit, as text; null if it does not exist. */
  readAt(commit: Oid, path: string): Promise<string | null>;
}

interface StagedText extends Partial<LeftAnswer> {
  /** Null if damaged. */
  place: AnswerTarget | null;
  text: string;
  /** Its process is working on it. */
  isAlive?: boolean;
  /** By another process than this one. */
  isElsewhere?: boolean;
  /** It was saved on purpose. */
  isSaved?: boolean;
}

/** With a first commit with `files` on `main`; null leaves `main` unborn. */
export async function memoryProject(
  files: Record<string, string> | null = { 'README.md': '# Notes\n' },
): Promise<MemoryProject> {
  const disk = await memoryDisk();
  const { fs } = disk;
  const configuration = new Map<string, string>();
  const secrets = new Map<string, string>();
  const pages = new Map<string, string>();
  const staged: MemoryProject['staged'] = [];
  const trusted = new Set<Oid>();
  const scratched = new Map<string, Uint8Array>();
  const derived = new Map<string, Uint8Array>();
  const identity = { text: 'Ada Example <ada@example.org> 1769248800 +0000' as string | null };
  const store = memoryStore(disk, { ident: () => identity.text, settings: configuration });
  const state: MemoryWorkspaceState = { index: new Map(), operation: null, unmerged: [] };
  const workspace = memoryWorkspace(disk, store, state);
  const linked: MemoryWorkTree[] = [];
  const hooked: MemoryHooks = { place: { dir: '/repo/.git/hooks', kind: 'own', origin: null }, files: new Map() };
  const remotes: MemoryProject['remotes'] = new Map();
  const said: string[] = [];
  const agent: MemoryProject['agent'] = { trace: null, behind: null };
  const command: MemoryProject['command'] = { run: async () => ({}) };
  const write = (content: Record<string, string | null>) =>
    writeFiles(
      disk,
      Object.entries(content).map(([path, bytes]) => ({ path, bytes })),
    );
  const setRef = async (ref: string, oid: Oid) => putRef(disk, ref, oid);
  const writes: MemoryProject['writing'] = new Map();
  const journals: MemoryProject['left'] = new Map();
  const noted: MemoryProject['noted'] = [];
  const allowed = new Map<string, AllowedCommand[]>();
  let ticks = 0;
  let ids = 0;
  const clock = { now: () => new Date(Date.UTC(2026, 0, 24, 10, 0, (ticks += 1))) };

  const project: MemoryProject = {
    fs,
    disk,
    repository: {
      store,
      workspace,
      ...memoryWorkTrees({ store, workspace }, linked),
      ...memoryScratchTrees(disk, store, workspace),
      cache: {
        read: async (key) => derived.get(key) ?? null,
        write: async (key, pieces) => void derived.set(key, Buffer.concat(pieces)),
      },
      // Only git knows which commit added a line: the use of that is tested on real repositories.
      blame: {
        lines: () => Promise.reject(new Error('There is no git here.')),
        ignored: () => Promise.reject(new Error('There is no git here.')),
        findMarked: (marks, tips, not, since) => findMarked(store, { marks, tips, not, since }),
        followNames: () => Promise.reject(new Error('There is no git here.')),
        findCircles: () => Promise.reject(new Error('There is no git here.')),
      },
      hooks: memoryHooks(hooked),
      remotes: memoryRemotes({ disk, store }, remotes),
      changeSetting: async (_scope, key, value) => {
        if (value === null) return configuration.delete(key);
        configuration.set(key, value);
        return true;
      },
      reloadSettings: () => undefined,
      installAttributes: async () => undefined,
      removeAttributes: async () => undefined,
      credential: async () => null,
      close: async () => undefined,
    },
    clock,
    ids: {
      // A millisecond apart, since an entry's id is later than that of the one before.
      entryId: () => {
        ids += 1;
        return `019bf000-${ids.toString(16).padStart(4, '0')}-7000-8000-${String(ids).padStart(12, '0')}`;
      },
      writeId: () => `019bf000-0000-4000-8000-${String((ids += 1)).padStart(12, '0')}`,
    },
    hash: (bytes) => createHash('sha256').update(bytes).digest('hex'),
    notices: { info: (text) => said.push(text), warn: (text) => said.push(`warning: ${text}`) },
    filesOf: () => memoryFiles(disk),
    masker: { mask: async (text) => maskAll(text, secrets) },
    pages: {
      fetch: async (url) => {
        const text = pages.get(url);
        if (text === undefined) throw new TeddyError('PAGE_FAILED', `There is no ${url}.`);
        return { url, contentType: 'text/plain', text };
      },
    },
    answers: memoryStaging(staged),
    writes: memoryWrites(clock, writes),
    writeLimits: { ...writeLimits },
    syntax: syntaxChecker(),
    scratch: memoryScratch(scratched),
    processes: { ownName: async () => 'own', isAlive: async (name) => (name === 'foreign' ? null : name === 'own') },
    callers: {
      findAgent: async () => agent.trace,
      findAgentBehind: async () => agent.behind,
      userEnvironment: async () => null,
    },
    agent,
    scratched,
    writing: writes,
    servers: memoryServers(),
    spool: memorySpool(),
    setup: memoryRecords(),
    journals: memoryJournals(disk, journals),
    left: journals,
    journal: memoryJournal(noted),
    allowed: {
      list: async (session) => allowed.get(session) ?? [],
      keep: async (session, commands) => void allowed.set(session, [...commands]),
    },
    remains: memoryRemains(),
    noted,
    trust: { has: async (oid) => trusted.has(oid), add: async (oids) => oids.forEach((oid) => trusted.add(oid)) },
    settings: memorySettings(configuration, () => project.read(trackedConfigPath)),
    models: {
      find: async () => ({ window: null, answer: null, price: null }),
      saved: async () => null,
      keepServed: async () => undefined,
      listDate: async () => null,
      keepList: async () => undefined,
      refusedFields: async () => [],
      keepRefused: async () => undefined,
    },
    judgeLine: judgeFetched,
    secrets,
    web: pages,
    staged,
    trusted,
    shellOf: () => ({
      findRunning: async () => [],
      run: async (script, { signal, onOutput, env }) => ({
        ...succeeded,
        ...(await command.run(script, signal, onOutput, env)),
      }),
    }),
    said,
    configuration,
    state,
    linked,
    hooked,
    remotes,
    identity,
    command,
    write,
    async read(path) {
      const bytes = await workspace.readDisk(path as RepoPath);
      return bytes && new TextDecoder().decode(bytes);
    },
    drop: async (oid) => dropObject(disk, oid),
    async stage(...paths) {
      for (const path of paths as RepoPath[]) {
        const onDisk = await keepDisk(disk, path);
        if (onDisk === null) state.index.delete(path);
        else state.index.set(path, onDisk);
      }
    },
    async commit(message, content = {}) {
      await write(content);
      await project.stage(...new Set([...Object.keys(content), ...state.index.keys()]));
      const head = await workspace.head();
      const tree = await writeTreeOf(disk, state.index);
      const batch = memoryBatch(disk);
      const parents = head.oid === null ? [] : [head.oid];
      const commit = await batch.commit({ tree, parents, ...(await store.ident()), message });
      await batch.flush();
      await setRef(head.ref ?? 'HEAD', commit);
      return commit;
    },
    setRef,
    async switchTo(branch, at) {
      if (at !== undefined) await setRef(`refs/heads/${branch}`, at);
      await workspace.switchTo(`refs/heads/${branch}` as RefName);
    },
    async detach() {
      putRef(disk, 'HEAD', (await workspace.head()).oid);
    },
    async tipOf(branch) {
      const oid = await store.resolve(`refs/heads/${branch}`);
      if (oid === null) throw new Error(`There is no branch ${branch}.`);
      return oid;
    },
    async readAt(commit, path) {
      const found = await store.readFile(commit, path as RepoPath);
      return found && new TextDecoder().decode(found.bytes);
    },
  };
  if (files !== null) await project.commit('First commit\n', files);
  return project;
}

function memorySettings(configuration: Map<string, string>, readConfig: () => Promise<string | null>): Settings {
  const find = async (name: SettingName) =>
    decideSetting(name, [{ origin: 'git config (local .git/config)', text: configuration.get(`teddy.${name}`) }]);
  const findTracked = async (name: SettingName) => {
    const { values } = await parseTrackedConfig((await readConfig()) ?? '');
    return decideSetting(name, [{ origin: trackedConfigPath, text: values.get(name) }]);
  };
  const findAll = async (name: SettingName) =>
    [await find(name), await findTracked(name)].filter(({ origin }) => origin !== 'default');
  return { find, findAll, get: async (name) => requireUsable(await find(name)) };
}

function maskAll(text: string, secrets: Map<string, string>): Masked {
  const hits = [...secrets].flatMap(([secret, kind]) =>
    text
      .split(secret)
      .slice(0, -1)
      .map((_, at, parts) => {
        const start = parts.slice(0, at + 1).join(secret).length;
        return { start, end: start + secret.length, kind };
      }),
  );
  const masked = applyMasks(text, hits);
  return { ...masked, count: masked.found.length };
}

function memoryScratch(files: Map<string, Uint8Array>): ScratchFiles {
  return {
    async write(name, bytes) {
      const path = `/scratch/${name}`;
      files.set(path, bytes);
      return { path, remove: async () => void files.delete(path) };
    },
  };
}

function memoryStaging(staged: StagedText[]): AnswerStaging {
  const claims = new Set<string>();
  return {
    async claim(place) {
      const name = runName(place);
      if (claims.has(name)) throw new TeddyError('LOCKED', `${name} is being answered.`);
      claims.add(name);
      return { release: async () => void claims.delete(name) };
    },
    begin(place) {
      const answer: StagedText = { place, text: '', isAlive: true };
      staged.push(answer);
      return {
        add: (text) => void (answer.text += text),
        save: async () => void (answer.isSaved = true),
        discard: async () => remove(staged, answer),
        leave: async () => void Object.assign(answer, { isSaved: true, isAlive: false }),
      };
    },
    orphans: async () =>
      staged
        .filter(({ isAlive }) => !isAlive)
        .map((answer) => ({
          id: answer.place?.id ?? 'nameless',
          place: answer.place,
          claim: async () => ({ unconfirmedBytes: 0, damaged: null, ...answer }),
          discard: async () => remove(staged, answer),
        })),
    arriving: async (session) =>
      staged.flatMap(({ place, text, isElsewhere }) =>
        isElsewhere === true && place?.session === session ? [{ place, text }] : [],
      ),
  };
}

function remove<Item>(items: Item[], item: Item): void {
  items.splice(items.indexOf(item), 1);
}

const succeeded: CommandResult = {
  exitCode: 0,
  stdout: '',
  stderr: '',
  failedCommand: null,
  failedLine: null,
  timedOut: false,
  aborted: false,
  truncated: false,
  durationMs: 1,
};

/** The same project, in which something happens once between a decision and its publication. */
export function withRace(project: MemoryProject, meanwhile: () => Promise<unknown>): MemoryProject {
  const { repository } = project;
  let pending: typeof meanwhile | null = meanwhile;
  const race = async () => {
    const happens = pending;
    pending = null;
    await happens?.();
  };
  const store: Repository['store'] = {
    ...repository.store,
    updateRefs: async (...args) => race().then(() => repository.store.updateRefs(...args)),
  };
  const workspace: Workspace = {
    ...repository.workspace,
    publish: async (publication) => race().then(() => repository.workspace.publish(publication)),
  };
  return { ...project, repository: { ...repository, store, workspace, openWorkspace: async () => workspace } };
}

async function findMarked(
  store: Store,
  {
    marks,
    tips,
    not,
    since = 0,
  }: { marks: readonly string[]; tips: readonly Oid[]; not: readonly Oid[]; since?: number | undefined },
): Promise<MarkedCommit[]> {
  const reached = await Promise.all(tips.map((tip) => store.findReachable('', tip, not)));
  const found = await Promise.all(
    [...new Set(reached.flat())].map(async (oid) => {
      const { parents, message, committer, tree } = await store.readCommit(oid);
      const [parent = null, other] = parents;
      const changes = other === undefined ? await store.diffTrees(parent, tree) : [];
      const blobs = changes.map(({ path, after }) => ({ path, blob: after }));
      return { oid, parents, seconds: identSeconds(committer), message, changes: blobs };
    }),
  );
  const isMarked = (message: string) =>
    marks.length === 0 || message.split('\n').some((line) => marks.some((mark) => line.startsWith(mark)));
  return found.filter(({ message, seconds }) => seconds >= since && isMarked(message));
}
