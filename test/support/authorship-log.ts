/**
 * Reads an authorship log, written only from the text of the Git AI Standard v3.0.0: a log that is accepted here has
 * everything that the standard says it MUST have.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';

const agentId = z.object({ tool: z.string().min(1), id: z.string().min(1), model: z.string().min(1) });
const metadata = z.object({
  schema_version: z.literal('authorship/3.0.0'),
  base_commit_sha: z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/),
  git_ai_version: z.string().optional(),
  prompts: z.record(
    z.string().regex(/^[0-9a-f]{16}$/),
    z.object({
      agent_id: agentId,
      human_author: z.string().optional(),
      messages_url: z.string().optional(),
      total_additions: z.number().int(),
      total_deletions: z.number().int(),
      accepted_lines: z.number().int(),
      overriden_lines: z.number().int(),
    }),
  ),
  // Session records have neither messages nor statistics.
  sessions: z
    .record(
      z.string().regex(/^s_[0-9a-f]{14}$/),
      z.strictObject({ agent_id: agentId, human_author: z.string().optional() }),
    )
    .default({}),
  humans: z.record(z.string().regex(/^h_[0-9a-f]{14}$/), z.strictObject({ author: z.string() })).default({}),
});

export type AuthorshipMetadata = z.infer<typeof metadata>;
type AgentId = z.infer<typeof agentId>;

export interface ReadLog {
  /** For each file, the agent that added a line, by line number, and the trace. */
  files: Map<string, Map<number, AgentId & { trace: string; askedBy: string }>>;
  metadata: AuthorshipMetadata;
}

export function readAuthorshipLog(text: string): ReadLog {
  const rows = text.split('\n');
  const divider = rows.indexOf('---');
  if (divider === -1) throw new Error('There is no divider.');
  const meta = metadata.parse(JSON.parse(rows.slice(divider + 1).join('\n')));
  for (const [key, { agent_id: agent }] of Object.entries(meta.sessions)) {
    const expected = createHash('sha256').update(`${agent.tool}:${agent.id}`).digest('hex').slice(0, 14);
    if (key !== `s_${expected}`) throw new Error(`${key} is not made of ${agent.tool}:${agent.id}.`);
  }
  const files: ReadLog['files'] = new Map();
  const used = new Set<string>();
  let lines: Map<number, AgentId & { trace: string; askedBy: string }> | null = null;
  for (const row of rows.slice(0, divider)) {
    if (!/^\s/.test(row)) {
      if (lines?.size === 0) throw new Error('A file has no attestation.');
      const path = readPath(row);
      if (files.has(path)) throw new Error(`${path} is there twice.`);
      files.set(path, (lines = new Map()));
      continue;
    }
    const [, key, trace, ranges = ''] = /^ {2}(s_[0-9a-f]{14})::(t_[0-9a-f]{14}) (\S+)$/.exec(row) ?? [];
    const record = meta.sessions[key ?? ''];
    if (lines === null || key === undefined || trace === undefined || record === undefined)
      throw new Error(`${JSON.stringify(row)} attests nothing.`);
    used.add(key);
    for (const line of readRanges(ranges)) {
      if (lines.has(line)) throw new Error(`Line ${line} has two authors.`);
      lines.set(line, { ...record.agent_id, trace, askedBy: record.human_author ?? '' });
    }
  }
  if (lines?.size === 0) throw new Error('A file has no attestation.');
  const idle = Object.keys(meta.sessions).filter((key) => !used.has(key));
  if (idle.length > 0) throw new Error(`${idle.join(', ')} has brought nothing.`);
  return { files, metadata: meta };
}

function readPath(row: string): string {
  const quoted = /^"([^"]+)"$/.exec(row)?.[1];
  if (quoted !== undefined) return quoted;
  if (row === '' || /["\s]/.test(row)) throw new Error(`${JSON.stringify(row)} is no path.`);
  return row;
}

/** Ascending, from 1, with one range for consecutive lines. */
function readRanges(text: string): number[] {
  const numbers: number[] = [];
  for (const part of text.split(',')) {
    const [, first = '', last = first] = /^([1-9]\d*)(?:-([1-9]\d*))?$/.exec(part) ?? [];
    const [from, to] = [Number(first), Number(last)];
    const before = numbers.at(-1) ?? -1;
    if (first === '' || from <= before + 1 || (part.includes('-') && to <= from))
      throw new Error(`${text} is no list of ranges.`);
    for (let line = from; line <= to; line += 1) numbers.push(line);
  }
  return numbers;
}
