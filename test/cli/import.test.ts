/** `teddy import` and `teddy export` of files: what they print, and what they refuse. Packs and bundles are in e2e/import. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';

let project: MemoryTeddy;
let dir: string;

beforeEach(async () => {
  project = await openMemoryTeddy();
  dir = await mkdtemp(join(tmpdir(), 'teddy-import-'));
});
afterEach(async () => {
  await rm(dir, { recursive: true });
  await project.close();
});

const timestamp = '2026-01-20T10:00:00.000Z';

async function writeLines(name: string, lines: object[], more = ''): Promise<string> {
  await writeFile(join(dir, name), lines.map((line) => `${JSON.stringify(line)}\n`).join('') + more);
  return join(dir, name);
}

/** Each turn is a question and its answer. */
function writeLog(name: string, turns: number, more?: string): Promise<string> {
  const lines = Array.from({ length: turns }, (_, at) => [
    { type: 'user', id: `u${at}`, timestamp, message: { role: 'user', content: `Question ${at}` } },
    { type: 'assistant', id: `a${at}`, timestamp, message: { role: 'assistant', content: `Answer ${at}` } },
  ]);
  return writeLines(name, lines.flat(), more);
}

describe('session import', () => {
  test('prints the directory, says how to go there, and names the session the second time', async () => {
    const log = await writeLog('chat.jsonl', 2);
    const { stdout, stderr } = await project.run(['session', 'import', log]);
    const session = stdout.trim().replace('.teddy/sessions/', '');
    expect(session).toMatch(/^\d{8}-question-0$/);
    expect(stderr).toContain(`Created the branch teddy/${session} from a log in jsonl format: 4 entries in 2 turns.`);
    expect(stderr).toContain(`Next: git switch teddy/${session}`);
    const commit = await project.repo.git('rev-parse', `teddy/${session}`);
    const again = JSON.parse(await project.ok('session', 'import', log, '--json')) as object;
    expect(again).toMatchObject({ schema: 'teddy.import/1', isNew: false, session, commit });
    const named = await project.run(['session', 'import', log, '--name', 'other']);
    expect(named).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('--name had no effect.') as string });
  });

  test('with --dry-run names damaged lines, counts what was left out, and writes nothing', async () => {
    const before = await project.repo.fingerprint();
    const dry = await project.run(['session', 'import', await writeLog('chat.jsonl', 2, '{"type":\n'), '--dry-run']);
    expect(dry).toMatchObject({ exitCode: 0, stdout: 'jsonl: 5 lines read, 4 records in 4 entries in 2 turns.\n' });
    expect(dry.stderr).toMatch(/1 skipped:\n {2}line 5: /);
    const user = { type: 'user', uuid: 'u1', parentUuid: null, sessionId: 's', timestamp, cwd: '/', version: '1' };
    const titled = await writeLines('titled.jsonl', [
      { type: 'summary', summary: 'A title', leafUuid: 'x' },
      { ...user, message: { role: 'user', content: 'Hello' } },
    ]);
    expect((await project.run(['session', 'import', titled, '--dry-run'])).stderr).toContain('Left out: 1 title.');
    expect(await project.repo.fingerprint()).toEqual(before);
  });

  test('refuses what it cannot import, and changes nothing', async () => {
    const empty = await writeLines('empty.jsonl', []);
    const diary = await writeLines('diary.txt', [], 'Dear diary\n');
    const log = await writeLog('a.jsonl', 1);
    for (const [code, exitCode, hint, ...args] of [
      ['NOTHING_TO_IMPORT', 1, '', empty],
      ['UNKNOWN_FORMAT', 2, '--format', diary],
      ['UNKNOWN_FORMAT', 2, '', diary, '--format', 'word'],
      ['NOTHING_TO_IMPORT', 1, '', diary, '--format', 'jsonl'],
      ['NOTHING_TO_IMPORT', 1, 'It was read as codex. Without --format,', log, '--format', 'codex'],
      ['FILE_NOT_FOUND', 2, '', dir],
      ['FILE_NOT_FOUND', 2, '', join(dir, 'none')],
      ['BAD_NAME', 2, '', log, '--name', '???'],
      ['USAGE', 2, 'stdin', '-'],
    ] as [string, number, string, ...string[]][])
      expect(await project.refuses(code, exitCode, ['session', 'import', ...args])).toContain(hint);
  });
});

describe('session export', () => {
  beforeEach(async () => {
    await project.ok('session', 'import', await writeLog('chat.jsonl', 2), '--name', 'chat');
  });

  test('a directory holds the files of the tip; it has to be new or empty', async () => {
    const out = join(dir, 'out');
    await project.ok('session', 'export', '-s', 'chat', '--dir', out);
    expect((await readdir(out)).toSorted()).toEqual(['01', '02', 'session.context']);
    expect(await readFile(join(out, '02/transcript.jsonl'), 'utf8')).toContain('Answer 1');
    await project.refuses('FILES_IN_THE_WAY', 3, ['session', 'export', '-s', 'chat', '--dir', out]);
    await project.refuses('USAGE', 2, ['session', 'export', '--dir', '-']);
  });

  test('the history goes to stdout or to a file, which is replaced only by force', async () => {
    const file = join(dir, 'story.jsonl');
    const to = ['session', 'export', '-s', 'chat', '--jsonl'];
    await project.ok(...to, file);
    expect(await project.ok(...to, '-')).toBe(await readFile(file, 'utf8'));
    await writeFile(file, 'mine');
    await project.refuses('FILES_IN_THE_WAY', 3, [...to, file]);
    expect(await readFile(file, 'utf8')).toBe('mine');
    await project.ok(...to, file, '--force');
    expect(await readFile(file, 'utf8')).toContain('Question 0');
    expect((await readdir(dir)).filter((name) => name.includes('.tmp-'))).toEqual([]);
    await project.refuses('FILE_NOT_FOUND', 2, [...to, join(dir, 'none/a.jsonl')]);
    expect(await project.refuses('USAGE', 2, ['session', 'export'])).toContain('`teddy review`');
    await project.refuses('USAGE', 2, ['session', 'export', '--html', file, '--jsonl', file]);
    for (const option of ['--html', '--jsonl', '--bundle', '--dir'])
      expect(await project.refuses('USAGE', 2, ['session', 'export', `${option}=`])).toContain(`${option} is empty.`);
  });
});
