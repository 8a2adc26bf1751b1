/** The model's view: `session context` describes it, and no line of a model's brings anything in. */
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createAction, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
let session: string;
/** Beyond the repository. */
let outside: string;
/** Must not be in any request; no scanner takes it for anything. */
const hidden = 'what-nobody-may-read';

beforeEach(async () => {
  outside = await mkdtemp(join(await realpath(tmpdir()), 'teddy-outside-'));
  project = await openTeddyProject({
    files: {
      'README.md': '# Scratch\n',
      'src/app.ts': 'export const port = 8080;\n',
      'src/deep/server.pem': `${hidden}\n`,
      'docs/a.md': 'a\n',
      '.env': `${hidden}\n`,
      '.gitignore': 'private/\nown.txt\n',
      '.teddyignore': 'fixtures/\n',
      'fixtures/big.json': `${hidden}\n`,
    },
  });
  session = await project.begin('look');
});

afterEach(async () => {
  await project.close();
  await rm(outside, { recursive: true });
});

const writeList = (text: string) => project.repo.write(`.teddy/sessions/${session}/session.context`, text);

/** A whole turn whose plan names these lines as the next context. */
async function leaveVault(...lines: string[]): Promise<void> {
  const vault = `## Context Vault\n\n\`\`\`\n${lines.join('\n')}\n\`\`\``;
  await project.plan(`# Look\n\n${vault}\n\n## Action Plan\n\n${createAction('made.txt', 'made\n')}`);
  await project.ok('session', 'execute', '-y');
}

