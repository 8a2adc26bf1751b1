/** The parts of the disk that teddy needs to find an agent's files. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentFiles } from '../../agents/agent.ts';
import { fallBackTo } from '../../disk/system-error.ts';
import { realPath } from './agent-log-files.ts';

export const agentFiles: AgentFiles = {
  readText,
  async readToml(path) {
    const [text, { parse }] = await Promise.all([readText(path), import('smol-toml')]);
    try {
      return parse(text);
    } catch {
      return {};
    }
  },
  realPath,
  listLogs: async (directory) => (await listLogs(directory, 0)).toSorted(),
};

function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}

/** Lists the files that end in `.jsonl`, `depth` directories down. Also follows links, and lists the files behind them last. */
export async function listLogs(directory: string, depth: number): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(
    fallBackTo([], 'ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP'),
  );
  const isLink = (entry: (typeof entries)[number]) => Number(entry.isSymbolicLink());
  const inOrder = entries.toSorted((a, b) => isLink(a) - isLink(b));
  if (depth === 0)
    return inOrder
      .filter((entry) => !entry.isDirectory() && entry.name.endsWith('.jsonl'))
      .map(({ name }) => join(directory, name));
  const below = inOrder.filter((entry) => entry.isDirectory() || entry.isSymbolicLink());
  return (await Promise.all(below.map(({ name }) => listLogs(join(directory, name), depth - 1)))).flat();
}
