/** `teddy context` and what it says of lists. Links and folders on a disk are in e2e/context. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';
import { createAction } from '../support/teddy-project.ts';

let project: MemoryTeddy;
let session: string;

beforeEach(async () => {
  project = await openMemoryTeddy({
    files: {
      'README.md': '# Scratch\n',
      'src/app.ts': 'export const port = 8080;\n',
      'src/deep/server.pem': 'secret\n',
      'docs/a.md': 'a\n',
      '.teddyignore': 'fixtures/\n',
      'fixtures/big.json': '{}\n',
      'logo.png': 'a\0b',
    },
  });
  session = await project.begin('look');
});
afterEach(() => project.close());

const writeList = (text: string) => project.repo.write(`.teddy/sessions/${session}/session.context`, text);
const context = () => project.run(['session', 'context']);

test('each file is listed with its tokens and its line, and what was left out with the reason', async () => {
  await project.repo.write('own.txt', 'my own notes\n');
  await writeList('src/\n.\n!docs/\nown.txt\ngone.txt\nhttps://example.org/\n');
  const before = await project.repo.fingerprint();
  const { stdout, exitCode } = await context();
  expect(exitCode).toBe(0);
  expect(await project.repo.fingerprint()).toEqual(before);
  for (const row of [
    /^\d+ files shown, about \d+ tokens$/m,
    /^ +\d+ {2}README\.md +global\.context:3$/m,
    /^ +\d+ {2}src\/app\.ts +session\.context:1$/m,
    /^ +\d+ {2}own\.txt +session\.context:4, not tracked by git$/m,
    /^ +binary {2}logo\.png +session\.context:2, only listed: 3 bytes$/m,
    /^ +missing {2}gone\.txt +session\.context:5$/m,
    /^ {2}docs\/a\.md: removed by session\.context:3 {2}session\.context:2$/m,
    /https:\/\/example\.org\/: only an approved READ fetches it/,
    /1 file that \.teddyignore leaves out/,
  ])
    expect(stdout).toMatch(row);
  expect(stdout).not.toContain('fixtures/big.json');
});

test('--why tells which lines speak of a file or a directory, and why it is not shown', async () => {
  await writeList('docs/\n!docs/a.md\nfixtures\nsrc/app.ts\n');
  await project.repo.write('docs/untracked.md', 'c\n');
  const why = (path: string, ...more: string[]) => project.ok('session', 'context', '--why', path, ...more);
  expect(await why('docs/a.md')).toBe(
    'docs/a.md: not shown: a line removes it\n' +
      '  session.context:1  names it  docs/\n' +
      '  session.context:2  removes it  !docs/a.md\n',
  );
  expect(await why('README.md')).toMatch(/^README\.md: shown, about \d+ tokens\n {2}global\.context:3 {2}names it/);
  for (const [path, said] of [
    ['src/', 'src: a directory, 1 file in it shown, about '],
    ['logo.png', 'logo.png: not shown: no line names it\n'],
    ['fixtures', 'fixtures: a directory, no file in it shown: .teddyignore leaves it out\n'],
    [
      'docs/untracked.md',
      'docs/untracked.md: not shown: git tracks no such file, and an untracked file has to be named exactly\n',
    ],
  ] as const)
    expect(await why(path)).toContain(said);
  expect(JSON.parse(await why('logo.png', '--json'))).toMatchObject({
    schema: 'teddy.session-context/1',
    session,
    turn: '01',
    why: { path: 'logo.png', isShown: false, reasons: [], lines: [] },
  });
  await project.refuses('UNKNOWN_SESSION', 2, ['session', 'context', '-s', 'nothing']);
});

test('an open turn and a conversation branch say what edits of the lists do not change any more', async () => {
  const vault = '# Look\n\n## Context Vault\n\n```\ndocs/a.md\n```\n\n## Action Plan\n\n';
  await project.plan(vault + createAction('made.txt', 'made\n'));
  await project.ok('session', 'execute', '-y');
  expect((await context()).stderr).not.toContain('is open');
  await project.ok('session', 'plan', '--provider', 'manual', '-m', 'Wait');
  await writeList('src/app.ts\n');
  const open = await context();
  expect(open.stderr).toContain('Turn 02 is open: `teddy plan` sends its request unchanged');
  expect(open.stdout).toContain('src/app.ts');
  await project.plan('Fine.', 'Something else');
  await project.ok('session', 'branch', '02');
  const shownBefore = await context();
  expect(shownBefore.stderr).toContain(
    'Turn 02-branch-01 shows the model the same files as the turn that it branched from',
  );
  await writeList('src/app.ts\nsrc/deep/server.pem\n');
  expect((await context()).stdout).toBe(shownBefore.stdout);
  expect(await project.ok('session', 'plan', '-m', 'Again', '--dry-run')).not.toContain('file src/deep/server.pem');
});
