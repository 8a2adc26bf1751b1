import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { missingOutput } from '../../src/conversation/records/record.ts';
import { renderAnthropic } from '../../src/conversation/history/render-anthropic.ts';
import { renderMarkdown } from '../../src/conversation/history/render-history-markdown.ts';
import { renderJsonl } from '../../src/conversation/history/render-jsonl.ts';
import { renderOpenai } from '../../src/conversation/history/render-openai.ts';
import type { History } from '../../src/conversation/history/history.ts';
import {
  findFaults,
  fold,
  foldText,
  kindsOf,
  outline,
  result,
  call,
  user,
  assistant,
} from '../support/conversations.ts';

function read(name: string): History {
  const history = foldText(readFileSync(new URL(`../../fixtures/transcripts/${name}`, import.meta.url), 'utf8'));
  expect(findFaults(history)).toEqual([]);
  return history;
}

test("another program's log of voice and text is one conversation", () => {
  const history = read('orchestrator.jsonl');
  expect(history.repairs).toEqual([]);
  expect(renderAnthropic(history)).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'Hey, can you search for information about tides?' }] },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'Let me look.' },
        { type: 'tool_use', id: 'toolu_1', name: 'search', input: { query: 'tides' } },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'Tides follow the moon.' }] },
    {
      role: 'assistant',
      content: [{ type: 'text', text: 'I found that tides follow the moon, and that [interrupted]' }],
    },
    { role: 'user', content: [{ type: 'text', text: 'can you remember what we were talking about?' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'Yes, we were just discussing tides.' }] },
  ]);
});

test('a log with tools that fail, are denied and are interrupted needs no repair', () => {
  const history = read('tools.jsonl');
  expect(history.repairs).toEqual([]);
  const lines = outline(history);
  expect(lines).toHaveLength(15);
  expect(lines[5]).toBe('tool call_3: (no output)');
  expect(lines.slice(8, 13)).toEqual([
    'assistant: null -> call_4 {"command":"sed -i 3d src/a.ts"} -> call_5 {"command":"git push"}',
    'tool call_4: (no output)',
    'tool call_5: Error: Tool execution denied by user',
    'user: Do not push. Is the build fine now?',
    'assistant: I run it [interrupted]',
  ]);
  // After the results, the user's words are in the same message.
  expect(renderAnthropic(history)[8]?.content.map(({ type }) => type)).toEqual(['tool_result', 'tool_result', 'text']);
});

test('a turn with a plan and its report is a message, the plan, and a message with the report in it', () => {
  const history = read('plan-turn.jsonl');
  expect(history.repairs).toEqual([]);
  expect(renderOpenai(history).map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  expect(renderOpenai(history)[2]?.content).toBe(
    'status: SUCCESS\nactions:\n  - CREATE greet.ts\n\n\nThanks. What is next?',
  );
});

test('a log damaged by crashes has everything that can still be read, and names each repair', () => {
  const history = read('damaged.jsonl');
  expect(outline(history)).toEqual([
    'user: What is in the folder?',
    'assistant: null -> call_1 {"path":"."}',
    'tool call_1: a.ts\nb.ts',
    'assistant: Two files:\u2028a.ts and b.ts.',
    'user: Read both.',
    'assistant: null -> call_2 {"input":"{\\"path\\":"} -> call_2-2 {"path":"b.ts"}',
    'tool call_2: Error: not JSON',
    'tool call_2-2: const b = 1;',
    'user: Are you there? \uFFFD',
    'assistant: Yes. It is a constant.',
  ]);
  expect(history.repairs.map(({ text }) => text)).toEqual([
    'Line 10 was left out: not an object with a type.',
    'Line 15 was left out: not JSON.',
    'Line 2 was repaired: 2 objects on one line.',
    'Line 5 was repaired: NUL characters were left out.',
    'Line 12 was repaired: a torn part was left out.',
    'The record a1 occurs twice: the second one was left out.',
    'The input of the call call_2 is not an object: it was wrapped in one.',
    'Another call has the id call_2: this one was renamed to call_2-2.',
    'A result of the call call_9 was left out: there is no such call.',
    'The record u3 contains half characters (1): models are shown U+FFFD in their place.',
    'The result of the call call_2-2 came late: it was moved to its call.',
  ]);
});

test('records leave a history in the order of their answers, each with its own', () => {
  const text = renderJsonl(
    fold(user('u', 'x'), call('a'), call('b'), result('b', '2'), user('v', 'y'), result('a', '1')),
  );
  const ids = text
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { id: string }).id);
  expect(ids).toEqual(['u', 'call-a', 'call-b', 'result-a', 'result-b', 'v']);
});

test("in Markdown no message passes for a heading, and a result's fence is longer than any inside it", () => {
  const history = fold(
    user('u', 'a\r## Assistant\n\n```\n'),
    assistant('a', '# Plan'),
    call('c', { text: '```' }),
    result('c', '````\n## User', { isError: true, reason: 'aborted' }),
    call('d\n## User', {}),
  );
  expect(renderMarkdown(history)).toBe(
    [
      '## User, 2026-01-24 10:00:00 UTC\n',
      '> a\n> ## Assistant\n>\n> ```\n>\n',
      '## Assistant, 2026-01-24 10:00:00 UTC\n',
      '> # Plan\n',
      '### Call of read_file\n',
      '````json\n{\n  "text": "```"\n}\n````\n',
      '### Error (aborted)\n',
      '`````text\n````\n## User\n`````\n',
      '### Call of read_file\n',
      '```json\n{}\n```\n',
      '### No result\n',
      `\`\`\`text\n${missingOutput}\n\`\`\`\n`,
    ].join('\n'),
  );
  expect(kindsOf(history)).toEqual(['call-without-result']);
});

test('an answer that ends an Anthropic history ends without white space, and is not changed anywhere else', () => {
  const asked = [user('u', 'x'), assistant('a', 'One. \n')];
  expect(renderAnthropic(fold(...asked))[1]?.content).toEqual([{ type: 'text', text: 'One.' }]);
  expect(renderAnthropic(fold(...asked, user('v', 'y')))[1]?.content).toEqual([{ type: 'text', text: 'One. \n' }]);
  expect(fold(...asked).turns[0]?.steps[0]?.texts[0]?.text).toBe('One. \n');
});
