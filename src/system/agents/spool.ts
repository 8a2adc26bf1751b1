/** The spool: a directory where agents' hooks write a line for each call, and from which a single drainer takes the lines. */
import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { claimFile, findHolder, type ClaimOptions } from '../../disk/claim-file.ts';
import { findHolders } from '../../disk/lock-holders.ts';
import { makePrivateDirectory, replaceDurably } from '../../disk/durable-file.ts';
import { removeFile, renameIfExists, replaceFile, toWriteError } from '../../disk/replace-file.ts';
import { errorCode, fallBackTo, nullIfGone } from '../../disk/system-error.ts';
import type { HookCall, Spool, SpoolState } from '../../ports/capture.ts';
import type { Clock } from '../../ports/project.ts';
import { parseObject } from '../../session/text/parse-object.ts';
import { sha256 } from '../ids.ts';
import { seal, unseal } from '../../disk/sealed-json.ts';
import type { FollowerStates } from '../../ports/agent-logs.ts';

interface SpoolOptions extends ClaimOptions {
  dir: string;
  clock: Pick<Clock, 'now'>;
}

interface TakenFile {
  path: string;
  agent: string;
  /** False when the file was written as a whole and nothing appends to it. */
  grows: boolean;
  /** The number of bytes read, from the start of the file. */
  end: number;
}

interface BadLine {
  agent: string;
  bytes: Buffer;
}

const version = 1;
/** A half-written file of this age belongs to a killed hook; a live one would have renamed it long ago. */
const abandonedAfterMs = 10 * 60 * 1000;
/** No agent has sent a file larger than this, and a larger one does not fit into a string. */
const maxOwnFileBytes = 256 * 1024 * 1024;

export function spool(options: SpoolOptions): Spool {
  const { dir, clock } = options;
  /** Files handled up to an offset that still exist because a hook had them open. */
  const dealt = new Map<string, number>();
  return {
    dir,
    look: () => look(options),
    pauses: () => readPauses(dir),
    claim: () => claimDrainer(options),
    async take() {
      const files: TakenFile[] = [];
      const bad: BadLine[] = [];
      const calls: HookCall[] = [];
      for (const found of await takeFiles(options)) {
        const bytes = await readFile(found.path);
        const from = found.grows ? (dealt.get(found.path) ?? 0) : 0;
        files.push({ ...found, end: bytes.length });
        for (const line of found.grows ? splitLines(bytes.subarray(from)) : [bytes]) {
          const call = parseCall(line);
          if (call === null) bad.push({ agent: found.agent, bytes: line });
          else calls.push(call);
        }
      }
      calls.sort((one, other) => one.at - other.at);
      return {
        calls,
        unreadable: bad.length,
        async done() {
          await setAside(dir, bad);
          await noteLast(dir, calls);
          for (const file of files) await removeDealt(file, dealt);
        },
      };
    },
    open: () => openSpool(options),
    close: () => closeSpool(options),
    async pause(isPaused) {
      const path = join(dir, 'paused');
      const pauses = await readPauses(dir);
      const from = pauses.find(({ to }) => to === null)?.from ?? null;
      const now = clock.now().getTime();
      if (isPaused) return from === null ? replaceFile(path, `${now}\n`, dirname(dir)) : undefined;
      if (from === null) return undefined;
      const over = [...pauses.filter(({ to }) => to !== null), { from, to: now }];
      await replaceFile(join(dir, 'pauses'), over.map((one) => `${one.from} ${one.to}\n`).join(''), dirname(dir));
      return removeFile(path);
    },
  };
}

/** Renames the files first: hooks append under the old name, so only a hook with a file already open reaches the new one. */
async function takeFiles({ dir, clock }: SpoolOptions): Promise<Omit<TakenFile, 'end'>[]> {
  const taken = join(dir, 'taken');
  for (const { name, size, mtimeMs } of await listFiles(dir)) {
    const agent = agentOf(name);
    if (/^[a-z0-9-]+\.jsonl$/.test(name)) {
      await moveInto(taken, join(dir, name), `${agent}.${randomBytes(8).toString('hex')}.jsonl`);
    } else if (
      (name.endsWith('.tmp') && clock.now().getTime() - mtimeMs > abandonedAfterMs) ||
      (name.endsWith('.json') && size > maxOwnFileBytes)
    ) {
      await moveInto(join(dir, 'unreadable'), join(dir, name), name);
    }
  }
  const ofLines = (await listFiles(taken)).filter(({ name }) => name.endsWith('.jsonl'));
  const whole = (await listFiles(dir)).filter(({ name }) => name.endsWith('.json'));
  return [
    ...ofLines.map(({ name }) => ({ path: join(taken, name), agent: agentOf(name), grows: true })),
    ...whole.map(({ name }) => ({ path: join(dir, name), agent: agentOf(name), grows: false })),
  ];
}

