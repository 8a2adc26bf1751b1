/** The hooks in a repository where git runs them: in a linked work tree with an awkward path, and in the main one. */
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { environmentOf, teddyPath } from '../support/run-teddy.ts';
import { openScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
let linked: ScratchRepository;
let remote: string;
let session: string;
let branch: string;

beforeAll(async () => {
  project = await openTeddyProject();
  const { repo } = project;
  session = await project.begin('add-login');
  branch = `teddy/${session}`;
  await project.plan(createPlan('a.txt', 'A\n'));
  await repo.git('switch', '--quiet', 'main');
  const root = `${repo.root} it's "ü"`;
  await repo.git('worktree', 'add', '--quiet', root, branch);
  linked = openScratchRepository(root);
  remote = `${repo.root}.git`;
  await repo.git('init', '--quiet', '--bare', remote);
  await repo.git('remote', 'add', 'origin', remote);
});
afterAll(async () => {
  await project.repo.git('worktree', 'remove', '--force', linked.root);
  await rm(remote, { recursive: true });
  await project.close();
});

/** git with what it says on both streams. */
function git(args: string[], env: Record<string, string> = {}, cwd = linked.root) {
  return new Promise<{ exitCode: number; output: string }>((resolve) => {
    execFile('git', args, { cwd, env: environmentOf(env) }, (error, stdout, stderr) =>
      resolve({ exitCode: error === null ? 0 : Number(error.code), output: stdout + stderr }),
    );
  });
}
const message = () => linked.git('log', '-1', '--format=%B');
const trailer = () => `Teddy-During: ${session} 01`;
const edit = async (text: string) => linked.write('README.md', text);

/** An editor that does this with the file `$1`. */
async function editor(script: string): Promise<Record<string, string>> {
  const path = join(project.repo.root, '.git', 'editor');
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return { GIT_EDITOR: path };
}

test('doctor and install say where the hooks are, and `hook` knows no other', async () => {
  const dir = `${project.repo.root}/.git/hooks`;
  expect((await project.run(['doctor'])).stdout).toContain(", git hooks (teddy's are not installed)");
  const installed = await project.run(['hooks', 'install'], { cwd: linked.root });
  expect(installed).toMatchObject({ exitCode: 0, stdout: '' });
  expect(installed.stderr).toContain(`Hooks in ${dir}\n  prepare-commit-msg  installed\n`);
  expect((await project.run(['doctor'])).stdout).toContain(
    `note: Hooks in ${dir}: installed: prepare-commit-msg, commit-msg, post-rewrite, pre-push, post-checkout.\n`,
  );
  expect(await project.run(['hook', 'pre-rebase'])).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('UNKNOWN_HOOK') as string,
  });
});

test('status says that a hook does not work any more, in one line with the way out', async () => {
  const path = join(project.repo.root, '.git/hooks/pre-push');
  const status = async () => (await project.run(['status'])).stdout;
  expect(await status()).not.toContain('Hooks: ');
  await chmod(path, 0o644);
  expect(await status()).toContain(`Hooks: ${path} is not executable, so git ignores it: \`teddy hooks install\`.\n`);
  const { stdout } = await project.run(['doctor', '--json']);
  expect(JSON.parse(stdout)).toMatchObject({ findings: [{ kind: 'hooks', thing: path }] });
  await project.ok('hooks', 'install');
  expect(await status()).not.toContain('Hooks: ');
});

