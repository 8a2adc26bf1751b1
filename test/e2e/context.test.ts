/** The model's view: `teddy context` describes it, and no line of a model's brings anything in. */
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
  expect(secret.stderr).toContain('warning: .env has a name that suggests a secret, ');
  const shown = await project.ok('session', 'context');
  expect(shown).toMatch(
    /\nBudget.*: about [\d,]+ of [\d,]+ tokens, [\d,]+ left\n {2}\[p+t+f+\.+\]\n {2}prompt [\d,]+, memos 0, /,
  );
  const dropped = await project.run(['session', 'context', 'drop', 'app.ts'], { cwd });
  expect(dropped.stdout).toMatch(/^- src\/app\.ts /);
  expect(await project.repo.git('status', '--porcelain')).toBe('');
});
