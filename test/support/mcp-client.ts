/**
 * The SDK's own client of `teddy mcp`, in this process or over a pipe.
 *
 *   const mcp = await openMcp(project);
 *   const { answer, text } = await mcp.call('memo_list');
 *   expect(await mcp.refuses('session_show', { session: 'HEAD~3' })).toContain('USAGE');
 *   await mcp.close();
 */
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { expect } from 'vitest';
import { workflowWrites } from '../../src/http/write-api.ts';
import { openTools } from '../../src/mcp/server.ts';
import type { Project } from '../../src/ports/project.ts';
import { writeLimits } from '../../src/session/settings/write-limits.ts';

export interface McpClient {
  client: Client;
  /** Expects an answer that fits its schema, which the client checks. */
  call(name: string, input?: object): Promise<{ answer: Record<string, any>; text: string }>;
  /** Expects a refusal; returns its text. */
  refuses(name: string, input?: object): Promise<string>;
  /** Faults in teddy itself. */
  defects: unknown[];
  close(): Promise<void>;
}

export async function openMcp(project: Project, { lookMs = 5 }: { lookMs?: number } = {}): Promise<McpClient> {
  const defects: unknown[] = [];
  const { create, settle } = openTools({
    project,
    writes: workflowWrites(project),
    limits: writeLimits,
    version: '0.0.0',
    onDefect: (error) => defects.push(error),
    lookMs,
  });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const server = create();
  await server.connect(theirs);
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(ours);
  return {
    ...withClient(client),
    defects,
    async close() {
      await client.close();
      await settle();
    },
  };
}

export function withClient(client: Client): Pick<McpClient, 'client' | 'call' | 'refuses'> {
  const request = async (name: string, input: object) => {
    const result = await client.callTool({ name, arguments: input as Record<string, unknown> });
    const [content] = result.content;
    return { ...result, text: content?.type === 'text' ? content.text : '' };
  };
  return {
    client,
    async call(name, input = {}) {
      const { isError, structuredContent, text } = await request(name, input);
      expect(isError ?? false, text).toBe(false);
      return { answer: structuredContent as Record<string, any>, text };
    },
    async refuses(name, input = {}) {
      const { isError, structuredContent, text } = await request(name, input);
      expect({ isError, structuredContent }, text).toEqual({ isError: true, structuredContent: undefined });
      expect(text).toMatch(/^[A-Z_]+: \S[^]*\nNext: \S/);
      return text;
    },
  };
}
