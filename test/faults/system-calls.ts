/** The order in which data reaches the disk, as seen by the kernel. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const traced = 'fsync,fdatasync,link,linkat,rename,renameat,renameat2';
const written = 'write,pwrite64';

export interface SystemCall {
  name: string;
  /** The paths in the trace: quoted names, or the files that descriptors are open on. */
  paths: string[];
  /** The text in the trace; for written bytes, the beginning. */
  text: string;
  /** Places in the trace. */
  begin: number;
  end: number;
}

export function canTrace(): Promise<boolean> {
  return run('strace', ['-V']).then(
    () => true,
    () => false,
  );
}

/** Traces the command and all its children; `log` is the trace file. */
export async function traceSystemCalls(
  command: string[],
  log: string,
  { withWrites = false }: { withWrites?: boolean } = {},
): Promise<SystemCall[]> {
  const names = withWrites ? `${traced},${written}` : traced;
  await run('strace', ['-f', '-y', '-s', '4096', '-e', `trace=${names}`, '-o', log, ...command]);
  return parseTrace(await readFile(log, 'utf8'));
}

/** One call may take two lines, if another thread came between its begin and its end. */
function parseTrace(text: string): SystemCall[] {
  const open = new Map<string, SystemCall>();
  const calls: SystemCall[] = [];
  for (const [place, row] of text.split('\n').entries()) {
    const [, thread = '', rest = ''] = /^(\d+)\s+(.*)$/.exec(row) ?? [];
    const resumed = open.get(thread);
    if (rest.startsWith('<... ') && resumed) {
      resumed.end = place;
      open.delete(thread);
      continue;
    }
    const name = /^(\w+)\(/.exec(rest)?.[1];
    if (name === undefined) continue;
    const paths = [...rest.matchAll(/"([^"]+)"|\d+<([^>]+)>/g)].map(([, quoted, opened]) => quoted ?? opened ?? '');
    const call = { name, paths, text: rest, begin: place, end: place };
    calls.push(call);
    if (rest.includes('<unfinished')) open.set(thread, call);
  }
  return calls;
}
