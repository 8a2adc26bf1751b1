/**
 * A whole project in memory for the workflows: repository, files, scripted commands, a clock that ticks a second a look,
 * ids in order, notices in a list; and the few things that a user does with git between two commands.
 */
import { createHash } from 'node:crypto';
import git from 'isomorphic-git';
import { TeddyError } from '../../src/errors.ts';
import type { CommandResult, Project, Repository, RunClaim, Workspace } from '../../src/ports.ts';
import type { Oid, RefName, RepoPath } from '../../src/session/names.ts';
import { memoryFiles } from './memory-files.ts';
import { gitdir, memoryBatch, memoryDisk, root } from './memory-objects.ts';
import { memoryStore } from './memory-store.ts';
import { keepDisk, memoryWorkspace, writeFiles, writeTreeOf, type MemoryWorkspaceState } from './memory-workspace.ts';

export interface MemoryProject extends Project {
  repository: Repository & { workspace: Workspace };
  /** Every notice, warnings with `warning: ` in front. */
  said: string[];
  settings: Map<string, string>;
  state: MemoryWorkspaceState;
  /** Null: git does not know the user. */
  identity: { text: string | null };
  /** What a command of a plan does; it may use `write`. */
  command: { run: (script: string, signal: AbortSignal) => Promise<Partial<CommandResult>> };
  /** Writes files of the work tree; null removes one. */
  write(files: Record<string, string | null>): Promise<void>;
  read(path: string): Promise<string | null>;
  stage(...paths: string[]): Promise<void>;
  /** As `git commit -a`: the tracked files as they are on disk, and what is staged. */
  commit(message: string, files?: Record<string, string | null>): Promise<Oid>;
  /** As `git update-ref`, with no check. */
  setRef(ref: string, oid: Oid): Promise<void>;
  /** As `git switch`, with `-c` when `at` is given. */
  switchTo(branch: string, at?: Oid): Promise<void>;
  detach(): Promise<void>;
  tipOf(branch: string): Promise<Oid>;
  /** A file of a commit, as text; null when there is none. */
  readAt(commit: Oid, path: string): Promise<string | null>;
}

/** With a first commit of `files` on `main`; null leaves `main` unborn. */
export async function memoryProject(
  files: Record<string, string> | null = { 'README.md': '# Notes\n' },
): Promise<MemoryProject> {
  const disk = await memoryDisk();
  const { fs } = disk;
  const settings = new Map<string, string>();
  const identity = { text: 'Ada Example <ada@example.org> 1769248800 +0000' as string | null };
  const store = memoryStore(disk, { ident: () => identity.text, settings });
  const state: MemoryWorkspaceState = { index: new Map(), operation: null, unmerged: [] };
  const workspace = memoryWorkspace(disk, store, state);
  const said: string[] = [];
  const command: MemoryProject['command'] = { run: async () => ({}) };
  const write = (content: Record<string, string | null>) =>
    writeFiles(
      disk,
      Object.entries(content).map(([path, bytes]) => ({ path, bytes })),
    );
  const setRef = (ref: string, oid: Oid) => git.writeRef({ fs, gitdir, ref, value: oid, force: true });
  const claims = new Map<string, 'held' | 'abandoned'>();
  let ticks = 0;
  let ids = 0;

  const project: MemoryProject = {
    repository: {
      store,
      workspace,
      workTrees: async () => [{ root, ref: (await workspace.head()).ref }],
      openWorkspace: async () => workspace,
      claimRun: async (session, turn) => claimRun(claims, `${session} ${turn}`),
      installAttributes: async () => undefined,
      close: async () => undefined,
    },
    clock: { now: () => new Date(Date.UTC(2026, 0, 24, 10, 0, (ticks += 1))) },
    ids: { entryId: () => `019bf000-0000-7000-8000-${String((ids += 1)).padStart(12, '0')}` },
    hash: (bytes) => createHash('sha256').update(bytes).digest('hex'),
    notices: { info: (text) => said.push(text), warn: (text) => said.push(`warning: ${text}`) },
    filesOf: () => memoryFiles(disk),
    shellOf: () => ({ run: async (script, { signal }) => ({ ...succeeded, ...(await command.run(script, signal)) }) }),
    said,
    settings,
    state,
    identity,
    command,
    write,
    async read(path) {
      const bytes = await workspace.readDisk(path as RepoPath);
      return bytes && new TextDecoder().decode(bytes);
    },
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
      await fs.promises.writeFile(`${gitdir}/HEAD`, `${(await workspace.head()).oid}\n`);
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

function claimRun(claims: Map<string, 'held' | 'abandoned'>, key: string): RunClaim {
  if (claims.get(key) === 'held') throw new TeddyError('LOCKED', `${key} is being executed.`);
  const wasInterrupted = claims.get(key) === 'abandoned';
  claims.set(key, 'held');
  return {
    wasInterrupted,
    release: async () => void claims.delete(key),
    abandon: async () => void claims.set(key, 'abandoned'),
  };
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

/** The same project, where something happens once between a decision and its publication. */
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
