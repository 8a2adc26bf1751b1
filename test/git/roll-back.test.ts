/**
 * A run that fails or is killed is rolled back: with real git, a real shell and anything a command may do to a work
 * tree.
 */
import { chmod, lstat, mkdir, readdir, readFile, readlink, rm, symlink } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import { TeddyError } from '../../src/errors.ts';
import type { Project } from '../../src/ports/project.ts';
import type { Approver } from '../../src/workflow/run/run.ts';
import { rollBackRun } from '../../src/workflow/run/settle.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { approveAll, command, create, edit, planOf, run, say, start } from '../support/turns.ts';

let repo: ScratchRepository;
let project: Project;
let said: string[];

afterEach(async () => {
  await project.repository.close();
  await repo.close();
});

const tracked = {
  'a.txt': 'a\n',
  'b.txt': 'b\n',
  'dir/c.txt': 'c\n',
  'dir/deep/d.txt': 'd\n',
  'naïve name.txt': 'spaces\n',
  '.gitignore': 'ignored*\n',
};

interface Before {
  files?: Record<string, string>;
  /** Before the first commit. */
  commit?: (at: (path: string) => string) => Promise<unknown>;
  /** The user does this before the run. */
  user?: (at: (path: string) => string) => Promise<unknown>;
}

async function open({ files = tracked, commit, user }: Before, ...actions: string[]): Promise<void> {
  repo = await makeScratchRepository(files);
  const at = (path: string) => join(repo.root, path);
  if (commit) {
    await commit(at);
    await repo.git('add', '--all');
    await repo.git('commit', '--quiet', '--allow-empty', '--message', 'More');
  }
  said = [];
  const notices = { info: () => undefined, warn: (text: string) => said.push(text) };
  project = await openProject({ cwd: repo.root, env: process.env, notices });
  await start(project);
  await say(project, 'Do it', planOf(actions));
  await user?.(at);
}

/** Everything below the root except `.git` and `.teddy`: kind, mode and content; empty directories too. */
async function look(dir = repo.root): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of (await readdir(dir)).toSorted()) {
    const path = join(dir, name);
    const shown = relative(repo.root, path);
    if (['.git', '.teddy'].includes(shown)) continue;
    const stats = await lstat(path);
    if (stats.isSymbolicLink()) found[shown] = `link ${await readlink(path)}`;
    else if (stats.isDirectory()) Object.assign(found, { [`${shown}/`]: '' }, await look(path));
    else
      found[shown] =
        `${(stats.mode & 0o7777).toString(8)} ${stats.isFile() ? await readFile(path, 'utf8') : 'special'}`;
  }
  return found;
}

const status = () => repo.git('status', '--porcelain', '--untracked-files=all', '--ignored');

/** The first command in the plan is the last thing that happens. */
async function killInCommand(): Promise<void> {
  const { shellOf } = project;
  const killed: Project = {
    ...project,
    shellOf: (root) => ({
      ...shellOf(root),
      async run(...args) {
        await shellOf(root).run(...args);
        throw new Error('killed');
      },
    }),
  };
  await expect(run(killed)).rejects.toThrow('killed');
}

