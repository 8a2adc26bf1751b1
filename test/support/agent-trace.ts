/** Reads an Agent Trace 0.1.0 record, written from its schema's rules, and some that its text adds. */
import { z } from 'zod';

const contributor = z.object({
  type: z.enum(['human', 'ai', 'mixed', 'unknown']),
  model_id: z.string().max(250).optional(),
});
const range = z
  .object({
    start_line: z.int().min(1),
    end_line: z.int().min(1),
    content_hash: z.string().optional(),
    contributor: contributor.optional(),
  })
  .refine(({ start_line: first, end_line: last }) => first <= last);
const conversation = z.object({
  url: z.url().optional(),
  contributor: contributor.optional(),
  ranges: z.array(range),
  related: z.array(z.object({ type: z.string(), url: z.url() })).optional(),
});
const record = z.object({
  version: z.string().regex(/^\d+\.\d+\.\d+$/),
  id: z.uuid(),
  timestamp: z.iso.datetime(),
  vcs: z.object({ type: z.enum(['git', 'jj', 'hg', 'svn']), revision: z.string() }).optional(),
  tool: z.object({ name: z.string(), version: z.string() }).optional(),
  files: z.array(z.object({ path: z.string().regex(/^[^/]/), conversations: z.array(conversation) })),
  metadata: z.record(z.string(), z.unknown()).optional(),
});

export interface TracedLine {
  type: string;
  model?: string | undefined;
  url?: string | undefined;
}

export interface ReadTrace {
  record: z.infer<typeof record>;
  /** The author of each line in each file, by line number; no line has two. */
  files: Map<string, Map<number, TracedLine>>;
}

export function readAgentTrace(text: string): ReadTrace {
  const read = record.parse(JSON.parse(text));
  const files: ReadTrace['files'] = new Map();
  for (const { path, conversations } of read.files) {
    if (files.has(path)) throw new Error(`${path} is there twice.`);
    const lines = new Map<number, TracedLine>();
    for (const { url, contributor: whole, ranges } of conversations)
      for (const { start_line: first, end_line: last, contributor: own } of ranges)
        for (let line = first; line <= last; line += 1) {
          if (lines.has(line)) throw new Error(`Line ${line} of ${path} is there twice.`);
          const by = own ?? whole;
          lines.set(line, { type: by?.type ?? 'none', model: by?.model_id, url });
        }
    files.set(path, lines);
  }
  return { record: read, files };
}
