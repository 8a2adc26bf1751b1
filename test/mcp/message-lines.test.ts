import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { expect } from 'vitest';
import { messageLines } from '../../src/mcp/server.ts';
import { runs } from '../support/runs.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

async function filter(pieces: Buffer[], maxBytes: number) {
  const refused: unknown[] = [];
  const passed = await buffer(Readable.from(pieces).pipe(messageLines(maxBytes, (id) => refused.push(id))));
  return { passed: passed.toString('utf8'), refused };
}

function cut(text: string, lengths: number[]): Buffer[] {
  const bytes = Buffer.from(text);
  const pieces: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const length = lengths[turn % lengths.length] ?? 1;
    pieces.push(bytes.subarray(at, at + length));
    at += length;
  }
  return pieces;
}

propertyTest('lines that fit are passed on unchanged, however they are cut, and the others are dropped', async () => {
  const line = fc.string({ unit: 'grapheme', maxLength: 60 }).map((text) => `${text.replaceAll('\n', ' ')}\n`);
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { maxLength: 20 }),
      fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }),
      async (lines, lengths) => {
        const fits = (text: string) => Buffer.byteLength(text) <= 40;
        const { passed, refused } = await filter(cut(lines.join(''), lengths), 40);
        expect(passed).toBe(lines.filter(fits).join(''));
        expect(refused).toHaveLength(lines.filter((text) => !fits(text)).length);
      },
    ),
    runs(200),
  );
});

test.each([
  ['{"id":7,"jsonrpc":"2.0","method":"tools/call","params":{"a":"|"}}', 7],
  ['{ "jsonrpc": "2.0", "id": "a b", "method": "m", "params": {"a":"|"} }', 'a b'],
  ['{"jsonrpc":"2.0","method":"m","params":{"a":"|"},"id":-3}', -3],
  ['{"method":"m","params":["|"],"jsonrpc":"2.0","id":"x"} ', 'x'],
  ['{"params":{"a":"|"},"id":4,"jsonrpc":"2.0","method":"m"}', 4],
  ['{"jsonrpc":"2.0","method":"m","params":{"a":"|","id":5}}', null],
  ['{"jsonrpc":"2.0","method":"m","params":{"id":5,"a":"|"}}', null],
  ['{"method":"m","params":{"a":"|,\\"id\\":5}"}}', null],
  ['{"id":{"a":1},"params":"|"}', null],
  ['{"id":"\\ud800","params":"|"}', null],
  ['|', null],
])('the id of %s is %j', async (message, id) => {
  const text = `${message.replace('|', 'x'.repeat(10_000))}\n{"id":1}\n`;
  expect(await filter(cut(text, [700]), 8_000)).toEqual({ passed: '{"id":1}\n', refused: [id] });
});
