/** Appending an entry: our object writer and publication, against one plain write and against git's own plumbing. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, openSync, writeSync, fsyncSync, closeSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { openProject } from '../../src/app.ts';
import type { Project } from '../../src/ports/project.ts';
import { decodeEntry } from '../../src/session/entries/entry.ts';
import { joinPath, turnDir, type Oid, type RefName, type RepoPath, type TurnName } from '../../src/names.ts';
import { append } from '../../src/workflow/line/append.ts';
import { findEntry } from '../../src/view/view.ts';
import { comparePairs, type Row } from './measure.ts';
import { git, makeRepository, sessionRef } from './repositories.ts';

type Env = NodeJS.ProcessEnv;
const logBytes = 200 * 1024;

/**
 * Text that deflates about as well as source code, and is new each time. Making it is part of the measured time, so it
 * is made fast.
 */
function makeLog(): string {
  const words = randomBytes(logBytes).toString('base64');
  const lines: string[] = [];
  for (let size = 0; size < logBytes; size += (lines.at(-1)?.length ?? 0) + 1)
    lines.push(`  const value = compute("${words.slice(12 * lines.length, 12 * lines.length + 12)}", options);`);
  return lines.join('\n');
}

async function openBench(root: string, env: Env): Promise<Project> {
  return openProject({
    cwd: root,
    env,
    notices: { info: () => undefined, warn: (text) => process.stderr.write(`${text}\n`) },
  });
}

/** 200 KB of log, a transcript, a list, the trees above them and the commit: durable, with the ref unmoved. */
export async function measureObjects(env: Env, runs: number): Promise<Row> {
  const root = makeRepository(env, 20);
  const project = await openBench(root, env);
  const dir = mkdtempSync(join(tmpdir(), 'teddy-bench-write-'));
  let file = 0;
  const { ours, against, ratio } = await comparePairs(
    runs,
    async () => {
      const batch = project.repository.store.batch();
      const oids = await Promise.all([
        batch.blob(makeLog()),
        batch.blob(randomBytes(300)),
        batch.blob(randomBytes(100)),
      ]);
      const turn = await batch.tree(oids.map((oid, at) => ({ mode: '100644' as const, name: `file${at}`, oid })));
      let tree = turn;
      for (const name of ['01', '20260124-add-user-auth', 'sessions', '.teddy'])
        tree = await batch.tree([{ mode: '40000', name, oid: tree }]);
      await batch.commit({ tree, parents: [], ...(await project.repository.store.ident()), message: 'turn\n' });
      await batch.flush();
    },
    () => {
      const bytes = deflateSync(makeLog(), { level: 1 });
      const handle = openSync(join(dir, `file${(file += 1)}`), 'w');
      writeSync(handle, bytes);
      fsyncSync(handle);
      closeSync(handle);
    },
  );
  await project.repository.close();
  rmSync(dir, { recursive: true });
  return {
    what: "durable write of a turn's objects, 200 KB log",
    against: 'one deflated, fsynced write of the log',
    oursMs: ours,
    againstMs: against,
    figure: ratio,
    unit: 'x',
    aim: 2.1,
  };
}

interface Appender {
  project: Project;
  ref: RefName;
  append(onLine: boolean): Promise<void>;
}

async function openAppender(root: string, env: Env): Promise<Appender> {
  const project = await openBench(root, env);
  const ref = sessionRef(root, env) as RefName;
  const { store } = project.repository;
  const tip = (await store.resolve(ref)) as Oid;
  const { entry: start } = await findEntry(store, tip);
  let turn = 1000;
  return {
    project,
    ref,
    async append(onLine) {
      turn += 1;
      const dir = turnDir(start.session, String(turn) as TurnName);
      const files = [
        { path: joinPath(dir, '_context.log'), bytes: makeLog() },
        { path: joinPath(dir, 'transcript.jsonl'), bytes: randomBytes(300) },
        { path: joinPath(dir, 'turn.context'), bytes: randomBytes(100) },
      ];
      await append(project, { ref, workspace: onLine ? project.repository.workspace : null }, () => [
        { kind: 'message', turn: String(turn) as TurnName, label: { title: 'bench', details: [] }, code: { files } },
      ]);
    },
  };
}

export async function measureAppend(env: Env, runs: number): Promise<Row> {
  const root = makeRepository(env, 20);
  git(root, env, ['switch', '-q', 'main']);
  const appender = await openAppender(root, env);
  const { ours, against, ratio } = await comparePairs(
    runs,
    () => appender.append(false),
    () => appendByPlumbing(root, env, appender.ref),
  );
  await appender.project.repository.close();
  return {
    what: 'append of that turn, including the ref',
    against: 'git plumbing with core.fsync=all',
    oursMs: ours,
    againstMs: against,
    figure: ratio,
    unit: 'x',
    aim: 0.5,
  };
}

