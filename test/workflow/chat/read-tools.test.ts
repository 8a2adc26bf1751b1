import { describe, expect } from 'vitest';
import { TeddyError } from '../../../src/errors.ts';
import { prepareLine } from '../../../src/workflow/line/prepare.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { callTool } from '../../support/tool-calls.ts';
import { line, session } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const own = `.teddy/sessions/${session}/session.context`;
const secret = 'hunter2hunter2';

/** HEAD is on the line of a session, with these files. */
const onLine = (files: Record<string, string>) => given.session({ '.gitignore': 'out\n', ...files });

const outputOf = async (...args: Parameters<typeof callTool>) => (await callTool(...args)).output;

describe('read_file', () => {
  const read = (project: MemoryProject, path: string, more: object = {}) =>
    callTool(project, 'read_file', { path, ...more });

  test('returns the file’s content on disk, for untracked files too', async () => {
    const project = await onLine({ 'a.txt': 'old\n' });
    await project.write({ 'a.txt': 'one\ntwo', 'new.txt': '' });
    expect(await read(project, 'a.txt')).toEqual({ output: 'one\ntwo', isError: false });
    expect(await read(project, './src/../new.txt')).toEqual({ output: '(new.txt is empty)', isError: false });
  });

  test('returns the tip’s file if the line is not checked out', async () => {
    const project = await onLine({ 'a.txt': 'old\n', 'src/b.txt': 'b\n' });
    await project.switchTo('main');
    await project.commit('On main\n', { 'a.txt': 'new\n' });
    const selector = session;
    expect(await callTool(project, 'read_file', { path: 'a.txt' }, { selector })).toEqual({
      output: 'old\n',
      isError: false,
    });
    expect(await outputOf(project, 'read_file', { path: 'src' }, { selector })).toContain('it is a directory');
    expect(await outputOf(project, 'read_file', { path: 'src/c' }, { selector })).toContain('there is no such path');
    expect(await outputOf(project, 'read_file', { path: 'a.txt/c' }, { selector })).toContain(
      '`a.txt` is a file, not a directory',
    );
  });

  test('reads no other branch if HEAD has left the line since the tool was prepared', async () => {
    const project = await onLine({ 'a.txt': 'old\n' });
    const prepared = await prepareLine(project, undefined);
    await project.switchTo('main');
    await project.write({ 'a.txt': 'of main\n' });
    expect(await outputOf(project, 'read_file', { path: 'a.txt' }, { line: prepared })).toBe('old\n');
  });

  test('returns the requested lines, and explains how to read on', async () => {
    const lines = Array.from({ length: 4500 }, (_, at) => `line ${at + 1}\n`);
    const project = await onLine({ 'a.txt': lines.join('') });
    expect((await read(project, 'a.txt', { from_line: 2, to_line: 3 })).output).toBe('line 2\nline 3\n');
    expect((await read(project, 'a.txt')).output).toBe(
      `${lines.slice(0, 2000).join('')}[lines 1 to 2000 of 4500; read on with from_line 2001]\n`,
    );
    expect((await read(project, 'a.txt', { from_line: 4001 })).output).toBe(lines.slice(4000).join(''));
    expect(await read(project, 'a.txt', { from_line: 4501 })).toEqual({
      output: 'read_file a.txt: it has 4500 lines.',
      isError: true,
    });
  });

  test('cuts after 256 KiB: between lines, or within a longer line', async () => {
    const project = await onLine({ 'a.txt': `${'é'.repeat(50_000)}\n`.repeat(3), 'b.txt': 'x'.repeat(300_000) });
    expect((await read(project, 'a.txt')).output).toBe(
      `${'é'.repeat(50_000)}\n${'é'.repeat(50_000)}\n[lines 1 to 2 of 3; read on with from_line 3]\n`,
    );
    expect((await read(project, 'b.txt')).output).toBe(
      `${'x'.repeat(256 * 1024)}\n[line 1 is cut: it has more than 256 KiB]\n`,
    );
  });

  test('masks a secret before the lines are cut', async () => {
    const project = await onLine({ 'a.txt': 'one\nkey = BEGIN\nMIDDLE\nEND\nlast\n' });
    project.secrets.set('BEGIN\nMIDDLE\nEND', 'private key');
    expect((await read(project, 'a.txt', { from_line: 2, to_line: 2 })).output).toBe('key = [masked: private key]\n');
    expect((await read(project, 'a.txt', { from_line: 3 })).output).toBe('last\n');
  });

  test.each([
    ['.env', 'named like a secret'],
    ['deep/server.pem', 'named like a secret'],
    ['no/.ssh/such', 'named like a secret'],
    ['out/made.txt', 'git ignores it'],
    ['../secret.txt', 'it leaves the project with `..`'],
    ['/etc/passwd', 'there is no such path'],
    ['//host/share', 'it names a network share'],
    ['.git/config', 'it is inside `.git`'],
    ['.GIT./config', 'it is inside `.git`'],
    [own, 'it is inside `.teddy`'],
    ['image.bin', 'it is a binary file of 5 bytes'],
    ['large.txt', 'it is larger than 4 MiB'],
    ['missing.txt', 'there is no such path'],
    ['src', 'it is a directory'],
    ['a.txt/b', '`a.txt` is a file, not a directory'],
    ['.', "it names the project's root"],
  ])('refuses %s, with the reason', async (path, reason) => {
    const project = await onLine({
      'a.txt': 'a\n',
      '.env': `KEY=${secret}\n`,
      'deep/server.pem': `${secret}\n`,
      'image.bin': 'a\0bcd',
      'large.txt': 'l'.repeat(4 * 1024 * 1024 + 1),
      'src/b.txt': 'b\n',
    });
    await project.write({ 'out/made.txt': `${secret}\n` });
    const outcome = await read(project, path);
    expect(outcome).toEqual({ output: expect.stringContaining(`${path}: ${reason}`), isError: true });
    expect(outcome.output).not.toContain(secret);
  });

  test('refuses the same files in the tip as on disk', async () => {
    const project = await onLine({ '.env': `KEY=${secret}\n`, 'image.bin': 'a\0b' });
    await project.switchTo('main');
    const refusal = (path: string) => outputOf(project, 'read_file', { path }, { selector: session });
    expect(await refusal('.env')).toContain('named like a secret');
    expect(await refusal('image.bin')).toContain('a binary file of 3 bytes');
    expect(await refusal(own)).toContain('inside `.teddy`');
  });

  test('returns nothing that the user’s own list or .teddyignore excludes', async () => {
    const project = await onLine({
      '.teddyignore': 'drafts/\n',
      'drafts/d.txt': 'd\n',
      'docs/a.txt': 'a\n',
      'docs/b.txt': 'b\n',
    });
    await project.commit('Lists\n', { [own]: '!docs/\ndocs/b.txt\n' });
    expect((await read(project, 'docs/a.txt')).output).toContain('session.context, line 1 (!docs/) takes it away');
    expect((await read(project, 'drafts/d.txt')).output).toContain('.teddyignore leaves it out');
    expect((await read(project, 'docs/b.txt')).output).toBe('b\n');
  });

  test('reports it if the system denies reading', async () => {
    const project = await onLine({ 'a.txt': 'a\n' });
    const { filesOf } = project;
    const inspect = () => Promise.reject(new TeddyError('ACTION_FAILED', 'a.txt could not be read: EACCES.'));
    project.filesOf = (root) => ({ ...filesOf(root), inspect });
    const output = 'read_file a.txt: it could not be read; its permissions do not allow it.';
    expect(await read(project, 'a.txt')).toEqual({ output, isError: true });
  });

  test('reports it if a text cannot be masked, and shows none of it', async () => {
    const project = await onLine({ 'a.txt': `${secret}\n` });
    project.masker.mask = () => Promise.reject(new TeddyError('MASKING_FAILED', 'It cannot be masked.', 'Mend it.'));
    expect(await read(project, 'a.txt')).toEqual({ output: 'It cannot be masked. Mend it.', isError: true });
  });

  test('masks paths in its messages', async () => {
    const project = await onLine({});
    project.secrets.set(secret, 'password');
    expect((await read(project, `${secret}.txt`)).output).toBe(
      'read_file [masked: password].txt: there is no such path.',
    );
  });

  test('throws if it was interrupted before', async () => {
    const project = await onLine({ 'a.txt': 'a\n' });
    const call = callTool(project, 'read_file', { path: 'a.txt' }, { signal: AbortSignal.abort() });
    await expect(call).rejects.toMatchObject({ code: 'INTERRUPTED' });
  });
});

