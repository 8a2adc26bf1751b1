import { expect, test } from 'vitest';
import { decodeText, renderHistory } from '../../src/conversation/history/render-history.ts';
import type { TranscriptRecord } from '../../src/conversation/records/record.ts';
import { assistant, user } from '../support/conversations.ts';

async function render(records: TranscriptRecord[]): Promise<string> {
  const turns = [{ turn: '01', transcript: { records, skipped: [], repaired: [] } }];
  return decodeText((await renderHistory({ turns, repairs: [] }, 'openai')).bytes);
}

test('a message has its own line, however many bytes precede it', async () => {
  const texts = ['short', '\u20ac'.repeat(500_000), 'a'.repeat(3_000_000), '\u{1f600}'.repeat(1_000_000), 'end'];
  const records = texts.map((text, at) => (at % 2 === 0 ? user(`u${at}`, text) : assistant(`a${at}`, text)));
  const lines = texts.map((content, at) => JSON.stringify({ role: at % 2 === 0 ? 'user' : 'assistant', content }));
  expect((await render(records)) === `[\n${lines.join(',\n')}\n]\n`).toBe(true);
});

test('the history without a message is an empty array', async () => {
  expect(await render([])).toBe('[]\n');
});
