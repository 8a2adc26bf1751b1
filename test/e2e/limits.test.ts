/** The system refuses: no more open files, no more room. Each refusal has a code and a hint, and none a stack trace. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, statfs, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { tooManyFilesError } from '../../src/errors.ts';
import { environmentOf, runTeddy, teddyPath } from '../support/run-teddy.ts';
import { createAction, executeAction, openTeddyProject, planOf, type TeddyProject } from '../support/teddy-project.ts';

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

  test('the way out of a low limit is open to everybody', async () => {
    const { hint } = tooManyFilesError();
    const way = /`([^`]+)`/.exec(hint ?? '')?.[1] ?? '';
    // Nobody but root may raise a hard limit, or go beyond it.
    const script = `ulimit -S -n 20; ulimit -H -n 512; ${way} && ulimit -S -n`;
    const asNobody = ['--reuid=65534', '--regid=65534', '--clear-groups', 'sh', '-c', script];
    const [program, args] = process.getuid?.() === 0 ? ['setpriv', asNobody] : ['sh', ['-c', script]];
    expect((await run(program, args)).stdout).toBe('512\n');
  });
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
    await rm(cwd, { recursive: true });
  });

  test('a run that has filled the disk says how it goes on, and is rolled back before anybody makes room', async ({
    skip,
  }) => {
    skip(!isMounted, 'only root can mount a small file system');
    const cwd = join(disk, 'filled');
    await run('git', ['clone', '-q', '-c', 'core.hooksPath=/dev/null', project.repo.root, cwd]);
    await run('rm', ['-rf', join(cwd, '.git', 'hooks')]);
    const identity = {
      GIT_AUTHOR_NAME: 'A',
      GIT_AUTHOR_EMAIL: 'a@x',
      GIT_COMMITTER_NAME: 'A',
      GIT_COMMITTER_EMAIL: 'a@x',
    };
    const env = { ...project.env, ...identity };
    const teddy = (...args: string[]) => runTeddy(args, { cwd, env });
    expect(await teddy('session', 'new', 'fill')).toMatchObject({ exitCode: 0 });
    const plan = planOf(createAction('one.txt', 'one\n'), executeAction('seq 1 900000 > big.txt; true'));
    const options = { cwd, env, stdin: plan };
    expect(await runTeddy(['session', 'plan', '--from', '-', '-m', 'Fill it'], options)).toMatchObject({ exitCode: 0 });

    const filled = await teddy('session', 'execute', '-y');
    expect(filled).toMatchObject({ exitCode: 1 });
    expect(filled.stderr).toMatch(/[Nn]o space left .*\[DISK_FULL\]\nhint: {2}Free some space, .*--interrupted=resume/);
    const kept = await teddy('session', 'execute', '--interrupted=keep');
    expect(kept.stderr).toMatch(/\[DISK_FULL\]\nhint: {2}Free some space, .*--interrupted=rollback/);
    expect(await teddy('session', 'execute', '--interrupted=rollback')).toMatchObject({ exitCode: 0 });
    expect(existsSync(join(cwd, 'big.txt'))).toBe(false);
    await rm(join(cwd, '.git', 'teddy', 'aside'), { recursive: true });
    expect((await teddy('session', 'execute', '--reject')).stdout).toContain('ABORTED turn 01');
  });
});
