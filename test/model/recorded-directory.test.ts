import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readRecordedDirectory } from '../../src/model/recorded-directory.ts';

const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex');
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'teddy-recorded-'));
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

function write(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
}

function record(type: string, content: string, more: object = {}): string {
  const message = { role: type, content };
  return `${JSON.stringify({ type, id: '1', timestamp: '2026-01-24T12:00:00Z', message, ...more })}\n`;
}

test('a session directory yields each answered turn in order, with the answered message’s hash', async () => {
  write({
    'session.context': '',
    '10/plan.md': 'ten',
    '02-branch-01/plan.md': 'two b',
    '02-branch-01/transcript.jsonl': record('user', 'second, differently'),
    '02/plan.md': 'two\r\n',
    '02/transcript.jsonl':
      record('user', 'second, mistyped') + record('user', 'second 🧸') + record('user', 'ran', { source: 'report' }),
    '01/plan.md': 'one',
    '01/transcript.jsonl': record('user', 'first'),
    '03/transcript.jsonl': record('user', 'never answered'),
  });
  expect(await readRecordedDirectory(dir, sha256)).toEqual([
    { turn: '01', messageSha256: sha256('first'), answer: 'one' },
    { turn: '02', messageSha256: sha256('second 🧸'), answer: 'two\r\n' },
    { turn: '02-branch-01', messageSha256: sha256('second, differently'), answer: 'two b' },
    { turn: '10', messageSha256: null, answer: 'ten' },
  ]);
});

test('a turn without a plan yields its transcript’s last answer, skipping damaged and unknown lines', async () => {
  write({
    '01/transcript.jsonl':
      record('user', 'why?') +
      record('assistant', 'let me see') +
      'null\n{"type":"note"}\n[1]\n{"type":"user","mess' +
      `\n${record('assistant', 'because')}`,
  });
  expect(await readRecordedDirectory(dir, sha256)).toEqual([
    { turn: '01', messageSha256: sha256('why?'), answer: 'because' },
  ]);
});

test('flat files yield a turn each, by name, with the message if it is beside the file', async () => {
  write({
    '02-branch-01.md': 'two b',
    '02.md': 'two',
    '01.md': 'one',
    '01.message.txt': 'first\n',
    'README.md': 'about',
    '00.md': 'no turn',
  });
  expect(await readRecordedDirectory(dir, sha256)).toEqual([
    { turn: '01', messageSha256: sha256('first\n'), answer: 'one' },
    { turn: '02', messageSha256: null, answer: 'two' },
    { turn: '02-branch-01', messageSha256: null, answer: 'two b' },
  ]);
});

test('a directory without answers is BAD_RECORDING, no directory is FILE_NOT_FOUND', async () => {
  write({ 'README.md': 'about', '01/transcript.jsonl': record('user', 'never answered') });
  await expect(readRecordedDirectory(dir, sha256)).rejects.toMatchObject({ code: 'BAD_RECORDING' });
  await expect(readRecordedDirectory(join(dir, 'nowhere'), sha256)).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
  await expect(readRecordedDirectory(join(dir, 'README.md'), sha256)).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
});