const cases: [name: string, script: string, before?: Before][] = [
  [
    'changes files, modes, links and directories of all kinds',
    `echo x > a.txt; rm b.txt; mv dir/c.txt moved.txt; mkdir -p n/e; echo x > n/e/w
     chmod +x plain; chmod -x tool; rm gone-tool
     ln -sfn b.txt one; rm two; rm three; echo x > three; rm to-link; ln -s nowhere to-link; rm link; ln -s b.txt link
     rm -r to-file; echo x > to-file; rm to-dir; mkdir -p to-dir/deep; echo x > to-dir/deep/x
     for one in committed own; do mv $one $one-2; ln -s $one-2 $one; done; mv moved other
     echo x > unknown/empty/x; mkdir unknown/new; echo x > unknown/new/x; rm unknown/x.txt
     echo x > empty/x; mkdir -p empty/more; echo x > empty/more/x; echo x > dir/new
     echo x > private; rm secret; echo x > late; chmod 644 late; echo x > tracked-private
     echo x > "naïve name.txt"; rm "own ü [x].txt"; echo x > "*"; echo x > ":(top)x"
     ln -s behind into; rm into/c.txt; echo x > into/new.txt`,
    {
      files: {
        ...tracked,
        ...Object.fromEntries(
          ['plain', 'tool', 'gone-tool', 'to-link', 'to-file/deep/x', 'to-dir', 'committed/deep/x', 'behind/c.txt']
            .concat('tracked-private')
            .map((name) => [name, `${name}\n`]),
        ),
      },
      commit: async (at) => {
        for (const name of ['tool', 'gone-tool']) await chmod(at(name), 0o755);
        for (const [name, to] of Object.entries({ one: 'a.txt', two: 'gone', three: 'dir' }))
          await symlink(to, at(name));
      },
      async user(at) {
        for (const name of ['own/deep/x', 'moved/deep/x', 'unknown/x.txt', 'own ü [x].txt'])
          await repo.write(name, 'x\n');
        for (const name of ['unknown/empty', 'empty']) await mkdir(at(name));
        await symlink('nowhere', at('link'));
        for (const name of ['private', 'secret', 'late', 'tracked-private']) {
          await repo.write(name, `${name}\n`);
          await chmod(at(name), 0o600);
        }
        // Its age distinguishes the empty directory from one that the command makes.
        await setTimeout(100);
      },
    },
  ],
  [
    'stages edits and ignored files, removes from the index alone, and adds with intent',
    `echo x > a.txt; echo n > n.txt; git add --all; git rm --quiet --cached b.txt dir/c.txt
     echo n > intended.txt; git add --intent-to-add intended.txt; git add --force ignored.txt`,
    { user: () => repo.write('ignored.txt', 'mine\n') },
  ],
  [
    'edits files with line endings of the checkout',
    'printf "x\\r\\n" > crlf.txt; rm other.txt',
    {
      files: { '.gitattributes': '* text=auto eol=crlf\n', 'crlf.txt': 'one\ntwo\n', 'other.txt': 'o\n' },
      commit: async () => {
        await repo.git('rm', '--quiet', '--cached', '-r', '.');
        await repo.git('reset', '--quiet', '--hard');
      },
    },
  ],
  [
    'makes attributes that would change what it edits, and edits .gitignore so that ignored files show',
    `echo "* text eol=crlf" > .gitattributes; echo x > a.txt; echo x > "+first"
     echo "" > .gitignore; echo "b*" > dir/.gitignore; echo x > dir/new`,
    { files: { ...tracked, '+first': '1\n' }, user: () => repo.write('ignored.txt', 'mine\n') },
  ],
  [
    'edits attributes that would change what it edits, and deletes .gitignore',
    'echo "* text eol=crlf" > .gitattributes; echo x > a.txt; echo x > "+first"; rm .gitignore',
    {
      files: { ...tracked, '.gitattributes': '* -text\n', '+first': '1\n' },
      user: () => repo.write('sub/ignored/x', 'mine\n'),
    },
  ],
];

test.each(cases)(
  'a command that %s is rolled back after it was killed, and when its run fails',
  async (_, script, before = {}) => {
    await open(before, command(script), command('exit 3'));
    const [files, git] = [await look(), await status()];
    await killInCommand();
    const { left, failed } = await rollBackRun(project, {});
    expect([...left, ...failed]).toEqual([]);
    expect(await look()).toEqual(files);
    expect(await status()).toBe(git);
    await expect(rollBackRun(project, {})).rejects.toMatchObject({ code: 'NO_INTERRUPTED_RUN' });

    // Its plan is pending.
    said = [];
    const { report } = await run(project, { rollback: true });
    expect(report.run_summary.status).toBe('FAILURE');
    expect(report.action_logs[0]?.status).toBe('SUCCESS');
    expect(await look()).toEqual(files);
    expect(await status()).toBe(git);
    expect(report.rollback).toMatchObject({ left: [], moved_aside: [] });
    expect(report.changes).toEqual([]);
    expect(said).toEqual([]);
  },
);

/** Somebody else is working when the action waits for its approval. */
function meddlingAt(index: number, meddle: () => Promise<unknown>): Approver {
  const approver = approveAll();
  return {
    ...approver,
    async action(asked) {
      if (asked.action.index === index) await meddle();
      return approver.action(asked);
    },
  };
}

const failing = (...scripts: string[]) => [...scripts.map((script) => command(script)), command('exit 3')];