function appendByPlumbing(root: string, env: Env, ref: string): void {
  const run = (args: string[], input?: string | Buffer, extra: Env = {}) => {
    const { status, stdout, stderr } = spawnSync('git', ['-c', 'core.fsync=all', ...args], {
      cwd: root,
      env: { ...env, ...extra },
      input: input ?? '',
    });
    if (status !== 0) throw new Error(stderr.toString());
    return stdout.toString().trim();
  };
  const index = { GIT_INDEX_FILE: join(root, '.git', 'bench-index') };
  const old = run(['rev-parse', ref]);
  const blobs = [makeLog(), randomBytes(300), randomBytes(100)].map((bytes) =>
    run(['hash-object', '-w', '--stdin'], bytes),
  );
  run(['read-tree', old], '', index);
  const names = ['_context.log', 'transcript.jsonl', 'turn.context'];
  const rows = blobs.map((oid, at) => `100644 ${oid}\t.teddy/sessions/x/${Date.now()}/${names[at]}\n`);
  run(['update-index', '--index-info'], rows.join(''), index);
  const tree = run(['write-tree'], '', index);
  const commit = run(['commit-tree', tree, '-p', old], run(['log', '-1', '--format=%B', old]));
  run(['update-ref', ref, commit, old]);
}

/** Off the line, a large repository against a small one. */
export async function measureLargeAppend(env: Env, runs: number, large: string): Promise<Row> {
  const small = makeRepository(env, 20);
  git(small, env, ['switch', '-q', 'main']);
  const compared = await compareAppends(env, runs, large, small);
  return {
    what: 'append off the line, 50,000 files',
    against: 'the same in a small repository',
    ...compared,
    aim: 1.2,
  };
}

export async function measureLongSession(env: Env, runs: number): Promise<Row> {
  const [long, short] = [makeRepository(env, 20), makeRepository(env, 20)];
  for (const root of [long, short]) git(root, env, ['switch', '-q', 'main']);
  await growSession(long, env, 1000);
  const compared = await compareAppends(env, runs, long, short);
  return { what: 'append in a session of 1,000 turns', against: 'the same in a new session', ...compared, aim: 1.5 };
}

async function compareAppends(
  env: Env,
  runs: number,
  measured: string,
  plain: string,
): Promise<Pick<Row, 'oursMs' | 'againstMs' | 'figure' | 'unit'>> {
  const appenders = [await openAppender(measured, env), await openAppender(plain, env)] as const;
  const { ours, against, ratio } = await comparePairs(
    runs,
    () => appenders[0].append(false),
    () => appenders[1].append(false),
  );
  for (const { project } of appenders) await project.repository.close();
  return { oursMs: ours, againstMs: against, figure: ratio, unit: 'x' };
}

/** 1,000 turn directories in one commit: an append reads and writes the tree, not the history. */
async function growSession(root: string, env: Env, turns: number): Promise<void> {
  const project = await openBench(root, env);
  const ref = sessionRef(root, env) as RefName;
  const tip = (await project.repository.store.resolve(ref)) as Oid;
  const { entry } = await findEntry(project.repository.store, tip);
  const files = Array.from({ length: turns }, (_, at) => ({
    path: joinPath(turnDir(entry.session, String(at + 1).padStart(2, '0') as TurnName), 'report.md') as RepoPath,
    bytes: `turn ${at}\n`,
  }));
  const last = decodeEntry((await project.repository.store.readCommit(tip)).message) ?? entry;
  const { kind, turn, title, details } = last;
  await append(project, { ref, workspace: null }, () => [{ kind, turn, label: { title, details }, code: { files } }]);
  await project.repository.close();
}

/** On the line the index is rewritten, as it is by `git commit`. */
export async function measureOnLine(env: Env, runs: number, large: string): Promise<Row> {
  const other = makeRepository(env, 50_000);
  const appender = await openAppender(large, env);
  let at = 0;
  const { ours, against, ratio } = await comparePairs(
    runs,
    () => appender.append(true),
    () => {
      writeFileSync(join(other, 'README.md'), `# ${(at += 1)}\n`);
      git(other, env, ['commit', '-q', '-m', 'one file', 'README.md']);
    },
  );
  await appender.project.repository.close();
  return {
    what: 'append on the line, 50,000 files',
    against: 'git commit of one file in the same repository',
    oursMs: ours,
    againstMs: against,
    figure: ratio,
    unit: 'x',
    aim: 1,
  };
}
