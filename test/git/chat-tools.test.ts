/** The tools in a conversation, where only real links and real git are enough. */
import { rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import type { Project } from '../../src/ports/project.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { callTool } from '../support/tool-calls.ts';
import { start } from '../support/turns.ts';

let repo: ScratchRepository;
let other: ScratchRepository;
let project: Project;

beforeAll(async () => {
  repo = await makeScratchRepository({ 'a.txt': 'a needle\n', 'dir/b.txt': 'b needle\n', '.gitignore': 'out/\n' });
  other = await makeScratchRepository({ 'b.txt': 'needle elsewhere\n', 'o.txt': 'needle elsewhere\n' });
  const links = { 'leads-out.txt': join(other.root, 'o.txt'), linked: other.root };
  for (const [name, target] of Object.entries({ ...links, 'inside.txt': 'a.txt', 'linked-dir': 'dir' }))
    await symlink(target, join(repo.root, name));
  await repo.git('add', '.');
  await repo.git('commit', '--quiet', '-m', 'Links');
  await repo.git('init', '--quiet', 'nested');
  await repo.write('nested/n.txt', 'needle elsewhere\n');
  const notices = { info: () => undefined, warn: () => undefined };
  project = await openProject({ cwd: repo.root, env: process.env, notices });
  await start(project);
});
afterAll(async () => {
  await project.repository.close();
  await Promise.all([repo.close(), other.close()]);
});

const tracked = {
  'leads-out.txt': 'it is a symlink that leads out of the project',
  'inside.txt': 'it goes through a symbolic link; name a.txt, where it leads',
  'linked-dir/b.txt': 'it goes through a symbolic link; name dir/b.txt, where it leads',
};

test('read_file follows no link and enters no other repository, on disk and in the tip, and reports the link’s target', async () => {
  const onDisk = {
    ...tracked,
    'linked/o.txt': '`linked` is a symlink that leads out of the project',
    'nested/n.txt': '`nested` is a repository of its own',
  };
  for (const [path, reason] of Object.entries(onDisk))
    expect(await callTool(project, 'read_file', { path })).toEqual({
      output: `read_file ${path}: ${reason}.`,
      isError: true,
    });
  await repo.git('switch', '--quiet', 'main');
  for (const [path, reason] of Object.entries(tracked)) {
    const { output } = await callTool(project, 'read_file', { path }, { selector: 'add-login' });
    expect(output).toContain(`read_file ${path}: ${reason}`);
  }
  await repo.git('switch', '--quiet', '-');
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

test('search_text shows nothing from a file whose directory has become a link', async () => {
  await rm(join(repo.root, 'dir'), { recursive: true });
  await repo.write('out/b.txt', 'needle in an ignored file\n');
  for (const target of [other.root, 'out']) {
    await symlink(target, join(repo.root, 'dir'));
    const { output } = await callTool(project, 'search_text', { query: 'needle' });
    expect(output).toBe('a.txt:1: a needle\nnew.txt:1: needle\n');
    await rm(join(repo.root, 'dir'));
  }
});