describe('a failed run', () => {
  test('leaves a file that an edited exclude list has exposed, and names it', async () => {
    const user = async () => {
      await repo.write('.git/info/exclude', 'private*\n');
      await repo.write('private.txt', 'mine\n');
      await setTimeout(100);
    };
    await open({ user }, ...failing(': > .git/info/exclude; echo x > made'));
    const { report } = await run(project, { rollback: true });
    expect(await repo.read('private.txt')).toBe('mine\n');
    expect(report.rollback).toEqual({
      restored: ['made'],
      left: [{ path: 'private.txt', reason: 'it was there before the run' }],
      moved_aside: [],
    });
  });

  test('leaves its commands’ commits, even of a file that an earlier action had written', async () => {
    await open(
      {},
      create('new.txt'),
      ...failing('git add new.txt; echo x > a.txt; git commit --quiet -m Mine new.txt'),
    );
    const { report } = await run(project, { rollback: true });
    expect(report.rollback).toMatchObject({
      restored: ['a.txt'],
      left: [{ path: 'new.txt', reason: 'it was committed in the meantime' }],
    });
    expect(await repo.read('new.txt')).toBe('new.txt\n');
    expect(await status()).toBe('');
    expect(said).toEqual(['Could not be restored: new.txt (it was committed in the meantime).']);
  });

  test('leaves big untracked files, submodules and other repositories, and names them', async () => {
    const commit = async () => {
      await repo.git('init', '--quiet', 'sub');
      const user = ['-c', 'user.name=A', '-c', 'user.email=a@example.org'];
      await repo.git('-C', 'sub', ...user, 'commit', '--quiet', '--allow-empty', '-m', 'S');
    };
    const user = async (at: (path: string) => string) => {
      await repo.write('big.bin', new Uint8Array(1024 * 1024 + 1));
      await mkdir(at('theirs'));
      await repo.git('init', '--quiet', 'theirs');
    };
    await open(
      { commit, user },
      ...failing(
        'echo x > big.bin; git init --quiet ours; echo x > ours/f; echo x > a.txt; rm -r theirs; echo x > sub/x',
      ),
    );
    const { report, leftOut } = await run(project, { rollback: true });
    expect(report.rollback?.restored).toEqual(['a.txt']);
    expect(report.rollback?.left.toSorted((a, b) => (a.path < b.path ? -1 : 1))).toEqual([
      { path: 'big.bin', reason: 'over 1 MiB, and git does not track it' },
      { path: 'ours/', reason: 'it is another repository' },
      { path: 'sub/', reason: 'it is another repository' },
      { path: 'theirs/', reason: 'it is another repository' },
    ]);
    for (const name of ['big.bin', 'ours/f', 'sub/x']) expect(await repo.read(name)).toBe('x\n');
    expect(await repo.git('ls-files', '--stage', 'sub')).toMatch(/^160000/);
    expect(leftOut.map(({ path }) => path)).toContain('ours/');
  });

  test('moves aside anything that somebody has edited since, or put in a file’s place, and names its new place', async () => {
    const script = 'echo x > made.txt; ln -s made.txt link; git checkout --quiet a.txt';
    await open({}, create('new.txt'), edit('a.txt', 'a', 'A'), command(script), command('exit 3'));
    const edited = meddlingAt(4, async () => {
      await repo.write('new.txt', 'mine\n');
      for (const name of ['a.txt', 'link']) {
        await rm(join(repo.root, name));
        await symlink(`my-${name}`, join(repo.root, name));
      }
    });
    const { report } = await run(project, { rollback: true, approver: edited });
    expect(report.rollback).toMatchObject({ left: [] });
    expect(report.rollback?.moved_aside.toSorted()).toEqual(['a.txt', 'link', 'new.txt']);
    expect(await look()).not.toHaveProperty(['new.txt']);
    expect(await repo.read('a.txt')).toBe('a\n');
    const [, ...places] = / saved as (\S+), (\S+), (\S+)\./.exec(said.join()) ?? [];
    const links = await Promise.all(places.map((place) => readlink(place).catch(() => 'no link')));
    expect(links.toSorted()).toEqual(['my-a.txt', 'my-link', 'no link']);
  });

  test('deletes no copy of a file that could not be restored', async () => {
    const user = async () => {
      await repo.write('u/own.txt', 'own\n');
      await setTimeout(100);
    };
    await open({ user }, ...failing('mv u u2'));
    const failingFiles: Project = {
      ...project,
      filesOf(root) {
        const files = project.filesOf(root);
        return {
          ...files,
          async putState(path, state) {
            if (path === 'u/own.txt') throw new TeddyError('WRITE_FAILED', 'No.');
            await files.putState(path, state);
          },
        };
      },
    };
    await expect(run(failingFiles, { rollback: true })).rejects.toMatchObject({ code: 'ROLLBACK_INCOMPLETE' });
    const [, place = ''] = / saved as (\S+)\./.exec(said.join()) ?? [];
    expect(await readFile(place, 'utf8')).toBe('own\n');
  });

  test('starts the same number of git processes for many files as for few', async () => {
    const countGits = async (count: number) => {
      const many = Object.fromEntries(Array.from({ length: count }, (_, at) => [`m/${at % 7}/${at}.txt`, `${at}\n`]));
      await open(
        { files: { ...tracked, ...many } },
        ...failing('for f in m/*/*; do echo x > $f; done; echo x > a.txt'),
      );
      await project.repository.close();
      const started: string[] = [];
      const notices = { info: () => undefined, warn: () => undefined };
      const trace = (line: string) => started.push(line);
      project = await openProject({ cwd: repo.root, env: process.env, notices, trace });
      const { report } = await run(project, { rollback: true });
      expect(report.rollback?.restored).toHaveLength(count + 1);
      return started.length;
    };
    const few = await countGits(2);
    await project.repository.close();
    await repo.close();
    expect(await countGits(60)).toBe(few);
  });

  test('restores the others if a filter refuses one of the files', async () => {
    const files = { ...tracked, '.gitattributes': '*.bin filter=picky\n', 'good.bin': 'good\n', 'poor.bin': 'poor\n' };
    await open({ files }, ...failing('for f in *.bin *.txt; do echo x > "$f"; done'));
    await repo.git('config', 'filter.picky.clean', 'cat');
    await repo.git('config', 'filter.picky.smudge', 'case %f in poor*) exit 1;; *) cat;; esac');
    await repo.git('config', 'filter.picky.required', 'true');
    await expect(run(project, { rollback: true })).rejects.toMatchObject({
      code: 'ROLLBACK_INCOMPLETE',
      message: expect.stringContaining('poor.bin'),
    });
    expect(await repo.git('status', '--porcelain')).toBe(' M poor.bin');
    expect(said.join()).toMatch(/^Could not be restored: poor\.bin \(.*smudge filter/);
    await repo.git('config', 'filter.picky.smudge', 'cat');
    await rollBackRun(project, {});
    expect(await repo.git('status', '--porcelain')).toBe('');
  });

  test('reads files by the attributes that are restored above them', async () => {
    const files = {
      '.gitattributes': '* -text\n',
      '.gitignore': 'x\n',
      'dir/.gitattributes': '*.c eol=lf\n',
      'dir/.gitignore': 'y\n',
      'dir/a.c': 'a\n',
    };
    await open({ files }, ...failing('for f in .git[ai]* dir/.git[ai]* dir/a.c; do echo "* text eol=crlf" > $f; done'));
    const before = await look();
    const { report } = await run(project, { rollback: true });
    expect(report.rollback?.restored.toSorted()).toEqual(Object.keys(files).toSorted());
    expect(report.rollback).toMatchObject({ left: [], moved_aside: [] });
    expect(await look()).toEqual(before);
  });

  test('without a command is rolled back, without touching files that it has not written', async () => {
    const before = {
      commit: async (at: (path: string) => string) => {
        await symlink('dir/c.txt', at('link.txt'));
        await chmod(at('b.txt'), 0o750);
      },
      user: (at: (path: string) => string) => mkdir(at('empty')),
    };
    const actions = [
      edit('link.txt', 'c', 'C'),
      edit('b.txt', 'b', 'B'),
      create('p/q/new.txt'),
      create('empty/new.txt'),
    ];
    await open(before, ...actions, create('ignored.txt'), create('late.txt'));
    const files = await look();
    const late = meddlingAt(6, () => repo.write('late.txt', 'mine\n'));
    const { report } = await run(project, { rollback: true, approver: late });
    expect(report.action_logs.map(({ status: of }) => of).join()).toBe(
      'SUCCESS,SUCCESS,SUCCESS,SUCCESS,SUCCESS,FAILURE',
    );
    expect(await look()).toEqual({ ...files, 'late.txt': '644 mine\n' });
    expect(report.rollback).toMatchObject({ left: [], moved_aside: [] });
  });
});

describe('a killed run', () => {
  test('has files that changed since its command began moved aside, and nothing is lost', async () => {
    await open(
      { user: () => repo.write('own.txt', 'own\n') },
      create('one.txt'),
      command('echo x > a.txt; echo y > made.txt'),
    );
    const files = await look();
    await killInCommand();
    await repo.write('own.txt', 'own, edited since\n');
    await repo.write('one.txt', 'edited since\n');
    const { aside } = await rollBackRun(project, {});
    expect(await look()).toEqual(files);
    const texts = await Promise.all(aside.map(async ({ path, to }) => [path, await readFile(to, 'utf8')]));
    expect(Object.fromEntries(texts)).toEqual({
      'a.txt': 'x\n',
      'made.txt': 'y\n',
      'one.txt': 'edited since\n',
      'own.txt': 'own, edited since\n',
    });
    for (const { to } of aside) expect(relative(join(repo.root, '.git/teddy/aside'), to)).not.toMatch(/^\.\./);
    expect(said.join()).toContain(aside[0]?.to);
  });

  test('moves an exposed directory’s changed files to the place of last resort, and leaves them there', async () => {
    const user = async () => {
      await repo.write('.git/info/exclude', 'private*\n');
      await repo.write('sub/private.txt', 'mine\n');
      await setTimeout(100);
    };
    await open({ user }, command(': > .git/info/exclude; echo x > sub/made'));
    await killInCommand();
    const { aside } = await rollBackRun(project, {});
    const kept = aside.find(({ path }) => path === 'sub/private.txt');
    expect(await readFile(kept?.to ?? '', 'utf8')).toBe('mine\n');
  });
});
