import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { editText } from '../../src/system/editor.ts';

let base: string;
const temporaryBefore = process.env['TMPDIR'];

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'teddy-editor-'));
  await mkdir(join(base, 'a tmp'));
  process.env['TMPDIR'] = join(base, 'a tmp');
});

afterEach(async () => {
  if (temporaryBefore === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = temporaryBefore;
  await rm(base, { recursive: true, force: true });
});

async function editorScript(name: string, body: string): Promise<string> {
  const path = join(base, name);
  await writeFile(path, `#!/bin/sh\n${body}\n`);
  await chmod(path, 0o755);
  return path;
}

const leftovers = () => readdir(join(base, 'a tmp'));

test('the editor gets the text under the given name, and its result is returned', async () => {
  const editor = await editorScript(
    'edit',
    `cat "$1" >${base}/seen; basename "$1" >${base}/name; printf 'new ä\\n' >"$1"`,
  );
  expect(await editText('old\n', { editor, fileName: 'plan.md', cwd: base, env: process.env })).toBe('new ä\n');
  expect(await readFile(join(base, 'seen'), 'utf8')).toBe('old\n');
  expect(await readFile(join(base, 'name'), 'utf8')).toBe('plan.md\n');
  expect(await leftovers()).toEqual([]);
});

test('an editor that replaces the file with another one is read all the same', async () => {
  const editor = await editorScript('edit', 'echo new >"$1~" && mv "$1~" "$1"');
  expect(await editText('old', { editor, fileName: 'plan.md', cwd: base, env: process.env })).toBe('new\n');
});

test('an editor is a shell command: arguments, quotes and variables in it work', async () => {
  const path = await editorScript('edit', 'printf "%s|%s|%s" "$MODE" "$1" "$2" >"$3"');
  const editor = `MODE=quiet "${path}" --wait 'two words'`;
  expect(await editText('', { editor, fileName: 'plan.md', cwd: base, env: process.env })).toBe(
    'quiet|--wait|two words',
  );
});

test('an editor that does nothing leaves the text unchanged', async () => {
  expect(await editText('same', { editor: ':', fileName: 'plan.md', cwd: base, env: process.env })).toBe('same');
});

test('only the user may read the text while it is edited', async () => {
  const editor = await editorScript(
    'edit',
    'ls -ld "$(dirname "$1")" "$1" | cut -c1-10 >"$1.modes"; mv "$1.modes" "$1"',
  );
  expect(await editText('', { editor, fileName: 'plan.md', cwd: base, env: process.env })).toBe(
    'drwx------\n-rw-------\n',
  );
});

test.each([
  ['false', 'The editor `false` failed: it ended with exit code 1.'],
  ['no-such-editor-x', 'it ended with exit code 127'],
  ['kill -TERM $$; :', 'it was ended by SIGTERM'],
  ['rm', 'The editor `rm` failed: its file cannot be read: '],
  ['f() { rm "$1"; mkdir "$1"; }; f', 'its file cannot be read: '],
])('a failing editor is an error with its name, and the file is removed: %s', async (editor, message) => {
  await expect(editText('old', { editor, fileName: 'plan.md', cwd: base, env: process.env })).rejects.toMatchObject({
    code: 'ACTION_FAILED',
    message: expect.stringContaining(message),
  });
  expect(await leftovers()).toEqual([]);
});

test('Ctrl-C while the editor has the terminal is left to the editor', async () => {
  const before = process.listenerCount('SIGINT');
  const editor = await editorScript('edit', `kill -INT ${process.pid}; sleep 0.1; echo saved >"$1"`);
  expect(await editText('old', { editor, fileName: 'plan.md', cwd: base, env: process.env })).toBe('saved\n');
  expect(process.listenerCount('SIGINT')).toBe(before);
});
