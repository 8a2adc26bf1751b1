import { describe, expect, test } from 'vitest';
import { findingsOf, toBytes, validate } from './validation.ts';

const latin1 = (text: string) => Uint8Array.from(Buffer.from(text, 'latin1'));

describe('bytes', () => {
  test('a text in many scripts passes', async () => {
    const { findings, summary } = await validate('a.txt', 'Grüße, 世界, 🙂 and a form feed \f\tend\n');
    expect(findings).toEqual([]);
    expect(summary.passed).toContain('utf-8');
    expect(summary.passed).toContain('control-characters');
  });

  test('the first byte that is not UTF-8 is reported with line and column', async () => {
    const { findings } = await validate('a.txt', Buffer.concat([toBytes('one\nzwö '), latin1('caf\xe9\n\xff')]));
    expect(findings).toEqual([
      { check: 'utf-8', message: 'The byte 0xE9 at offset 12 is not UTF-8.', line: 2, column: 8 },
    ]);
  });

  test.each([
    ['a surrogate half', [0xed, 0xa0, 0x80]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['a truncated character', [0xe4, 0xb8]],
    ['a lone continuation', [0x80]],
    ['a code point beyond the last', [0xf4, 0x90, 0x80, 0x80]],
  ])('%s is not UTF-8', async (_, bytes) => {
    expect(await findingsOf('a.txt', Uint8Array.from([0x61, ...bytes]))).toEqual(['utf-8 1:2']);
  });

  test('a target that was not UTF-8 before may stay so', async () => {
    const { findings, summary } = await validate('a.txt', latin1('caf\xe9s\n'), { base: latin1('caf\xe9\n') });
    expect(findings).toEqual([]);
    expect(summary.skipped).toContainEqual({ check: 'utf-8', reason: 'the target was not UTF-8 before' });
  });

  test('invalid UTF-8 becomes U+FFFD when it is repaired, is noted, and does not count as passed', async () => {
    const { findings, notes, final, summary } = await validate('a.txt', latin1('caf\xe9 \xff\n'), { repair: true });
    expect(findings).toEqual([]);
    expect(new TextDecoder().decode(final)).toBe('caf\uFFFD \uFFFD\n');
    expect(notes).toContain('2 places that were not UTF-8 were replaced by U+FFFD.');
    expect(summary.passed).not.toContain('utf-8');
  });

  test('repair leaves valid content unchanged', async () => {
    const content = toBytes('\uFEFFa \uFFFD\r\n');
    expect((await validate('a.txt', content, { repair: true })).final).toEqual(content);
  });

  test('a control character is a finding at its first place, once', async () => {
    const { findings } = await validate('a.txt', 'one\ntwo \x1b[31m red \x1b[0m\n\0\n');
    expect(findings).toEqual([
      { check: 'control-characters', message: 'The text has the control character U+001B (ESC).', line: 2, column: 5 },
      { check: 'control-characters', message: 'The text has the control character U+0000 (NUL).', line: 3, column: 1 },
    ]);
  });

  test('a control character that the target had before is not reported', async () => {
    expect(await findingsOf('a.txt', 'x \x1b[1m y\n', { base: '\x1b[0m\n' })).toEqual([]);
  });

  test('the text checks skip a binary file, and the summary says so', async () => {
    const { findings, summary } = await validate('logo.png', Uint8Array.from([0x89, 0x50, 0, 0xff]));
    expect(findings).toEqual([]);
    expect(summary).toEqual({
      passed: [],
      failed: [],
      skipped: [{ check: 'text', reason: 'the target is a binary file' }],
    });
  });

  test('empty content is a finding', async () => {
    const { findings, summary } = await validate('a.txt', '');
    expect(findings).toEqual([{ check: 'content', message: 'content cannot be empty' }]);
    expect(summary).toEqual({ passed: [], failed: ['content'], skipped: [] });
  });
});

describe('format against the target', () => {
  test('LF in a file that has CRLF throughout is a finding', async () => {
    const { findings } = await validate('a.txt', 'a\nb\n', { base: 'a\r\nb\r\n' });
    expect(findings.map(({ message }) => message)).toEqual([
      'All lines in the target end in CRLF, but those in the content end in LF.',
    ]);
  });

  test('CRLF in a file that has LF throughout is a finding, even if it is appended', async () => {
    expect(await findingsOf('a.txt', 'c\r\n', { base: 'a\nb\n', operation: 'append' })).toEqual(['line-endings 1:-']);
  });

  test('the endings are free if the target mixes them', async () => {
    expect(await findingsOf('a.txt', 'a\nb\n', { base: 'a\r\nb\n' })).toEqual([]);
  });

  test('mixed endings in a new file are a note', async () => {
    const { findings, notes } = await validate('a.txt', 'a\r\nb\n');
    expect(findings).toEqual([]);
    expect(notes).toEqual(['Some lines in the content end in LF, others in CRLF.']);
  });

  test('a lost final newline is a finding, at the last line', async () => {
    expect(await findingsOf('a.txt', 'a\nb\nc', { base: 'a\nb\n' })).toEqual(['final-newline 3:-']);
  });

  test('an added final newline is a note', async () => {
    const { findings, notes } = await validate('a.txt', 'a\n', { base: 'a' });
    expect(findings).toEqual([]);
    expect(notes).toEqual(['The target did not end in a newline, and now it does.']);
  });

  test('a new file without a final newline is a note', async () => {
    expect((await validate('a.txt', 'a')).notes).toEqual(['The content does not end in a newline.']);
  });

  test('a lost or added byte order mark is a finding', async () => {
    expect(await findingsOf('a.txt', 'a\n', { base: '\uFEFFa\n' })).toEqual(['bom 1:1']);
    expect(await findingsOf('a.txt', '\uFEFFa\n', { base: 'a\n' })).toEqual(['bom 1:1']);
    expect(await findingsOf('a.txt', '\uFEFFb\n', { base: '\uFEFFa\n' })).toEqual([]);
  });

  test('a byte order mark is not appended', async () => {
    expect(await findingsOf('a.txt', '\uFEFFb\n', { base: '\uFEFFa\n', operation: 'append' })).toEqual(['bom 1:1']);
    expect(await findingsOf('a.txt', 'b\n', { base: '\uFEFFa\n', operation: 'append' })).toEqual([]);
  });

  test('text that is appended to a last line without a newline is noted', async () => {
    const { final, notes } = await validate('a.txt', 'b\n', { base: 'a', operation: 'append' });
    expect(new TextDecoder().decode(final)).toBe('ab\n');
    expect(notes).toEqual(["The target's last line had no newline: the appended text begins on that line."]);
  });

  test('an overwrite that loses more than half of the target is a finding', async () => {
    const base = 'line of text\n'.repeat(40);
    const { findings } = await validate('a.txt', 'line of text\n'.repeat(19), { base });
    expect(findings).toEqual([
      { check: 'shrink', message: 'The content is 247 bytes, the target 520: more than half of it would be lost.' },
    ]);
  });

  test('an overwrite that keeps half, one of a small file, and an append are not', async () => {
    const base = 'line of text\n'.repeat(40);
    expect(await findingsOf('a.txt', 'line of text\n'.repeat(20), { base })).toEqual([]);
    expect(await findingsOf('a.txt', 'a\n', { base: 'line of text\n' })).toEqual([]);
    expect(await findingsOf('a.txt', 'a\n', { base, operation: 'append' })).toEqual([]);
  });
});
