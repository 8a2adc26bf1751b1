import { describe, expect } from 'vitest';
import { TeddyError } from '../../../src/errors.ts';
import type { RepoPath } from '../../../src/names.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { line, say, session, storyOfLine } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const megabyte = 1024 * 1024;

async function begin(): Promise<MemoryProject> {
  const project = await given.session({ 'README.md': '# Notes\n', 'a.txt': 'a\n', '.gitignore': '*.log\n' });
  project.configuration.set('teddy.snapshot', 'all');
  return project;
}

/** The same project, with another work tree. */
function withWorkspace(
  project: MemoryProject,
  change: (workspace: MemoryProject['repository']['workspace']) => object,
): MemoryProject {
  const workspace = { ...project.repository.workspace, ...change(project.repository.workspace) };
  return { ...project, repository: { ...project.repository, workspace } };
}

describe('with teddy.snapshot=all', () => {
  test('untracked files join the snapshot, beside edited ones', async () => {
    const project = await begin();
    await project.write({ 'new.txt': 'n\n', 'deep/er.txt': 'd\n', 'x.log': 'l\n', 'a.txt': 'edited\n' });
    await say(project, 'Go on', 'Fine.');
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'snapshot', 'message 01', 'reply 01']);
    const tip = await project.tipOf(line);
    const read = (path: string) => project.readAt(tip, path);
    expect(await Promise.all(['new.txt', 'deep/er.txt', 'a.txt', 'x.log'].map(read))).toEqual([
      'n\n',
      'd\n',
      'edited\n',
      null,
    ]);
    expect(project.said).toContain('Your own edits to 3 files were committed as a snapshot (2 of them new).');
    const status = await project.repository.workspace.status({ untracked: true });
    expect(status).toEqual({ edits: [], unmerged: [], untracked: [] });
  });

  test('new files alone are a snapshot', async () => {
    const project = await begin();
    await project.write({ 'new.txt': 'n\n' });
    await say(project, 'Go on', 'Fine.');
    expect(project.said).toContain('Your own edits to 1 file were committed as a snapshot (1 of them new).');
  });

  slowTest(
    'secrets, by name and by content, and files of 1 MiB or more are skipped, each with the reason',
    async () => {
      const project = await begin();
      project.secrets.set('hunter2hunter2', 'password');
      await project.write({
        '.env': 'A=1\n',
        'notes.txt': 'It is hunter2hunter2.\n',
        'wide.txt': [...'hunter2hunter2'].join('\0'),
        'exact.bin': 'x'.repeat(megabyte),
        'below.bin': 'x'.repeat(megabyte - 1),
        '.teddy/mine.txt': 'x\n',
      });
      await say(project, 'Go on', 'Fine.');
      const tip = await project.tipOf(line);
      const files = (await project.repository.store.listTree(tip)).map(({ path }) => path);
      expect(files.filter((path) => !path.startsWith('.teddy/sessions/') && path !== '.teddy/.gitattributes')).toEqual([
        '.gitignore',
        '.teddy/global.context',
        '.teddy/memos.yaml',
        'README.md',
        'a.txt',
        'below.bin',
      ]);
      const said = project.said.find((text) => text.startsWith('warning: Left out of the snapshot: ')) ?? '';
      for (const reason of [
        '.env (named like a secret)',
        'notes.txt (it contains a secret)',
        'wide.txt (it contains a secret)',
        'exact.bin (1 MiB or more)',
        '.teddy/mine.txt (only teddy itself adds files to .teddy/)',
      ])
        expect(said).toContain(reason);
    },
  );

  test('skipped files alone make no snapshot, and are named all the same', async () => {
    const project = await begin();
    await project.write({ '.env': 'A=1\n' });
    await say(project, 'Go on', 'Fine.');
    expect(await storyOfLine(project)).not.toContain('snapshot');
    expect(project.said).toContain('warning: Left out of the snapshot: .env (named like a secret).');
  });

  test('an unreadable file is skipped, and one that has vanished is ignored', async () => {
    const project = await begin();
    await project.write({ 'locked.txt': 'x\n', 'brief.txt': 'x\n', 'new.txt': 'n\n' });
    const hindered = withWorkspace(project, ({ readDisk }) => ({
      readDisk: async (path: RepoPath) => {
        if (path === 'locked.txt') throw new TeddyError('WRITE_FAILED', 'EACCES');
        if (path === 'brief.txt') await project.write({ 'brief.txt': null });
        return readDisk(path);
      },
    }));
    await say(hindered, 'Go on', 'Fine.');
    expect(project.said).toContain('Your own edits to 1 file were committed as a snapshot (1 of them new).');
    expect(project.said).toContain('warning: Left out of the snapshot: locked.txt (it cannot be read).');
  });

  slowTest(
    'a file that is written between the check and the commit is skipped: only checked content is committed',
    async () => {
      const project = await begin();
      project.secrets.set('hunter2hunter2', 'password');
      await project.write({ 'log.txt': 'harmless\n', 'new.txt': 'n\n' });
      const racing = withWorkspace(project, ({ treeOfPaths }) => ({
        treeOfPaths: async (...args: Parameters<typeof treeOfPaths>) => {
          await project.write({ 'log.txt': 'hunter2hunter2\n' });
          return treeOfPaths(...args);
        },
      }));
      await say(racing, 'Go on', 'Fine.');
      const tip = await project.tipOf(line);
      expect([await project.readAt(tip, 'log.txt'), await project.readAt(tip, 'new.txt')]).toEqual([null, 'n\n']);
      expect(project.said).toContain('warning: Left out of the snapshot: log.txt (it is being written).');
    },
  );

  test('a file that git refuses stops the turn, with nothing changed', async () => {
    const project = await begin();
    const tip = await project.tipOf(line);
    await project.write({ 'new.txt': 'n\n' });
    const failing = withWorkspace(project, () => ({
      treeOfPaths: () => Promise.reject(new TeddyError('GIT_FAILED', 'the filter has failed')),
    }));
    await expect(say(failing, 'Go on', 'Fine.')).rejects.toMatchObject({
      code: 'SNAPSHOT_FAILED',
      message: expect.stringContaining('the filter has failed') as string,
    });
    expect(await project.tipOf(line)).toBe(tip);
  });
});

slowTest('without it no untracked file is even looked at', async () => {
  const project = await begin();
  project.configuration.delete('teddy.snapshot');
  await project.write({ '.env': 'A=1\n', 'new.txt': 'n\n' });
  await say(project, 'Go on', 'Fine.');
  expect(project.said.join('\n')).not.toContain('snapshot');
  expect(await project.readAt(await project.tipOf(line), `.teddy/sessions/${session}/01/plan.md`)).toBeNull();
  expect(await project.readAt(await project.tipOf(line), 'new.txt')).toBeNull();
});