async function moveInto(dir: string, path: string, name: string): Promise<void> {
  if (await makeBelow(dir)) await rename(path, join(dir, name)).catch(nullIfGone);
}

/** Returns false when the spool was closed in the meantime; it must not reappear on its own. */
async function makeBelow(dir: string): Promise<boolean> {
  const code = await mkdir(dir, { mode: 0o700 }).then(() => null, errorCode);
  if (code === null || code === 'EEXIST') return true;
  if (code === 'ENOENT') return false;
  throw toWriteError(Object.assign(new Error(code), { code }), dir);
}

/**
 * Lists regular files whose names begin with an agent's name, sorted by name. A hook or another process may remove one
 * meanwhile.
 */
async function listFiles(dir: string) {
  const names = await readdir(dir).catch(noneThere);
  const files = await Promise.all(
    names
      .filter(
        (name) => /^[a-z0-9-]+\.(?:[\w.-]+\.(?:jsonl|json|tmp)|jsonl)$/.test(name) && !name.startsWith('drainer.'),
      )
      .map(async (name) => ({ name, found: await lstat(join(dir, name)).catch(nullIfGone) })),
  );
  return files
    .flatMap(({ name, found }) => (found?.isFile() ? [{ name, size: found.size, mtimeMs: found.mtimeMs }] : []))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

function agentOf(name: string): string {
  return name.slice(0, name.indexOf('.'));
}

const noneThere = fallBackTo<string[]>([], 'ENOENT', 'ENOTDIR');

/** The last line may lack its line end. A hook also begins with a line end, so that a cut line does not spoil the next one. */
function splitLines(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf(0x0a, from);
    const to = end < 0 ? bytes.length : end;
    if (to > from) lines.push(bytes.subarray(from, to));
    from = to + 1;
  }
  return lines;
}

function parseCall(line: Buffer): HookCall | null {
  const { v, agent, at, ppid, event, payload } = parseObject(line.toString('utf8')) ?? {};
  if (v !== version || typeof agent !== 'string' || !Number.isSafeInteger(at)) return null;
  if (payload !== null && (typeof payload !== 'object' || Array.isArray(payload))) return null;
  return {
    agent,
    at: Number(at),
    ppid: Number.isSafeInteger(ppid) ? Number(ppid) : 0,
    payload: { ...(typeof event === 'string' && event !== '' ? { event } : {}), ...payload } as HookCall['payload'],
  };
}

/** Names a line by its hash, so that it is stored once even if a crash makes teddy set it aside twice. */
async function setAside(dir: string, bad: readonly BadLine[]): Promise<void> {
  if (bad.length === 0 || !(await makeBelow(join(dir, 'unreadable')))) return;
  for (const { agent, bytes } of bad) {
    const hash = sha256(bytes).slice(0, 32);
    await replaceFile(join(dir, 'unreadable', `${agent}.${hash}`), bytes, dirname(dir));
  }
}

async function noteLast(dir: string, calls: readonly HookCall[]): Promise<void> {
  const last = new Map(calls.map(({ agent, at }) => [agent, at]));
  if (last.size === 0 || !(await makeBelow(join(dir, 'seen')))) return;
  for (const [agent, at] of last)
    if (/^[a-z0-9-]+$/.test(agent)) await replaceFile(join(dir, 'seen', agent), `${at}\n`, dirname(dir));
}

/** Keeps anything that a hook has appended since the read for the next `take`. */
async function removeDealt({ path, grows, end }: TakenFile, dealt: Map<string, number>): Promise<void> {
  dealt.set(path, end);
  // No process can open the file anymore, but a process that has it open may append until it closes the file.
  const isOpen = grows && (await findHolders(await realpath(path).catch(() => path))).length > 0;
  if (isOpen || ((await stat(path).catch(nullIfGone))?.size ?? end) > end) return;
  await removeFile(path);
  dealt.delete(path);
}

/** Hooks read `drainer`: the process's pid and start time, each on its own line. The claim is a separate file beside it. */
async function claimDrainer(options: SpoolOptions): ReturnType<Spool['claim']> {
  const path = join(options.dir, 'drainer');
  const claim = await claimFile(`${path}.claim`, options);
  if ('heldBy' in claim) return claim;
  const text = `${process.pid}\n${(await options.startTime?.()) ?? ''}\n`;
  const release = async () => {
    try {
      await removeFile(path);
    } finally {
      await claim.release();
    }
  };
  try {
    await replaceFile(path, text, dirname(options.dir));
    await noteBoot(options);
  } catch (error) {
    await release();
    throw error;
  }
  return { release };
}

/** Lets a hook compute the time from the uptime without running another program. Some systems do not provide the uptime. */
async function noteBoot({ dir, clock, bootId }: SpoolOptions): Promise<void> {
  const uptime = Number.parseFloat(await readFile('/proc/uptime', 'utf8').catch(() => ''));
  if (Number.isNaN(uptime)) return;
  const since = Math.floor(clock.now().getTime() / 1000 - uptime);
  await replaceFile(join(dir, 'clock'), `${await bootId()}\n${since}\n`, dirname(dir));
}

