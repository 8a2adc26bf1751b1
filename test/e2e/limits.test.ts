/** What the system refuses: no more open files, no more room. Each has a code and a hint, and none a stack trace. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, statfs, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { environmentOf, runTeddy, teddyPath } from '../support/run-teddy.ts';
import { openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

const run = promisify(execFile);
const stackLine = /^\s+at .*:\d+:\d+/m;

describe('without open files', () => {
  let project: TeddyProject;
  beforeAll(async () => {
    project = await openTeddyProject();
    await project.begin('few');
  });
  afterAll(() => project.close());

  /** Node itself needs twenty before a line of teddy runs. */
  test.each(['session list', 'session say -m hi', 'session chat -m hi'])(
    '%s has done its work, or says which limit is too low',
    async (command) => {
      const codes = new Set<string>();
      for (const limit of [20, 25, 30]) {
        const script = `ulimit -n ${limit}; exec "$0" "$@"`;
        const args = ['-c', script, process.execPath, teddyPath, ...command.split(' ')];
        const options = { cwd: project.repo.root, env: environmentOf({ ...project.env }) };
        const stderr = await run('sh', args, options).then(
          () => '',
          (error: { stderr: string }) => error.stderr,
        );
        expect(stderr).not.toMatch(stackLine);
        const code = / \[([A-Z_]+)\]$/m.exec(stderr)?.[1];
        if (code !== undefined) expect(stderr).toMatch(/^hint: {2}\S/m);
        if (stderr !== '') codes.add(code ?? stderr);
      }
      expect([...codes]).toContain('TOO_MANY_FILES');
      expect([...codes].every((code) => /^[A-Z_]+$/.test(code))).toBe(true);
    },
  );
});

describe('without room', () => {
  let disk: string;
  let isMounted = false;
  let project: TeddyProject;
  beforeAll(async () => {
    disk = await mkdtemp(join(tmpdir(), 'teddy-small-'));
    isMounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk]).then(
      () => true,
      () => false,
    );
    project = await openTeddyProject({ answers: () => 'Fine.' });
  });
  afterEach(() => unlink(join(disk, 'filler')).catch(() => undefined));
  afterAll(async () => {
    if (isMounted) await run('umount', [disk]);
    await rm(disk, { recursive: true });
    await project.close();
  });

  test('a conversation says so, and goes on when there is room again', async ({ skip }) => {
    skip(!isMounted, 'only root can mount a small file system');
    const cwd = join(disk, 'repository');
    await run('git', ['clone', '-q', '-c', 'core.hooksPath=/dev/null', project.repo.root, cwd]);
    for (const [key, value] of [
      ['user.name', 'A'],
      ['user.email', 'a@example.com'],
      ['teddy.model', 'gpt-test'],
    ] as const)
      await run('git', ['-C', cwd, 'config', key, value]);
    await run('rm', ['-rf', join(cwd, '.git', 'hooks')]);
    const teddy = (...args: string[]) => runTeddy(args, { cwd, env: project.env });
    expect(await teddy('session', 'new', 'full')).toMatchObject({ exitCode: 0 });
    for (const freePages of [0, 2, 5]) {
      const { bavail, bsize } = await statfs(disk);
      await writeFile(join(disk, 'filler'), Buffer.alloc(Math.max(0, (bavail - freePages) * bsize)));
      const { exitCode, stderr } = await teddy('session', 'chat', '-m', 'Hello');
      expect(stderr).not.toMatch(stackLine);
      if (exitCode !== 0) expect(stderr).toMatch(/\[(?:DISK_FULL|GIT_FAILED)\]\nhint: {2}\S/);
      if (freePages === 0) expect(stderr).toContain('[DISK_FULL]');
      await unlink(join(disk, 'filler'));
    }
    expect(await teddy('session', 'chat', '-m', 'Hello')).toMatchObject({ exitCode: 0 });
  });
});
