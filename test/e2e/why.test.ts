/** `why` and `blame` with the built executable: what a person reads, what a program reads, and what is refused. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAction, editAction, openTeddyProject, planOf, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
let session: string;

beforeAll(async () => {
  project = await openTeddyProject({ files: { 'src/app.ts': 'one\ntwo\nthree\nfour\n', 'README.md': '# Scratch\n' } });
  session = await project.begin('try-it');
  const edit = editAction('src/app.ts', 'two', 'two, by the model').replace(
    '\n\n####',
    '\n- Description: Say who\n\n####',
  );
  await project.plan(planOf(edit, createAction('src/new.ts', 'new\n')), 'Say who wrote the second line.\nAnd why.');
  await project.ok('session', 'execute', '-y');
  await project.repo.write('src/app.ts', (await project.repo.read('src/app.ts')).replace('three', 'three, by hand'));
  await project.repo.git('commit', '--quiet', '--all', '-m', 'Change the third line');
  await project.repo.git('switch', '--quiet', 'main');
  await project.ok('session', 'land', session);
});
afterAll(() => project.close());

test('why tells who asked for a line, what was planned and approved, what it replaced, and where it landed', async () => {
  const text = await project.ok('why', 'src/app.ts:2');
  const landed = (await project.repo.git('rev-parse', 'HEAD')).slice(0, 10);
  const report = (
    await project.repo.git(
      'log',
      '-1',
      '--format=%h',
      '--abbrev=10',
      '--grep',
      '^Teddy-Entry: report',
      `teddy/${session}`,
    )
  ).trim();
  const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d`;
  expect(text).toMatch(
    new RegExp(
      `^src/app.ts:2
    2  two, by the model

Turn      01 of ${session}, commit ${report}
Asked     by Ada Example on ${time}
          Say who wrote the second line.
          And why.
Answer    an answer by hand
Planned   Try it
          1. EDIT src/app.ts
          2. CREATE src/new.ts
Approved  by Ada Example with -y on ${time}
Happened  SUCCESS
          1 EDIT SUCCESS: Say who
Landed    ${landed}, by Ada Example on ${time}: Try it
Replaced
    - two

Next: teddy show 01 -s ${session}
$`,
    ),
  );
});

test('a person’s line is theirs, and a file has the stories of all its lines', async () => {
  expect(await project.ok('why', 'src/app.ts:3')).toContain(': Change the third line\n');
  const whole = await project.ok('why', 'src/app.ts');
  expect(whole.match(/^src\/app\.ts:\S+$/gm)).toEqual(['src/app.ts:1,4', 'src/app.ts:2', 'src/app.ts:3']);
});

test('blame has each line below whoever brought it', async () => {
  const text = await project.ok('blame', 'src/app.ts');
  expect(text.replace(/[0-9a-f]{10}, \d{4}-\d\d-\d\d/g, '<commit>')).toBe(
    `Ada Example, <commit>: First commit
1  one
turn 01 of ${session}, an answer by hand, run by Ada Example with -y
  asked: Say who wrote the second line. ...
  plan: Try it
2  two, by the model
Ada Example, <commit>: Change the third line
3  three, by hand
Ada Example, <commit>: First commit
4  four
`,
  );
  const { runs } = JSON.parse(await project.ok('blame', 'src/app.ts:2', '--json')) as { runs: object[] };
  expect(runs).toMatchObject([{ kind: 'turn', line: 2, count: 1, byContent: false, turn: { session, turn: '01' } }]);
});

/** Reads `git blame --porcelain` by the rules of its manual alone; rows that it does not know are passed over. */
function readPorcelain(text: string): string[] {
  const known = new Map<string, Record<string, string>>();
  let oid = '';
  return text.split('\n').flatMap((row) => {
    const [key = '', ...value] = row.split(' ');
    const about = known.get(oid);
    if (row.startsWith('\t')) {
      const line = `${oid} ${about?.['author']} ${about?.['summary']} ${about?.['filename']}|${row.slice(1)}`;
      oid = '';
      return [line];
    }
    if (oid === '') known.set((oid = key), known.get(key) ?? {});
    else Object.assign(about ?? {}, { [key]: value.join(' ') });
    return [];
  });
}

test('--porcelain reads as git’s does, and is git’s where no session is concerned', async () => {
  await project.repo.commit({ 'plain "file".txt': 'a\n\tb\nc\n' }, 'Plain');
  await project.repo.commit({ 'plain "file".txt': 'a\n\tb, changed\nc\nd' }, 'Plainer');
  const ours = readPorcelain(await project.ok('blame', 'plain "file".txt', '--porcelain'));
  expect(ours).toEqual(readPorcelain(await project.repo.git('blame', '--porcelain', 'plain "file".txt')));
  expect(ours).toHaveLength(4);
  const led = await project.ok('blame', 'src/app.ts:2', '--porcelain');
  expect(led).toContain(
    `teddy-author turn\nteddy-session ${session}\nteddy-turn 01\nteddy-model manual\nfilename src/app.ts\n\ttwo, by the model\n`,
  );
});