test('the hostile lines of a vault bring in nothing, and each is named with a reason', async () => {
  const { repo } = project;
  const wayOut = relative(await realpath(repo.root), outside);
  await mkdir(join(outside, '.ssh'), { recursive: true });
  await writeFile(join(outside, '.ssh', 'id_rsa'), hidden);
  await writeFile(join(outside, 'plain.txt'), hidden);
  await symlink(outside, join(repo.root, 'way-out'));
  await symlink('private', join(repo.root, 'way-in'));
  await repo.write('private/plan.txt', `${hidden}\n`);
  await symlink('private/plan.txt', join(repo.root, 'alias.txt'));
  await repo.write('unknown/.netrc', `${hidden}\n`);
  await repo.git('config', 'teddy.hidden', hidden);
  const lines = [
    `${wayOut}/.ssh/id_rsa`,
    `${wayOut}/plain.txt`,
    join(outside, 'plain.txt'),
    'way-out/plain.txt',
    'way-in/plan.txt',
    'alias.txt',
    'private/plan.txt',
    '.env',
    './.env',
    '`.env`',
    'unknown/.netrc',
    'src/deep/server.pem',
    'fixtures/big.json',
    '.git/config',
    '.GIT/config',
    'https://169.254.169.254/',
    'https://example.org/never-read',
  ];
  await leaveVault(...lines, 'src/', '**/.e*', 'fixtures/', '**');
  const preview = await project.run(['session', 'plan', '-m', 'And now', '--dry-run']);
  expect(preview.exitCode).toBe(0);
  await project.plan('Fine.', 'And now');
  const log = await repo.read(`.teddy/sessions/${session}/02/_context.log`);
  for (const text of [preview.stdout, log]) {
    expect(text).not.toContain(hidden);
    expect(text).toContain('export const port = 8080;');
  }
  const { leftOut, files } = JSON.parse(await project.ok('session', 'context', '--json')) as {
    leftOut: { path: string; reason: string }[];
    files: { path: string; kind: string }[];
  };
  expect(files.filter(({ kind }) => kind === 'shown').map(({ path }) => path)).toEqual(
    expect.arrayContaining(['README.md', 'src/app.ts', 'docs/a.md', 'made.txt']),
  );
  expect(leftOut).toEqual([]);
  for (const line of lines.filter((text) => !/[`]|^\.\//.test(text) && !text.startsWith('/'))) {
    expect(preview.stderr + preview.stdout, line).toContain(line);
    expect(log, line).toMatch(
      new RegExp(`file "?${line.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}"? (?:refused|missing)`),
    );
  }
});

test('session context lists each file with its tokens and its line, and what was left out', async () => {
  const { repo } = project;
  await repo.write('own.txt', 'my own notes\n');
  await repo.write('logo.png', 'a\0b');
  await repo.git('add', 'logo.png');
  await repo.git('commit', '--quiet', '-m', 'Logo');
  await writeList('src/\n.\n!docs/\nown.txt\ngone.txt\nhttps://example.org/\n');
  const before = await repo.fingerprint();
  const shown = await project.run(['session', 'context']);
  expect(await repo.fingerprint()).toEqual(before);
  expect(shown.exitCode).toBe(0);
  expect(shown.stdout).toMatch(/^\d+ files shown, about \d+ tokens$/m);
  expect(shown.stdout).toMatch(/^ +\d+ {2}README\.md +global\.context:3$/m);
  expect(shown.stdout).toMatch(/^ +\d+ {2}src\/app\.ts +session\.context:1$/m);
  expect(shown.stdout).toMatch(/^ +\d+ {2}own\.txt +session\.context:4, not tracked by git$/m);
  expect(shown.stdout).toMatch(/^ +binary {2}logo\.png +session\.context:2, only listed: 3 bytes$/m);
  expect(shown.stdout).toMatch(/^ +missing {2}gone\.txt +session\.context:5$/m);
  expect(shown.stdout).toMatch(/^ {2}docs\/a\.md: removed by session\.context:3 {2}session\.context:2$/m);
  expect(shown.stdout).toContain('https://example.org/: only an approved READ fetches it');
  expect(shown.stdout).toContain('1 file that .teddyignore leaves out');
  expect(shown.stdout).not.toContain('fixtures/big.json');
});

test('--why tells which lines speak of a path, also on a line that is checked out nowhere', async () => {
  const { repo } = project;
  await writeList('docs/\n!docs/a.md\n');
  const why = (path: string, ...more: string[]) => project.ok('session', 'context', '--why', path, ...more);
  expect(await why('docs/a.md')).toBe(
    'docs/a.md: not shown: a line removes it\n' +
      '  session.context:1  names it  docs/\n' +
      '  session.context:2  removes it  !docs/a.md\n',
  );
  expect(await why('README.md')).toMatch(/^README\.md: shown, about \d+ tokens\n {2}global\.context:3 {2}names it/);
  expect(await why('src/app.ts')).toBe('src/app.ts: not shown: no line names it\n');
  const json = JSON.parse(await why('src/app.ts', '--json')) as object;
  expect(json).toMatchObject({
    schema: 'teddy.session-context/1',
    session,
    turn: '01',
    why: { path: 'src/app.ts', isShown: false, reasons: [], lines: [] },
  });
  await repo.git('stash', '--quiet');
  await repo.git('switch', '--quiet', 'main');
  expect(await why('docs/a.md', '-s', session)).toBe('docs/a.md: not shown: no line names it\n');
  await project.refuses('UNKNOWN_SESSION', 2, ['session', 'context', '-s', 'nothing']);
});

test('--why takes a path from the folder that one is in, a directory, and a file that git does not track', async () => {
  const { repo } = project;
  await repo.write('docs/deep/b.md', 'b\n');
  await repo.write('docs/untracked.md', 'c\n');
  await repo.git('add', 'docs/deep/b.md');
  await repo.git('commit', '--quiet', '-m', 'More');
  await writeList('docs\nfixtures\n');
  const why = async (path: string, cwd = repo.root) => {
    const { stdout } = await project.run(['session', 'context', '--why', path], { cwd });
    return stdout.split('\n')[0];
  };
  const docs = join(repo.root, 'docs');
  expect(await why('a.md', docs)).toBe('docs/a.md: shown, about 3 tokens');
  expect(await why('docs/a.md', docs)).toBe('docs/a.md: shown, about 3 tokens');
  expect(await why('../src/app.ts', docs)).toBe('src/app.ts: not shown: no line names it');
  expect(await why('docs/')).toBe('docs: a directory, 2 files in it shown, about 6 tokens');
  expect(await why('.', docs)).toBe('docs: a directory, 2 files in it shown, about 6 tokens');
  expect(await why('src')).toBe('src: not shown: no line names it');
  expect(await why('fixtures')).toBe('fixtures: a directory, no file in it shown: .teddyignore leaves it out');
  expect(await why('docs/untracked.md')).toBe(
    'docs/untracked.md: not shown: git tracks no such file, and an untracked file has to be named exactly',
  );
});

test('an open turn and a conversation branch say what edits of the lists do not change any more', async () => {
  await leaveVault('docs/a.md');
  const context = () => project.run(['session', 'context']);
  expect((await context()).stderr).not.toContain('is open');
  await project.ok('session', 'plan', '--provider', 'manual', '-m', 'Wait');
  await writeList('src/app.ts\n');
  const open = await context();
  expect(open.stderr).toContain('Turn 02 is open: `teddy session plan` sends its request unchanged');
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

test('context add and drop take paths from where the user stands, and refuse what is outside', async () => {
  await writeFile(join(outside, 'x.txt'), hidden);
  await project.refuses('BAD_TARGET', 2, ['session', 'context', 'add', join(outside, 'x.txt')]);
  await project.refuses('BAD_TARGET', 2, ['session', 'context', 'add', relative(project.repo.root, outside)]);
  await project.refuses('FILE_NOT_FOUND', 2, ['session', 'context', 'add', 'nothere']);
  await project.refuses('FILE_NOT_FOUND', 2, ['session', 'context', 'drop', 'src']);
  await project.refuses('USAGE', 2, ['session', 'context', 'add', '']);
  const cwd = join(project.repo.root, 'src');
  const added = await project.run(['session', 'context', 'add', 'app.ts', '../docs'], { cwd });
  expect(added.stdout).toMatch(/^\+ src\/app\.ts {2}\d+ tokens\n\+ docs\/a\.md {2}\d+ tokens\n$/);
  const secret = await project.run(['session', 'context', 'add', '.env']);
  expect(secret.stderr).toContain('warning: .env has a name like a secret, ');
  const shown = await project.ok('session', 'context');
  expect(shown).toMatch(
    /\nBudget.*: about [\d,]+ of [\d,]+ tokens, [\d,]+ left\n {2}\[p+t+f+\.+\]\n {2}prompt [\d,]+, memos 0, /,
  );
  const dropped = await project.run(['session', 'context', 'drop', 'app.ts'], { cwd });
  expect(dropped.stdout).toMatch(/^- src\/app\.ts /);
  expect(await project.repo.git('status', '--porcelain')).toBe('');
});