async function look(options: SpoolOptions): Promise<SpoolState> {
  const { dir } = options;
  const isThere = (path: string) => stat(path).then(Boolean, nullIfGone);
  const found = await stat(dir).catch(nullIfGone);
  const exists = found?.isDirectory() ?? false;
  const files = [...(await listFiles(dir)), ...(await listFiles(join(dir, 'taken')))].filter(({ size }) => size > 0);
  const waiting = new Map<string, { bytes: number; oldest: number }>();
  const lastCalls = new Map<string, number>();
  for (const agent of await readdir(join(dir, 'seen')).catch(noneThere)) {
    const at = Number(await readFile(join(dir, 'seen', agent), 'utf8').catch(() => 'none'));
    if (Number.isSafeInteger(at)) lastCalls.set(agent, at);
  }
  for (const { name, size, mtimeMs } of files) {
    const [agent, at] = [agentOf(name), Math.floor(mtimeMs / 1000)];
    const { bytes = 0, oldest = at } = waiting.get(agent) ?? {};
    waiting.set(agent, { bytes: bytes + size, oldest: Math.min(oldest, at) });
    lastCalls.set(agent, Math.max(lastCalls.get(agent) ?? 0, at));
  }
  return {
    exists,
    since: Math.floor((found?.birthtimeMs ?? 0) / 1000),
    paused: (await isThere(join(dir, 'paused'))) === true,
    drainer: exists ? await findHolder(join(dir, 'drainer.claim'), options) : null,
    waiting: [...waiting].map(([agent, of]) => ({ agent, ...of })),
    lastCalls,
    unreadable: (await readdir(join(dir, 'unreadable')).catch(noneThere)).length,
  };
}

async function openSpool(options: SpoolOptions): Promise<void> {
  const { dir } = options;
  if ((await stat(dir).catch(nullIfGone)) !== null) return;
  await makeSpool(dir);
  await noteBoot(options);
}

async function makeSpool(dir: string): Promise<void> {
  try {
    await mkdir(dirname(dir), { recursive: true });
    await rename(keptPath(dir), dir);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw toWriteError(error, dir);
    await makePrivateDirectory(dir).catch((failure: unknown) => {
      throw toWriteError(failure, dir);
    });
  }
}

function keptPath(dir: string): string {
  return `${dir}.kept`;
}

/** Renames the spool first, so that no hook begins to write to it during the examination. */
async function closeSpool({ dir, clock, ...processes }: SpoolOptions): Promise<string | null> {
  const kept = keptPath(dir);
  const isMoved = await renameIfExists(dir, kept).catch((error: unknown) => {
    throw toWriteError(error, kept);
  });
  if (!isMoved) return null;
  const { waiting, unreadable } = await look({ dir: kept, clock, ...processes });
  const journals = await readdir(join(kept, 'opencode')).catch(noneThere);
  if (waiting.length > 0 || unreadable > 0 || journals.length > 0) return kept;
  await rm(kept, { recursive: true });
  return null;
}

/** teddy omits records from a pause, whenever it reads their log. */
async function readPauses(dir: string): Promise<{ from: number; to: number | null }[]> {
  const read = (name: string) => readFile(join(dir, name), 'utf8').catch(nullIfGone);
  const [over, paused] = await Promise.all([read('pauses'), read('paused')]);
  const pauses = (over ?? '').split('\n').flatMap((line) => {
    const [, from, to] = /^(\d+) (\d+)$/.exec(line) ?? [];
    return from === undefined ? [] : [{ from: Number(from), to: Number(to) }];
  });
  if (paused === null) return pauses;
  // Somebody created an empty file by hand, so the time is unknown.
  const since = /^\d+/.exec(paused)?.[0];
  return [...pauses, { from: since === undefined ? 0 : Number(since), to: null }];
}

/** A damaged file counts as missing: teddy then reads the log from its beginning, and takes nothing twice. */
export function followerStates(dir: string): FollowerStates {
  const fileOf = (path: string) => join(dir, `${sha256(path).slice(0, 32)}.json`);
  const read = async (file: string) => {
    const text = await readFile(file, 'utf8').catch(fallBackTo(null, 'ENOENT'));
    return text === null ? null : unseal(text);
  };
  return {
    async list() {
      const names = await readdir(dir).catch(fallBackTo([], 'ENOENT'));
      const states = await Promise.all(
        names.filter((name) => /^[0-9a-f]{32}\.json$/.test(name)).map((name) => read(join(dir, name))),
      );
      return states.filter((state) => state !== null);
    },
    read: (path) => read(fileOf(path)),
    async write(path, state) {
      await makePrivateDirectory(dir);
      await replaceDurably(fileOf(path), `${JSON.stringify(seal(state))}\n`, 0o600);
    },
    remove: (path) => removeFile(fileOf(path)),
  };
}