describe('list_files', () => {
  const list = (project: MemoryProject, values: object = {}, more: { selector?: string } = {}) =>
    callTool(project, 'list_files', values, more);
  const files = { 'a.txt': 'a\n', 'src/b.ts': 'b\n', 'src/deep/c.ts': 'c\n', 'src/gone.ts': 'g\n' };

  test('lists the existing files, without ignored ones and .teddy', async () => {
    const project = await onLine(files);
    await project.write({ 'src/gone.ts': null, 'src/new.ts': 'n\n', 'staged.txt': 's\n', 'out/made.txt': 'm\n' });
    await project.stage('staged.txt');
    expect(await list(project)).toEqual({
      output: '.gitignore\na.txt\nsrc/b.ts\nsrc/deep/c.ts\nsrc/new.ts\nstaged.txt\n',
      isError: false,
    });
  });

  test('lists one directory, and the matches for a pattern below it', async () => {
    const project = await onLine(files);
    expect((await list(project, { path: 'src/' })).output).toBe('src/b.ts\nsrc/deep/c.ts\nsrc/gone.ts\n');
    expect((await list(project, { path: 'src', pattern: 'deep/*.ts' })).output).toBe('src/deep/c.ts\n');
    expect((await list(project, { pattern: '*.txt' })).output).toBe('a.txt\n');
    expect((await list(project, { pattern: '*.rs' })).output).toBe('No file in the project matches *.rs.');
  });

  test('lists the tip if the line is not checked out', async () => {
    const project = await onLine(files);
    await project.switchTo('main');
    await project.commit('On main\n', { 'a.txt': null, 'main.txt': 'm\n' });
    expect((await list(project, {}, { selector: session })).output).toBe(
      '.gitignore\na.txt\nsrc/b.ts\nsrc/deep/c.ts\nsrc/gone.ts\n',
    );
  });

  slowTest('folds directories if there are more than 2,000 files', async () => {
    const many = Object.fromEntries(Array.from({ length: 2100 }, (_, at) => [`big/f${at}.txt`, 'x']));
    const project = await onLine({ ...many, 'a.txt': 'a\n' });
    expect((await list(project)).output).toBe('.gitignore\na.txt\nbig/ (2100 files)\n');
  });

  test('masks a secret in a name', async () => {
    const project = await onLine({ [`keys/${secret}.txt`]: 'x\n' });
    project.secrets.set(secret, 'password');
    expect((await list(project, { path: 'keys' })).output).toBe('keys/[masked: password].txt\n');
  });

  test.each([
    [{ path: '../x' }, 'list_files ../x: it leaves the project with `..`.'],
    [{ path: '.git' }, 'list_files .git: it is inside `.git`.'],
    [{ path: 'out' }, 'list_files out: git ignores it; only the user'],
    [{ path: '.ssh' }, 'list_files .ssh: named like a secret; only the user'],
    [{ path: 'nowhere' }, 'list_files nowhere: there is no such path.'],
    [{ path: 'a.txt' }, 'list_files a.txt: it is a file; read_file reads it.'],
    [{ pattern: '*a*b*c*d*' }, 'list_files: the pattern *a*b*c*d*: it has too many wildcards'],
  ])('refuses %j, with the reason', async (values, reason) => {
    const project = await onLine({ ...files, '.ssh/config': 'x\n' });
    await project.write({ 'out/made.txt': 'm\n' });
    expect(await list(project, values)).toEqual({ output: expect.stringContaining(reason), isError: true });
  });
});

