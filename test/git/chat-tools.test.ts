/**
 * The tools in a conversation, where only real files, real git and a real shell are enough: links, modes, processes.
 */
import { rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import type { Project } from '../../src/ports/project.ts';
import { letters } from '../support/planted-secrets.ts';
import { copyScratchRepository, makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { callTool } from '../support/tool-calls.ts';
import { start } from '../support/turns.ts';

let repo: ScratchRepository;
let other: ScratchRepository;
let project: Project;

let first: ScratchRepository;
const open = (cwd: string) =>
  openProject({ cwd, env: process.env, notices: { info: () => undefined, warn: () => undefined } });

beforeAll(async () => {
  first = await makeScratchRepository({ 'a.txt': 'a needle\n', 'dir/b.txt': 'b needle\n', '.gitignore': 'out/\n' });
  other = await makeScratchRepository({ 'o.txt': 'needle elsewhere\n' });
  await symlink(join(other.root, 'o.txt'), join(first.root, 'leads-out.txt'));
  await symlink(other.root, join(first.root, 'linked'));
  await symlink('a.txt', join(first.root, 'inside.txt'));
  await symlink('dir', join(first.root, 'linked-dir'));
  await first.git('add', '.');
  await first.git('commit', '--quiet', '-m', 'Links');
  await first.git('init', '--quiet', 'nested');
  await first.write('nested/n.txt', 'needle elsewhere\n');
  const opened = await open(first.root);
  await start(opened);
  await opened.repository.close();
});
afterAll(() => Promise.all([first.close(), other.close()]));

beforeEach(async () => {
  repo = await copyScratchRepository(first);
  project = await open(repo.root);
});
afterEach(async () => {
  await project.repository.close();
  await repo.close();
});

const refused = [
  ['leads-out.txt', 'it is a symlink that leads out of the project'],
  ['linked/o.txt', '`linked` is a symlink that leads out of the project'],
  ['inside.txt', 'it goes through a symbolic link; name a.txt, where it leads'],
  ['linked-dir/b.txt', 'it goes through a symbolic link; name dir/b.txt, where it leads'],
  ['nested/n.txt', '`nested` is a repository of its own'],
] as const;

describe('on the files of a checked-out line', () => {
  test.each(refused)('read_file refuses %s', async (path, reason) => {
    expect(await callTool(project, 'read_file', { path })).toEqual({
      output: `read_file ${path}: ${reason}.`,
      isError: true,
    });
  });

  test('list_files and search_text follow no link, and enter no other repository and no ignored file', async () => {
    await repo.write('out/made.txt', 'needle\n');
    await repo.write('new.txt', 'needle\n');
    expect((await callTool(project, 'list_files', {})).output).toBe(
      '.gitignore\na.txt\ndir/b.txt\ninside.txt\nleads-out.txt\nlinked\nlinked-dir\nnew.txt\n',
    );
    expect((await callTool(project, 'search_text', { query: 'needle' })).output).toBe(
      'a.txt:1: a needle\ndir/b.txt:1: b needle\nnew.txt:1: needle\n',
    );
  });

  test('a directory that git ignores is neither listed nor searched', async () => {
    await repo.write('out/made.txt', 'needle\n');
    const listed = await callTool(project, 'list_files', { path: 'out' });
    const found = await callTool(project, 'search_text', { query: 'needle', path: 'out' });
    expect([listed.output, found.output]).toEqual([
      expect.stringContaining('list_files out: git ignores it'),
      expect.stringContaining('search_text in out: git ignores it'),
    ]);
  });

  test('search_text shows nothing from a file whose directory has become a link', async () => {
    await other.commit({ 'b.txt': 'needle elsewhere\n' });
    await rm(join(repo.root, 'dir'), { recursive: true });
    await repo.write('out/b.txt', 'needle in an ignored file\n');
    for (const target of [other.root, 'out']) {
      await symlink(target, join(repo.root, 'dir'));
      expect((await callTool(project, 'search_text', { query: 'needle' })).output).toBe('a.txt:1: a needle\n');
      await rm(join(repo.root, 'dir'));
    }
  });

  test('secrets are masked by their form in every tool’s output', async () => {
    const token = `ghp_${letters(36, 7)}`;
    await repo.write('token.txt', `const token = "${token}";\n`);
    const shown: string[] = [];
    const onOutput = (_: string, text: string) => void shown.push(text);
    const outcomes = await Promise.all([
      callTool(project, 'read_file', { path: 'token.txt' }),
      callTool(project, 'search_text', { query: 'const token' }),
      callTool(project, 'run_command', { command: 'cat token.txt' }, { onOutput }),
    ]);
    for (const { output } of outcomes) {
      expect(output).toContain('const token = "[masked: ');
      expect(output).not.toContain(token);
    }
    expect(shown.join('')).toContain('[masked: ');
    expect(shown.join('')).not.toContain(token);
  });
});

describe('on the tip of a line that is not checked out', () => {
  beforeEach(() => repo.git('switch', '--quiet', 'main'));
  const selector = 'add-login';

  test('read_file follows no link, and reports its target', async () => {
    const why = {
      'leads-out.txt': 'it is a symlink that leads out of the project',
      'inside.txt': 'it goes through a symbolic link; name a.txt, where it leads',
      'linked-dir/b.txt': 'it goes through a symbolic link; name dir/b.txt, where it leads',
    };
    for (const [path, reason] of Object.entries(why)) {
      const { output } = await callTool(project, 'read_file', { path }, { selector });
      expect(output).toContain(`read_file ${path}: ${reason}`);
    }
    expect((await callTool(project, 'read_file', { path: 'a.txt' }, { selector })).output).toBe('a needle\n');
  });

  test('search_text finds lines in the tip', async () => {
    await repo.write('a.txt', 'edited\n');
    const { output } = await callTool(project, 'search_text', { query: 'needle' }, { selector });
    expect(output).toBe('a.txt:1: a needle\ndir/b.txt:1: b needle\n');
  });
});

describe('run_command with a real shell', () => {
  test('runs in its directory, and reports the files that it changed', async () => {
    const { output, isError } = await callTool(project, 'run_command', {
      command: 'pwd | sed "s,.*/,,"\necho more >> b.txt\necho new > c.txt\nmkdir -p ../out && touch ../out/x',
      cwd: 'dir',
    });
    expect(output).toBe('Exit code 0.\n--- stdout\ndir\n--- changed files\ndir/b.txt\ndir/c.txt\n');
    expect(isError).toBe(false);
  });

  test('is ended after its timeout', async () => {
    const { output, isError } = await callTool(project, 'run_command', {
      command: 'echo begun; sleep 60',
      timeout_s: 1,
    });
    expect(output).toBe('The command was ended after 1 s. Exit code 124.\n--- stdout\nbegun\n');
    expect(isError).toBe(true);
  });

  test('is ended with all its processes when it is aborted', async () => {
    const controller = new AbortController();
    const onOutput = () => controller.abort();
    const command = '(sleep 1; touch survived.txt) & echo begun; sleep 600';
    const outcome = await callTool(project, 'run_command', { command }, { signal: controller.signal, onOutput });
    expect(outcome).toMatchObject({ isError: true, reason: 'aborted' });
    expect(outcome.output).toMatch(/^Tool execution aborted by user\..*\n--- stdout\nbegun\n/);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(await repo.list('.')).not.toContain('survived.txt');
  });

  test('leaves .teddy unchanged', async () => {
    const before = await repo.read('.teddy/global.context');
    const command = 'echo .env > .teddy/global.context; git add .teddy; exit 2';
    const { output } = await callTool(project, 'run_command', { command });
    expect(output).toMatch(/^Exit code 2\.\n--- put back: .*\n\.teddy\/global\.context\n/);
    expect(await repo.read('.teddy/global.context')).toBe(before);
    expect(await repo.git('diff', '--cached', '--name-only')).toBe('');
  });
});
