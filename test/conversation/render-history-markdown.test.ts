import { expect, test } from 'vitest';
import { renderMarkdown } from '../../src/conversation/history/render-history-markdown.ts';
import { call, fold, result, user } from '../support/conversations.ts';

test('inputs and outputs end with a newline, and no fence is followed by a note about it', () => {
  const history = fold(user('u', 'Look.'), call('c', { path: 'a.ts' }), result('c', 'no line end'));
  const text = renderMarkdown(history);
  expect(text).toContain('```json\n{\n  "path": "a.ts"\n}\n```\n');
  expect(text).toContain('```text\nno line end\n```\n');
  expect(text).not.toContain('No newline');
});
