import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openProject } from '../../src/app.ts';
import type { Project } from '../../src/ports/project.ts';
import { findRecorded } from '../../src/workflow/line/find-recorded.ts';
import { replayLine, type ReplayOptions } from '../../src/workflow/replay/line.ts';
import type { ReplayedTurn } from '../../src/workflow/replay/replayed.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { command, create, edit, planOf, run, say } from '../support/turns.ts';
import { newSession } from '../../src/workflow/line/new-session.ts';

let repo: ScratchRepository;
let project: Project;
let bare: Project;
let outside: string;

function open(cwd: string): Promise<Project> {
  return openProject({ cwd, env: process.env, notices: { info: () => undefined, warn: () => undefined } });
}

/** Turn 01 has files that git's filters change on checkin; turn 02 has a command that depends on a file elsewhere. */
beforeAll(async () => {
  outside = await mkdtemp(join(tmpdir(), 'teddy-outside-'));
  await writeFile(join(outside, 'state'), 'first\n');
  repo = await makeScratchRepository({
    '.gitattributes': '*.txt text eol=crlf\n*.up filter=upper\n',
    '.gitignore': '*.local\n',
    'README.md': '# Notes\n',
  });
  await repo.git('config', 'filter.upper.clean', 'tr a-z A-Z');
  await repo.git('config', 'filter.upper.smudge', 'tr A-Z a-z');
  await repo.write('a.txt', 'one\r\ntwo\r\n');
  await repo.write('b.up', 'words\n');
  await repo.git('add', 'a.txt', 'b.up');
  await repo.git('commit', '-qm', 'Files');
  project = await open(repo.root);
  await newSession(project, { name: 'filters', switch: true });
  const plan = planOf([
    edit('a.txt', 'two', 'three'),
    create('c.txt', 'x\r\ny\r\n'),
    edit('b.up', 'words', 'more words'),
    create('kept.local'),
    command(
      'echo made > made.sh; chmod +x made.sh; echo extra > extra.local; echo "in $(pwd) at $(date)"; sleep 0.01',
      '- **cwd:** .',
    ),
  ]);
  await say(project, 'Filters', plan);
  await run(project);
  await say(
    project,
    'State',
    planOf([
      command(
        `cat extra.local ${outside}/state; cat ${outside}/state > state.md; test "$(cat ${outside}/state)" = first`,
      ),
      edit('README.md', '# Notes', '# News'),
    ]),
  );
  await run(project);
  await repo.git('clone', '-q', '--bare', repo.root, join(outside, 'bare.git'));
  bare = await open(join(outside, 'bare.git'));
});

afterAll(async () => {
  await project.repository.close();
  await bare.repository.close();
  await repo.close();
  await rm(outside, { recursive: true, force: true });
});

async function replay(place: Project, options: ReplayOptions = {}): Promise<ReplayedTurn[]> {
  return (await replayLine(place, await findRecorded(place, 'filters'), options)).turns;
}

function outcomesOf(turns: ReplayedTurn[]): string[][] {
  return turns.map(({ actions }) => actions.map(({ type, outcome }) => `${type} ${outcome}`));
}