test('a teddy that has lost its own hooks still says where you are, and doctor says what it lacks', async () => {
  const copy = join(project.repo.root, '.git', 'copy');
  await cp(dirname(teddyPath), join(copy, 'dist'), { recursive: true, filter: (path) => !path.endsWith('/types') });
  const run = (command: string) =>
    promisify(execFile)(process.execPath, [join(copy, 'dist/main.cjs'), command], { cwd: project.repo.root });
  expect((await run('status')).stdout).toContain(session);
  // The doctor ends with 1 where it could not look at everything.
  await expect(run('doctor')).rejects.toMatchObject({
    stderr: expect.stringMatching(/teddy's hook \S+ cannot be read/) as string,
  });
  await rm(copy, { recursive: true });
});

test('an entry that was amended is told, with the way back', async () => {
  const entry = await linked.git('rev-parse', 'HEAD');
  const amended = await git(['commit', '--quiet', '--amend', '-m', 'Better']);
  expect(amended.exitCode).toBe(0);
  expect(amended.output).toContain(`warning: This replaced an entry (turn 01 of session ${session}: plan).`);
  const [, back = ''] = /`git (reset --soft [0-9a-f]+)`/.exec(amended.output) ?? [];
  await linked.git(...back.split(' '));
  expect(await linked.git('rev-parse', 'HEAD')).toBe(entry);
});

test('a commit of the user’s on a line says in which session and turn it was made', async () => {
  await edit('1\n');
  await linked.git('commit', '--quiet', '-am', 'One');
  expect(await message()).toBe(`One\n\n${trailer()}\n`);
  await linked.git('commit', '--quiet', '--amend', '--no-edit');
  expect(await message()).toBe(`One\n\n${trailer()}\n`);
  await edit('2\n');
  const writing = await editor('{ printf "Two\\n\\n# 2\\nRefs: 2\\n"; cat "$1"; } > "$1.new"; mv "$1.new" "$1"');
  await git(['-c', 'core.commentChar=;', 'commit', '--quiet', '--verbose', '-a'], writing);
  expect(await message()).toBe(`Two\n\n# 2\nRefs: 2\n\n${trailer()}\n`);
  await edit('3\n');
  await linked.git('commit', '--quiet', '-am', 'Three\n\n# kept', '--cleanup=verbatim');
  expect(await message()).toBe(`Three\n\n# kept\n\n${trailer()}\n`);
});

test('an editor that is left without a message still calls the commit off', async () => {
  const before = await linked.git('rev-parse', 'HEAD');
  await edit('off\n');
  expect(await git(['commit', '-a', '--verbose'], await editor('true'))).toMatchObject({ exitCode: 1 });
  expect(await linked.git('rev-parse', 'HEAD')).toBe(before);
  await linked.git('restore', '.');
});

test('after a switch to a line one is told where one is, by whatever name, and nothing elsewhere', async () => {
  const place = `session ${session}, turn 01 has a plan to execute; next: teddy execute`;
  for (const [args, output] of [
    [['checkout', '-q', '-b', 'try-again', `${branch}~1`], `teddy: try-again, a branch of ${place}\n`],
    [['switch', '-q', '-c', 'elsewhere', 'main'], ''],
    [['switch', '-q', branch], `teddy: ${place}\n`],
  ] as const)
    expect(await git([...args])).toEqual({ exitCode: 0, output });
  await linked.git('branch', '-q', '-D', 'elsewhere');
});

test('a push of a line that is what it says goes through', async () => {
  await linked.git('push', '--quiet', 'origin', 'main', branch, 'teddy/global');
  expect(await linked.git('ls-remote', 'origin', branch)).toContain(await linked.git('rev-parse', branch));
});

test('a push with a rewritten plan is stopped, also below another name; --no-verify and a deletion go through', async () => {
  const plan = `.teddy/sessions/${session}/01/plan.md`;
  const honest = await linked.git('rev-parse', branch);
  await linked.commit({ [plan]: `${await linked.read(plan)}\nand more\n` }, 'Quietly');
  const stopped = await git(['push', 'origin', branch]);
  expect(stopped.exitCode).toBe(1);
  expect(stopped.output).toContain('error: A teddy hook stopped the push.');
  expect(stopped.output).toContain(`  ${branch}, `);
  expect(stopped.output).toContain(plan);
  expect(await git(['push', 'origin', `${branch}:refs/heads/feature`])).toMatchObject({ exitCode: 1 });
  expect(await git(['push', 'origin', `HEAD:refs/heads/teddy/${session}--01-branch-01`])).toMatchObject({
    exitCode: 1,
  });
  expect(await git(['push', 'origin', 'HEAD:refs/heads/feature'])).toMatchObject({ exitCode: 1 });
  expect(await git(['push', '--no-verify', 'origin', branch])).toMatchObject({ exitCode: 0 });
  expect(await git(['push', 'origin', `:${branch}`])).toMatchObject({ exitCode: 0 });
  await linked.git('reset', '--quiet', '--hard', honest);
});

test('a push with a secret is stopped, and does not show it', async () => {
  const secret = ['ghp', 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'].join('_');
  await linked.commit({ 'token.txt': `${secret}\n` }, 'With a token');
  const stopped = await git(['push', 'origin', branch]);
  expect(stopped.exitCode).toBe(1);
  expect(stopped.output).toMatch(/token\.txt contains a secret: \S+/);
  expect(stopped.output).not.toContain(secret);
});

test('the hook for pre-commit checks what is pushed, from what pre-commit tells it', async () => {
  const hooks = parse(await readFile(new URL('../../.pre-commit-hooks.yaml', import.meta.url), 'utf8')) as unknown;
  expect(hooks).toMatchObject([{ id: 'teddy-verify', stages: ['pre-push'], always_run: true, pass_filenames: false }]);
  const [{ entry }] = hooks as [{ entry: string }];
  const bin = join(project.repo.root, '.git', 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'teddy'), `#!/bin/sh\nexec '${process.execPath}' '${teddyPath}' "$@"\n`, { mode: 0o755 });
  const tip = await linked.git('rev-parse', 'HEAD');
  const told = (range: Record<string, string>, remoteBranch: string) =>
    new Promise<{ exitCode: number; output: string }>((resolve) => {
      const env = {
        ...range,
        PATH: `${bin}:${process.env['PATH']}`,
        PRE_COMMIT_LOCAL_BRANCH: `refs/heads/${branch}`,
        PRE_COMMIT_REMOTE_BRANCH: remoteBranch,
        PRE_COMMIT_REMOTE_NAME: 'origin',
        PRE_COMMIT_REMOTE_URL: remote,
      };
      execFile('sh', ['-c', entry], { cwd: linked.root, env: environmentOf(env) }, (error, stdout, stderr) =>
        resolve({ exitCode: error === null ? 0 : Number(error.code), output: stdout + stderr }),
      );
    });
  // The commit with the token is the last one.
  const range = { PRE_COMMIT_FROM_REF: `${await linked.git('rev-parse', 'HEAD~')}`, PRE_COMMIT_TO_REF: tip };
  const stopped = await told(range, `refs/heads/${branch}`);
  expect(stopped).toEqual({ exitCode: 1, output: expect.stringContaining('A teddy hook stopped the push.') as string });
  // It tells no range with the first commit of a repository.
  expect(await told({}, 'refs/heads/feature')).toMatchObject({ exitCode: 1 });
  await linked.git('reset', '--quiet', '--hard', 'HEAD~');
  expect(await told({}, `refs/heads/${branch}`)).toEqual({ exitCode: 0, output: '' });
});

test('uninstall leaves nothing, and a commit is as ever', async () => {
  expect(await project.run(['hooks', 'uninstall', '--json'])).toMatchObject({ exitCode: 0 });
  expect((await project.repo.list('.git/hooks')).filter((name) => !name.endsWith('.sample'))).toEqual([]);
  await edit('last\n');
  await linked.git('commit', '--quiet', '-am', 'Last');
  expect(await message()).toBe('Last\n');
});
