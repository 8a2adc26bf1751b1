import { describe, expect, test } from 'vitest';
import { readAgentLogs } from '../support/agent-logs.ts';
import { readImport, detectFormat } from '../support/import-source.ts';

const sources = [
  ['claude-code.jsonl', 'claude-code'],
  ['codex.jsonl', 'codex'],
  ['codex-events.jsonl', 'codex'],
  ['codex-bare.jsonl', 'codex'],
  ['openai.json', 'openai'],
  ['seed.jsonl', 'jsonl'],
] as const;

describe('a conversation’s format', () => {
  test.each(sources)('is detected for %s as %s', (name, format) => {
    expect(detectFormat(readImport(name))).toBe(format);
  });

  test.each(sources)('is detected from a part of %s as %s or as uncertain, wherever it is cut', (name, format) => {
    const text = readImport(name);
    for (let cut = 0; cut < text.length; cut += 97) expect([null, format]).toContain(detectFormat(text.slice(0, cut)));
  });

  test.each(sources)(
    'is detected for %s as %s after a BOM, blank lines, NUL characters and a torn line',
    (name, format) => {
      const torn = format === 'openai' ? '' : '{"type":"us\n\0\0\0\n';
      expect(detectFormat(`\uFEFF\r\n\n${torn}${readImport(name)}`)).toBe(format);
    },
  );

  test('is certain if the first line is longer than the part that was read', () => {
    const long = 'x'.repeat(70_000);
    const message = { role: 'user', content: long };
    const heads: [object, string][] = [
      [{ parentUuid: null, sessionId: 's', type: 'user', uuid: 'u', message }, 'claude-code'],
      [{ timestamp: '2026-01-24T10:00:00Z', type: 'session_meta', payload: { long } }, 'codex'],
      [{ model: 'x', messages: [message] }, 'openai'],
      [[message], 'openai'],
      [{ type: 'tool_use', tool_call_id: 'a', tool_input: { long } }, 'jsonl'],
    ];
    for (const [head, format] of heads)
      expect(detectFormat(JSON.stringify(head).slice(0, 65_536)), format).toBe(format);
  });

  test('is uncertain for anything else', () => {
    const others = [
      '',
      '# Plan\n',
      '{"a":1}',
      '[1,2]',
      '{"type":"user"}',
      'id,name\n1,x\n',
      '{"role":"robot"}',
      '[[{"role":"user"}]]',
    ];
    for (const other of others) expect(detectFormat(other), other).toBeNull();
  });

  test('is uncertain for a file with lines in two formats', () => {
    expect(detectFormat(`${readImport('codex.jsonl')}${readImport('claude-code.jsonl')}`)).toBeNull();
    const logs = new Map(readAgentLogs().map(({ agent, lines }) => [agent, lines.map(({ text }) => text).join('\n')]));
    expect(detectFormat(`${logs.get('pi')}\n${logs.get('copilot')}`)).toBeNull();
  });

  test('is detected for an agent’s log as that agent’s', () => {
    for (const { agent, name, lines } of readAgentLogs()) {
      const head = lines.map(({ text }) => text).join('\n');
      expect([name, detectFormat(head)]).toEqual([name, agent]);
    }
    expect(detectFormat('{\n  "info": {\n    "id": "ses_1",')).toBe('opencode');
    expect(detectFormat('{"a":1}')).toBeNull();
  });
});
