/** A write session of 10 MiB: streamed, staged, checked and committed. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { openProject } from '../../src/app.ts';
import type { Project } from '../../src/ports/project.ts';
import { beginHeldWrite } from '../../src/workflow/writes/begin.ts';
import { finalizeHeld } from '../../src/workflow/writes/finalize.ts';
import { heldDestination, receiveInto } from '../../src/workflow/writes/run-write.ts';
import { comparePairs, type Row } from './measure.ts';
import { makeRepository, measuredStart, measureProcess } from './repositories.ts';

type Env = NodeJS.ProcessEnv;
const maxBytes = 10 * 1024 * 1024;
const chunkBytes = 64 * 1024;

/** JSON in chunks, as large as a content may be. */
function* makeChunks(bytes: number): Generator<Buffer> {
  let text = '[\n  "000000",\n';
  let sent = 0;
  for (let at = 0; sent + text.length < bytes - 200; at += 1) {
    text += `  { "id": ${at}, "name": "item ${(at * 7919) % 100_003}", "tags": ["a", "b"], "value": ${at / 8} },\n`;
    if (text.length < chunkBytes) continue;
    yield Buffer.from(text);
    sent += text.length;
    text = '';
  }
  const end = '  { "id": -1 }\n]\n';
  yield Buffer.from(text + ' '.repeat(bytes - sent - text.length - end.length) + end);
}

export async function measureWrites(env: Env, runs: number): Promise<Row[]> {
  return [await measureSession(env, runs), measureStdin(env), await measureHttp(env)];
}

function contentOf(bytes: number): Buffer {
  return Buffer.concat([...makeChunks(bytes)]);
}

function split(content: Buffer, bytes: number): Buffer[] {
  return Array.from({ length: Math.ceil(content.length / bytes) }, (_, at) =>
    content.subarray(at * bytes, (at + 1) * bytes),
  );
}

async function openBench(root: string, env: Env): Promise<Project> {
  const notices = { info: () => undefined, warn: (text: string) => void process.stderr.write(`${text}\n`) };
  return openProject({ cwd: root, env, notices });
}

async function measureSession(env: Env, runs: number): Promise<Row> {
  const [root, other] = [makeRepository(env, 20), makeRepository(env, 20)];
  const project = await openBench(root, env);
  const dir = mkdtempSync(join(tmpdir(), 'teddy-bench-write-'));
  const content = contentOf(maxBytes);
  let file = 0;
  const { ours, against, ratio } = await comparePairs(
    Math.min(runs, 9),
    async () => {
      // Another blob each time: an existing one is not rewritten.
      content.write(String((file += 1)).padStart(6, '0'), '[\n  "'.length);
      await writeSession(project, `data/file${file}.json`, split(content, chunkBytes));
    },
    () => writeAndHash(other, env, join(dir, `file${file}`), content),
  );
  await project.repository.close();
  rmSync(dir, { recursive: true });
  return {
    what: 'write session, 10 MiB of JSON',
    against: 'write, fsync and git hash-object -w, core.fsync=all',
    oursMs: ours,
    againstMs: against,
    figure: ratio,
    unit: 'x',
    aim: 3,
  };
}

async function writeSession(project: Project, target: string, chunks: Iterable<Uint8Array>): Promise<void> {
  const wish = { intent: 'measure', target, operation: 'create', hasController: true };
  const { held } = await beginHeldWrite(project, wish);
  async function* source(): AsyncGenerator<Uint8Array> {
    yield* chunks;
    yield Buffer.from('DONE\n');
  }
  try {
    const { signal } = new AbortController();
    const destination = heldDestination(project, held, { isOfModel: false, signal });
    await receiveInto(project, destination, source(), {
      isRestart: false,
      isAnswer: false,
      signal,
      onPrompt: () => undefined,
    });
    const finalized = await finalizeHeld(project, held);
    if (!finalized.isWritten) throw new Error(finalized.message);
    if (!finalized.result.summary.passed.includes('syntax')) throw new Error('Its syntax was not checked.');
  } finally {
    await held.staged.close();
  }
}

function writeAndHash(root: string, env: Env, path: string, content: Uint8Array): void {
  const file = openSync(path, 'w');
  writeSync(file, content);
  fsyncSync(file);
  closeSync(file);
  const args = ['-c', 'core.fsync=all', 'hash-object', '-w', path];
  const { status, stderr } = spawnSync('git', args, { cwd: root, env });
  if (status !== 0) throw new Error(stderr.toString());
}

/** The peak of a process that receives 10 MiB, over that of one that receives 1 KiB. */
function measureStdin(env: Env): Row {
  const root = makeRepository(env, 20);
  const stream = (target: string, bytes: number) =>
    measureProcess(root, env, streamArgs(target), Buffer.concat([...makeChunks(bytes), Buffer.from('DONE\n')]));
  const small = stream('small.json', 1024);
  const large = stream('large.json', maxBytes);
  return toMemoryRow('on stdin', large.ms, large.peakMb - small.peakMb);
}

/** The same for the server, and for the client; the row shows the larger one. */
async function measureHttp(env: Env): Promise<Row> {
  const root = makeRepository(env, 20);
  const stream = async (target: string, bytes: number) => {
    const start = measuredStart(env, ['serve', '--port', '0']);
    const server = spawn(process.execPath, start.args, {
      cwd: root,
      env: start.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = once(server, 'exit');
    const url = await readUrl(server.stdout, server.stderr);
    const content = Buffer.concat([...makeChunks(bytes), Buffer.from('DONE\n')]);
    const client = measureProcess(root, env, [...streamArgs(target), '--server', url], content);
    server.kill('SIGINT');
    await ended;
    return { ms: client.ms, peaksMb: [start.readPeakMb(), client.peakMb] };
  };
  const small = await stream('small.json', 1024);
  const large = await stream('large.json', maxBytes);
  const over = large.peaksMb.map((peak, at) => peak - (small.peaksMb[at] ?? 0));
  return toMemoryRow('over HTTP', large.ms, Math.max(...over));
}

function streamArgs(target: string): string[] {
  return ['write', 'stream', '--target', target, '--operation', 'create'];
}

async function readUrl(...outputs: Readable[]): Promise<string> {
  return new Promise((resolve) => {
    let said = '';
    for (const output of outputs)
      output.on('data', (piece: Buffer) => {
        said += piece.toString();
        const url = /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0];
        if (url !== undefined) resolve(url);
      });
  });
}

function toMemoryRow(how: string, oursMs: number, figure: number): Row {
  const what = `write session ${how}, 10 MiB of JSON: peak memory above that for 1 KiB`;
  return { what, against: '', oursMs, againstMs: null, figure, unit: 'MB', aim: 50 };
}