describe('replay in a git repository', () => {
  test('ignores git’s conversions on checkin, and names a filter, in a bare clone too', async () => {
    for (const place of [project, bare]) {
      const turns = await replay(place);
      expect(turns.flatMap(({ differences }) => differences)).toEqual([]);
      expect(turns.map(({ outcome }) => outcome)).toEqual(['not_compared', 'not_compared']);
      expect(turns.map(({ proven, unproven }) => [proven, unproven.map(({ path }) => path)])).toEqual([
        [2, ['b.up', 'made.sh']],
        [1, ['state.md']],
      ]);
      expect(outcomesOf(turns)).toEqual([
        ['EDIT same', 'CREATE same', 'EDIT not_compared', 'CREATE not_compared', 'EXECUTE not_run'],
        ['EXECUTE not_run', 'EDIT same'],
      ]);
      const notes = turns[0]?.actions.map(({ note }) => note);
      expect(notes?.[1]).toContain('line endings');
      expect(notes?.[2]).toContain('filter=upper');
    }
  });

  test('with commands repeats everything in a separate work tree, and touches nothing of the user’s', async () => {
    const before = await repo.fingerprint();
    const turns = await replay(project, { runsCommands: true });
    expect(turns.flatMap(({ differences }) => differences)).toEqual([]);
    expect(turns.map(({ proven, unproven }) => [proven, unproven])).toEqual([
      [4, []],
      [2, []],
    ]);
    expect(outcomesOf(turns)).toEqual([
      ['EDIT same', 'CREATE same', 'EDIT same', 'CREATE same', 'EXECUTE same'],
      ['EXECUTE same', 'EDIT same'],
    ]);
    expect(await repo.fingerprint()).toEqual(before);
    expect(await repo.git('worktree', 'list', '--porcelain')).not.toContain('teddy-replay');
  });

  test('that is interrupted while a command runs ends the command, and leaves no work tree', async () => {
    const turn = await say(project, 'Long', planOf([command('sleep 0.1; test -e ready || echo no')]));
    expect(turn).toBeDefined();
    await run(project);
    const interrupt = new AbortController();
    const roots: string[] = [];
    const shellOf: Project['shellOf'] = (root) => {
      roots.push(root);
      const shell = project.shellOf(root);
      return { ...shell, run: (script, options) => (interrupt.abort(), shell.run(script, options)) };
    };
    const replaying = replay({ ...project, shellOf }, { runsCommands: true, signal: interrupt.signal });
    await expect(replaying).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(await repo.git('worktree', 'list')).not.toContain('teddy-replay');
    expect(roots).toHaveLength(1);
    await expect(stat(roots[0] ?? '')).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('confines commands that switch, stash, set and delete to its own repository, even with temporary files inside', async () => {
    await repo.git('branch', 'feature', 'main');
    await mkdir(join(repo.root, 'tmp'));
    const inScratch = (script: string) => command(`case $PWD in *teddy-replay-*) ${script};; esac`);
    const wild =
      'git switch -q feature; git branch wild; git tag wild; echo x >> README.md; git stash -q; git config user.name Wild';
    for (const action of [
      inScratch(wild),
      inScratch('rm -rf .git; git checkout -qf feature || true'),
      command('git rev-parse HEAD~2'),
    ]) {
      await say(project, 'Wild', planOf([action]));
      await run(project);
    }
    await repo.write('README.md', 'an edit of mine\n');
    const before = await repo.fingerprint();
    vi.stubEnv('TMPDIR', join(repo.root, 'tmp'));
    const turns = (await replay(project, { runsCommands: true })).slice(-3);
    vi.unstubAllEnvs();
    expect(await repo.fingerprint()).toEqual(before);
    expect(turns.map(({ differences }) => differences)).toMatchObject([
      [],
      [{ action: 1, message: expect.stringContaining("removed its work tree's repository") }],
      [],
    ]);
  });
});

test('does not compare a command’s output after a rebase, which changed its files, only exit code and changes', async () => {
  const other = await makeScratchRepository({ 'a.txt': 'a\n' });
  const there = await open(other.root);
  await newSession(there, { name: 'rebased', switch: true });
  await say(there, 'List', planOf([command('ls; echo made > made.txt'), command('test "$(ls | wc -l)" -lt 4')]));
  await run(there);
  const branch = await other.git('branch', '--show-current');
  await other.git('switch', '-q', 'main');
  await other.commit({ 'b.txt': 'b\n', 'c.txt': 'c\n' }, 'Later');
  // A rebase is recognized by its time, in whole seconds.
  await sleep(1_100);
  await other.git('-c', 'core.hooksPath=/dev/null', 'rebase', '-q', 'main', branch);
  const { turns } = await replayLine(there, await findRecorded(there, 'rebased'), { runsCommands: true });
  const [turn] = turns;
  expect(turn?.actions.map(({ outcome, note }) => [outcome, note])).toEqual([
    ['not_compared', 'its output cannot be compared after a rebase, because it ran on different files'],
    ['different', 'The exit code was 0, but is now 1.'],
  ]);
  expect(turn).toMatchObject({ proven: 1, unproven: [], differences: [{ action: 2 }] });
  await there.repository.close();
  await other.close();
});