describe('search_text', () => {
  const search = (project: MemoryProject, query: string, more: object = {}) =>
    callTool(project, 'search_text', { query, ...more });

  test('returns the path, number and text of each line', async () => {
    const project = await onLine({ 'a.txt': 'x\nthe needle\r\n', 'src/b.ts': 'Needle\n' });
    await project.write({ 'new file.txt': 'needle' });
    expect(await search(project, 'needle')).toEqual({
      output: 'a.txt:2: the needle\n"new file.txt":1: needle\n',
      isError: false,
    });
    expect((await search(project, 'needle', { ignore_case: true, path: 'src' })).output).toBe('src/b.ts:1: Needle\n');
    expect((await search(project, '^n.*e$', { is_regex: true })).output).toBe('"new file.txt":1: needle\n');
    expect(await search(project, 'hay')).toEqual({ output: 'No line was found.\n', isError: false });
  });

  test('searches the tip if the line is not checked out', async () => {
    const project = await onLine({ 'a.txt': 'needle\n' });
    await project.switchTo('main');
    await project.commit('On main\n', { 'a.txt': 'edited\n', 'm.txt': 'needle\n' });
    const found = await outputOf(project, 'search_text', { query: 'needle' }, { selector: line });
    expect(found).toBe('a.txt:1: needle\n');
  });

  test('returns at most 200 lines of at most 300 characters, and does not count the rest', async () => {
    const project = await onLine({
      'a.txt': `needle${'é'.repeat(400)}\n${'needle\n'.repeat(150)}`,
      'b.txt': 'needle\n'.repeat(120),
    });
    const lines = (await search(project, 'needle')).output.split('\n');
    expect(lines).toHaveLength(202);
    expect(lines[0]).toBe(`a.txt:1: needle${'é'.repeat(294)} [...]`);
    expect(lines[199]).toBe('b.txt:49: needle');
    expect(lines[200]).toBe('[no more are shown; search in a directory, or for a longer query]');
  });

  test('finds nothing in unreadable files, and does not reveal that they exist', async () => {
    const project = await onLine({
      '.env': 'needle\n',
      id_rsa: 'needle\n',
      '.teddyignore': 'drafts/\n',
      'drafts/d.txt': 'needle\n',
      'docs/a.txt': 'needle\n',
      'b.txt': 'needle\n',
    });
    await project.commit('Lists\n', { [own]: '!docs/\n# needle\n' });
    await project.write({ 'out/made.txt': 'needle\n' });
    expect((await search(project, 'needle')).output).toBe('b.txt:1: needle\n');
  });

  test('reports the same whether or not a secret matches beyond the lines that are shown', async () => {
    const project = await onLine({ 'a.txt': 'line\n'.repeat(300), 'z.txt': 'key = QUUX\n' });
    project.secrets.set('QUUX', 'key');
    const [right, wrong] = [
      await search(project, '^line|Q', { is_regex: true }),
      await search(project, '^line|Z', { is_regex: true }),
    ];
    expect(right.output).toBe(wrong.output);
  });

  test('masks a file as a whole: a line of a secret cannot be found separately', async () => {
    const project = await onLine({ 'a.txt': 'key = BEGIN\nneedle\nEND\nneedle too\n' });
    project.secrets.set('BEGIN\nneedle\nEND', 'private key');
    expect((await search(project, 'needle')).output).toBe('a.txt:4: needle too\n');
    expect((await search(project, 'key')).output).toBe('No line was found.\n');
  });

  test('shows a line with a secret only for a match outside the secret', async () => {
    const project = await onLine({ 'a.txt': `password = ${secret}\n` });
    project.secrets.set(secret, 'password');
    expect((await search(project, 'password')).output).toBe('a.txt:1: password = [masked: password]\n');
    expect((await search(project, 'hunter2')).output).toBe('No line was found.\n');
    await project.write({ 'b.txt': 'x = password-of-ada\n' });
    project.secrets.set('password-of-ada', 'password');
    expect((await search(project, 'password', { path: 'b.txt' })).output).toBe('No line was found.\n');
    expect((await search(project, '= h', { is_regex: true })).output).toBe('No line was found.\n');
    expect((await search(project, 'password', { is_regex: true })).output).toBe('No line was found.\n');
  });

  test.each([
    ['.env', 'named like a secret'],
    ['out', 'git ignores it'],
    ['../x', 'it leaves the project with `..`'],
    ['.git', 'it is inside `.git`'],
    ['nowhere', 'there is no such path'],
  ])('refuses to search in %s', async (path, reason) => {
    const project = await onLine({ '.env': 'needle\n' });
    await project.write({ 'out/made.txt': 'needle\n' });
    const output = expect.stringContaining(`search_text in ${path}: ${reason}`);
    expect(await search(project, 'needle', { path })).toEqual({ output, isError: true });
  });

  test('reports an invalid expression to the model', async () => {
    const project = await onLine({ 'a.txt': 'a\n' });
    expect(await search(project, '(', { is_regex: true })).toEqual({
      output: expect.stringContaining('git could not search: '),
      isError: true,
    });
  });
});