test('paths are relative to the current folder, and a revision or a bare repository will do', async () => {
  const inSrc = await project.run(['why', 'app.ts:2'], { cwd: join(project.repo.root, 'src') });
  expect(inSrc).toMatchObject({ exitCode: 0 });
  expect(inSrc.stdout).toContain(`01 of ${session}`);
  expect(await project.ok('why', 'src/app.ts:2', '--rev', 'main~3')).toContain(': First commit');
  const bare = await mkdtemp(join(tmpdir(), 'teddy-bare-'));
  await project.repo.git('clone', '--quiet', '--mirror', project.repo.root, bare);
  expect((await project.run(['why', 'src/app.ts:2'], { cwd: bare })).stdout).toContain(`01 of ${session}`);
  await rm(bare, { recursive: true });
});

test('what is not committed is nobody’s yet, and nothing but the cache is written', async () => {
  await project.repo.write('README.md', '# Scratch\nmore\n');
  expect(await project.ok('blame', 'README.md')).toContain('not committed yet\n2  more\n');
  const before = await project.repo.fingerprint();
  await project.ok('blame', 'src/app.ts');
  await project.ok('why', 'src/app.ts:2');
  expect(await project.repo.fingerprint()).toEqual(before);
  await project.repo.git('restore', 'README.md');
});

test('bad input is refused with the way out', async () => {
  const { repo } = project;
  for (const [code, text, ...words] of [
    ['FILE_NOT_FOUND', 'There is no file src/none.ts.', 'why', 'src/none.ts:1'],
    ['FILE_NOT_FOUND', 'git ls-files :/src', 'why', 'src'],
    ['FILE_NOT_FOUND', 'The project root is a directory.', 'why', '.'],
    ['FILE_NOT_FOUND', 'it leaves the project', 'blame', '../outside.txt'],
    ['USAGE', 'src/app.ts has 4 lines.', 'why', 'src/app.ts:9'],
    ['USAGE', 'src/app.ts has 4 lines.', 'why', 'src/app.ts:2-9'],
    ['USAGE', '3-2 does not name any lines.', 'why', 'src/app.ts:3-2'],
    ['USAGE', '3- does not name any lines.', 'why', 'src/app.ts:3-'],
    ['USAGE', 'There is nothing after the colon.', 'why', 'src/app.ts:'],
    ['USAGE', 'FILE:3-5', 'why', 'src/app.ts', '-L', '2'],
    ['UNKNOWN_COMMIT', 'git cannot find the commit "--all"', 'why', 'src/app.ts', '--rev=--all'],
    ['FILE_NOT_FOUND', "`git ls-tree -r --full-tree --name-only 'main~1'`", 'why', 'none.txt', '--rev', 'main~1'],
  ])
    expect(await project.refuses(code ?? '', 2, words), words.join(' ')).toContain(text);
  const both = await project.run(['blame', 'src/app.ts', '--porcelain', '--json']);
  expect(both).toMatchObject({ exitCode: 2, stdout: expect.stringContaining('cannot be combined') as string });
  await repo.write('untracked.txt', 'x\n');
  expect(await project.refuses('FILE_NOT_FOUND', 2, ['why', 'untracked.txt:1'])).toContain('git does not track');
  await rm(join(repo.root, 'untracked.txt'));
  await rm(join(repo.root, 'src/app.ts'));
  expect(await project.refuses('FILE_NOT_FOUND', 2, ['why', 'src/app.ts:1'])).toContain('--rev HEAD');
  await repo.git('restore', 'src/app.ts');
});

test('why names the line of the turn where another line of the session has a turn of that name', async () => {
  const { repo } = project;
  const id = await project.begin('twice', '--from', 'main');
  const turn = async (path: string) => {
    await project.plan(planOf(createAction(path, `${path}\n`)), path);
    await project.ok('session', 'execute', '-y');
  };
  await turn('one.txt');
  await repo.git('switch', '--quiet', '-c', 'mine');
  await turn('two.txt');
  await repo.git('switch', '--quiet', `teddy/${id}`);
  await turn('other.txt');
  const nextOf = async (path: string) => /^Next: teddy (.*)$/m.exec(await project.ok('why', path))?.[1] ?? '';
  const seen = async (path: string) => {
    const next = await nextOf(path);
    expect(await project.ok(...next.split(' '))).toContain(`CREATE ${path}: SUCCESS`);
    return next;
  };
  expect(await seen('other.txt')).toBe(`show 02 -s ${id}`);
  await repo.git('switch', '--quiet', 'mine');
  expect(await seen('two.txt')).toBe('show 02 -s mine');
  expect(await seen('one.txt')).toBe(`show 01 -s ${id}`);
  expect(JSON.parse(await project.ok('why', 'two.txt', '--json'))).toMatchObject({ stories: [{ selector: 'mine' }] });
  const report = (await repo.git('rev-parse', 'HEAD')).trim();
  await repo.git('switch', '--quiet', '--detach', 'main');
  await repo.git('cherry-pick', report);
  expect(await seen('two.txt')).toBe('show 02 -s mine');
  await repo.git('branch', '--quiet', '-D', 'mine');
  expect(await seen('two.txt')).toMatch(/^show 02 -s [0-9a-f]{10}$/);
});
