import { describe, expect, test } from 'vitest';
import type { ModelMessage } from '../../../src/ports/model.ts';
import { fitResults } from '../../../src/workflow/chat/turn.ts';

const words = (count: number) => 'word '.repeat(count);
const exchange = (id: string, size: number): ModelMessage[] => [
  { role: 'assistant', content: '', toolCalls: [{ id, name: 'read_file', arguments: '{}' }] },
  { role: 'tool', toolCallId: id, content: words(size) },
];
const sizes = ({ messages }: { messages: ModelMessage[] }) =>
  messages.filter(({ role }) => role === 'tool').map(({ content }) => (content.startsWith('[left out') ? 0 : 1));

describe('tool results', () => {
  test('that fit stay unchanged', () => {
    const messages = [...exchange('a', 100), ...exchange('b', 100)];
    expect(fitResults(messages, 100_000)).toEqual({ messages, leftOut: 0 });
  });

  test('that do not fit are left out, the oldest first, and no more than necessary', () => {
    const messages = [...exchange('a', 1000), ...exchange('b', 1000), ...exchange('c', 1000)];
    const fitted = fitResults(messages, 2500);
    expect(fitted.leftOut).toBe(1);
    expect(sizes(fitted)).toEqual([0, 1, 1]);
    expect(fitted.messages.filter(({ role }) => role === 'assistant')).toEqual(
      messages.filter(({ role }) => role === 'assistant'),
    );
  });

  test('that are shorter than the note stay, whatever the budget', () => {
    const fitted = fitResults([...exchange('a', 1), ...exchange('b', 5000)], 1);
    expect(sizes(fitted)).toEqual([1, 0]);
  });
});
