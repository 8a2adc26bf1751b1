/** The processes of this machine, according to /proc or `ps`, and whether an AI agent has started one. */
import { execFile } from 'node:child_process';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Callers, ProcessTree } from '../../ports/project.ts';
import { findAgentTrace } from '../../agents/traces.ts';
import type { AgentTrace, RunningProcess } from '../../ports/project.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export function callers({ env, tree }: { env: Environment; tree: ProcessTree }): Callers {
  let own: Promise<AgentTrace | null> | undefined;
  const findAgent = () =>
    (own ??= tree.chain(process.pid).then((chain) => findAgentTrace(env, (chain ?? []).slice(1))));
  return {
    findAgent,
    async findAgentBehind({ from, to }) {
      const pid = await tree.connected(from, to);
      const [chain, variables] = pid === null ? [null, null] : [await tree.chain(pid), await tree.environment(pid)];
      if (chain !== null && variables !== null) return findAgentTrace(variables, chain);
      return { seen: 'It is unknown which program requested this.', pid: null };
    },
    async userEnvironment() {
      const { pid } = (await findAgent()) ?? { pid: null };
      return pid === null ? null : tree.environment(pid);
    },
  };
}

interface ListedProcess extends RunningProcess {
  parent: number;
}

/** No real chain of processes is longer; a longer one is a loop caused by a reused process number. */
const maxDepth = 256;

export function processTree(): ProcessTree {
  return {
    async chain(pid) {
      const read = (await readProcess(pid)) === null ? await listProcesses() : readProcess;
      const found: RunningProcess[] = [];
      for (let next = pid; next > 0 && found.length < maxDepth;) {
        const one = await read(next);
        if (one === null) break;
        found.push({ pid: one.pid, name: one.name, words: one.words });
        next = one.parent;
      }
      return found.length === 0 ? null : found;
    },
    async environment(pid) {
      const text = await readText(`/proc/${pid}/environ`);
      if (text === '') return null;
      const pairs = text
        .split('\0')
        .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]);
      return Object.fromEntries(pairs) as Record<string, string>;
    },
    connected,
  };
}

async function readProcess(pid: number): Promise<ListedProcess | null> {
  const [stat, line] = await Promise.all([readText(`/proc/${pid}/stat`), readText(`/proc/${pid}/cmdline`)]);
  // The name in parentheses may contain anything.
  const end = stat.lastIndexOf(')');
  const [, parent] = stat.slice(end + 2).split(' ');
  if (parent === undefined) return null;
  const words = line.replace(/\0$/, '').split('\0');
  return { pid, parent: Number(parent), name: stat.slice(stat.indexOf('(') + 1, end), words };
}

/** For systems without /proc. `ps` does not separate a command's words, so a path with a space counts as two words. */
async function listProcesses(): Promise<(pid: number) => Promise<ListedProcess | null>> {
  const args = ['-axww', '-o', 'pid=,ppid=,command='];
  const listed = promisify(execFile)('ps', args, { maxBuffer: 64 * 1024 * 1024 });
  // Without `ps`, nothing reveals the processes, as the port allows.
  const { stdout } = await listed.catch(() => ({ stdout: '' }));
  const known = new Map<number, ListedProcess>();
  for (const row of stdout.split('\n')) {
    const [, pid, parent, command = ''] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(row) ?? [];
    if (pid === undefined) continue;
    known.set(Number(pid), { pid: Number(pid), parent: Number(parent), name: '', words: command.split(/\s+/) });
  }
  return async (pid) => known.get(pid) ?? null;
}

async function connected(from: number, to: number): Promise<number | null> {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readText(`/proc/net/${name}`)));
  const rows = tables.flatMap((table) => table.split('\n').map((row) => row.trim().split(/\s+/)));
  const ends = [from, to].map((port) => `:${port.toString(16).toUpperCase().padStart(4, '0')}`);
  const isIt = (own = '', other = '') => own.endsWith(ends[0] ?? '') && other.endsWith(ends[1] ?? '');
  const inode = rows.find(([, own, other]) => isIt(own, other))?.[9];
  if (inode === undefined || inode === '0') return null;
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    // Skips a process that has exited or belongs to another user.
    const files = await readdir(`/proc/${pid}/fd`).catch(() => []);
    const targets = await Promise.all(files.map((file) => readlink(`/proc/${pid}/fd/${file}`).catch(() => '')));
    if (targets.includes(`socket:[${inode}]`)) return Number(pid);
  }
  return null;
}

/** Returns an empty text when the process is gone or belongs to another user, or the system has no /proc. */
async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}
