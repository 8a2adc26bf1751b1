/** Agents' logs in memory: a test writes them, and capture follows them. */
import { createHash } from 'node:crypto';
import { agents, type AgentName } from '../../src/agents/agents.ts';
import type { FoundLog, LogLine, LogPosition } from '../../src/ports/agent-logs.ts';
import type { Capture } from '../../src/ports/agent-logs.ts';

export interface MemoryCapture extends Capture {
  /** The bytes of each log, by its path. */
  files: Map<string, string>;
  saved: Map<string, Record<string, unknown>>;
  /** How many bytes were read in total. */
  read: number;
}

const digest = (text: string) => createHash('sha256').update(text).digest('hex');

/** `agent`: the agent whose logs they are. */
export function memoryCapture(agent: AgentName, root = '/project'): MemoryCapture {
  const files = new Map<string, string>();
  const saved = new Map<string, Record<string, unknown>>();
  const statOf = (path: string) => {
    const text = files.get(path);
    return text === undefined ? null : { device: 1, inode: 1, size: Buffer.byteLength(text), mtimeMs: 0 };
  };
  const capture: MemoryCapture = {
    files,
    saved,
    read: 0,
    isAlive: async () => true,
    states: {
      list: async () => [...saved.values()],
      read: async (path) => structuredClone(saved.get(path) ?? null),
      write: async (path, state) => void saved.set(path, structuredClone(state)),
      remove: async (path) => void saved.delete(path),
    },
    logs: {
      stat: async (_agent, path) => statOf(path),
      readNamed: async (path) => files.get(path) ?? null,
      async read(path, position) {
        const bytes = Buffer.from(files.get(path) ?? '');
        if (!files.has(path)) return null;
        const start: LogPosition = position ?? {
          device: 1,
          inode: 1,
          offset: 0,
          lines: 0,
          tail: { length: 0, sha256: '' },
        };
        const tail = bytes.subarray(start.offset - start.tail.length, start.offset).toString();
        if (bytes.length < start.offset || (start.tail.length > 0 && digest(tail) !== start.tail.sha256)) return null;
        let [offset, count, last] = [start.offset, start.lines, ''];
        async function* lines(): AsyncIterable<LogLine> {
          for (let end = bytes.indexOf(10, offset); end !== -1; end = bytes.indexOf(10, offset)) {
            last = bytes.subarray(offset, end + 1).toString();
            capture.read += end + 1 - offset;
            [offset, count] = [end + 1, count + 1];
            if (last.trim() !== '') yield { number: count, text: last.trimEnd() };
          }
        }
        return {
          lines: lines(),
          position: () => ({
            ...start,
            offset,
            lines: count,
            tail: last === '' ? start.tail : { length: Buffer.byteLength(last), sha256: digest(last) },
          }),
        };
      },
      async *find() {
        for (const path of files.keys()) {
          const stat = statOf(path);
          if (stat !== null) yield { agent, path, stat } satisfies FoundLog;
        }
      },
      locate: async () => null,
      directory: async () => null,
      realPath: async (directory) => directory,
      topOf: async (directory) => (directory.startsWith(root) ? root : null),
      subAgents: async () => [],
      planCall: async (name, payload) => {
        const readText = async (path: string) => files.get(path) ?? '';
        const locate = async (id: string) => [...files.keys()].find((path) => path.includes(id)) ?? null;
        return (await agents[name].hooks.gate?.readCall(payload, { readText, locate })) ?? null;
      },
    },
  };
  return capture;
}
