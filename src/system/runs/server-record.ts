/** The record of the repository's server, in a file that only its user can read. */
import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { TeddyError } from '../../errors.ts';
import type { ServerRecord, ServerRecords } from '../../ports/disk.ts';
import { claimFile, findHolder, type Claim, type Processes } from '../../disk/claim-file.ts';
import { removeFile, replaceDurably } from '../../disk/durable-file.ts';
import { asDiskErrors, fallBackTo } from '../../disk/system-error.ts';

export interface ServerRecordOptions extends Processes {
  path: string;
}

export function serverRecords({ path, ...processes }: ServerRecordOptions): ServerRecords {
  return {
    path,
    async read() {
      const record = await readRecord(path);
      // Something may have killed the server; teddy must not send its token to another process that now has its port.
      return record?.pid === (await findHolder(claimPath(path), processes)) ? record : null;
    },
    async claim() {
      const claim = await orFail(path, () => takeClaim(path, processes));
      if (!('release' in claim)) throw toRunning(await readRecord(path), claim.heldBy);
      return {
        publish: (record) => orFail(path, () => replaceDurably(path, `${JSON.stringify(record, null, 2)}\n`, 0o600)),
        async release() {
          await removeFile(path);
          await claim.release();
        },
      };
    },
  };
}

/** The claim is a separate file, because teddy cannot write the record before the port is assigned. */
async function takeClaim(path: string, processes: Processes): Promise<Claim | { heldBy: number }> {
  await mkdir(dirname(path), { recursive: true });
  return claimFile(claimPath(path), processes);
}

function claimPath(path: string): string {
  return `${path}.lock`;
}

function toRunning(record: ServerRecord | null, pid: number): TeddyError {
  const where = record?.pid === pid ? `: ${record.url}` : '.';
  const message = `A server for this repository is already running, as process ${pid}${where}`;
  return new TeddyError('SERVER_RUNNING', message, 'Use that server, or stop it first.');
}

function orFail<Value>(path: string, act: () => Promise<Value>): Promise<Value> {
  const hint = 'Make it writable, and run the command again.';
  return asDiskErrors([`${path} could not be written`, hint, hint], act);
}

async function readRecord(path: string): Promise<ServerRecord | null> {
  const text = await readFile(path, 'utf8').catch(fallBackTo(null, 'ENOENT'));
  return text === null ? null : parseRecord(text);
}

/** Returns null for a damaged record. teddy writes records atomically, so none of its servers has left one like that. */
function parseRecord(text: string): ServerRecord | null {
  try {
    const { url, port, pid, token } = JSON.parse(text) as Partial<Record<keyof ServerRecord, unknown>>;
    const isWhole = typeof url === 'string' && typeof token === 'string';
    return isWhole && typeof port === 'number' && typeof pid === 'number' ? { url, port, pid, token } : null;
  } catch {
    return null;
  }
}
