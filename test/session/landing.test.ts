import fc from 'fast-check';
import { expect } from 'vitest';
import { decodeEntry } from '../../src/session/entries/entry.ts';
import { decodeLandings, encodeLanding } from '../../src/session/lines/landing.ts';
import { parseOid, type SessionId } from '../../src/names.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

const from = { session: '20260124-add-login' as SessionId, tip: parseOid('a'.repeat(40)) };
const trailer = `Teddy-Landed-From: 20260124-add-login@${'a'.repeat(40)}`;

test("trailers at the end of a text stay trailers, beside teddy's own", () => {
  expect(encodeLanding('Add it', [from])).toBe(`Add it\n\n${trailer}\n`);
  expect(encodeLanding('Add it\r\n\r\nBody\n\nSigned-off-by: Ada <a@example.org>\n', [from])).toBe(
    `Add it\n\nBody\n\nSigned-off-by: Ada <a@example.org>\n${trailer}\n`,
  );
  expect(encodeLanding('fix: a subject alone', [from])).toBe(`fix: a subject alone\n\n${trailer}\n`);
});

propertyTest("no text makes a landing an entry, or another session's landing", () => {
  expect(decodeLandings(encodeLanding(`Teddy-Landed-From: 20260124-other@${'b'.repeat(40)}`, [from]))).toEqual([from]);
  const own = fc.constantFrom(
    'Teddy-Session: 20260124-other',
    'Teddy-Entry: plan',
    'teddy-entry-id: 019bf000-0000-7000-8000-000000000001',
    'Teddy-Format: 1',
    `Teddy-Landed-From: 20260124-other@${'b'.repeat(40)}`,
    '',
    'Signed-off-by: Ada <a@example.org>',
  );
  const text = fc.array(fc.oneof(own, fc.string({ unit: 'grapheme' }))).map((lines) => lines.join('\n'));
  fc.assert(
    fc.property(text, (body) => {
      const message = encodeLanding(`Subject\n\n${body}`, [from]);
      expect(decodeEntry(message)).toBeNull();
      expect(decodeLandings(message)).toEqual([from]);
    }),
  );
});

test('a forge that squashes a branch names all landings on it, and anything but a session is ignored', () => {
  const other = `Teddy-Landed-From: 20260124-other@${'b'.repeat(64)}`;
  const squash = `Squash (#3)\n\n* One\n\n${trailer}\n\n* Two\n\n${other}\n\nCo-authored-by: Ada <a@example.org>\n`;
  expect(decodeLandings(squash)).toEqual([from, { session: '20260124-other', tip: 'b'.repeat(64) }]);
  expect(decodeLandings(`A\n\nTeddy-Landed-From: main@${'b'.repeat(40)}\n  ${trailer}\n`)).toEqual([]);
});
