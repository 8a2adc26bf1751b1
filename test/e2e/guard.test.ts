/** teddy takes back what a plan's commands do to `.teddy/`: a model does not decide what it is shown. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { executeAction, openBegun, planOf, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
let session: string;

beforeEach(async () => {
  ({ project, session } = await openBegun('guard', { files: { 'README.md': '# Scratch\n' } }));
});
afterEach(() => project.close());

async function execute(script: string) {
  await project.plan(planOf(executeAction(script)));
  return project.run(['session', 'execute', '-y']);
}

const evil =
  'for f in .teddy/sessions/*/session.context .teddy/global.context .teddy/memos.yaml; do echo "- .env" >> $f; done';

test('lists that a command writes are as before, its text is kept, and no snapshot takes them', async () => {
  const { repo } = project;
  const before = (await repo.fingerprint()).workTree;
  const executed = await execute(evil);
  expect(executed).toMatchObject({ exitCode: 0 });
  expect((await repo.fingerprint()).workTree).toMatchObject(before);
  const [, tree = ''] = /git show ([0-9a-f]{40}):<path>/.exec(executed.stderr) ?? [];
  expect(await repo.git('show', `${tree}:.teddy/memos.yaml`)).toBe('- .env');
  expect((await project.report()).action_logs[0]?.details?.['restored']).toHaveLength(3);
  const global = await repo.git('rev-parse', 'teddy/global');
  await project.plan('Fine.', 'Go on');
  expect((await project.subjects()).filter((subject) => subject.startsWith('snapshot'))).toEqual([]);
  expect(await repo.git('rev-parse', 'teddy/global')).toBe(global);
  expect(await repo.git('status', '--porcelain')).toBe('');
});

test('nor when they were committed, hidden from git, replaced by links, or removed as a whole', async () => {
  const { repo } = project;
  const texts = ['.teddy/global.context', '.teddy/memos.yaml', `.teddy/sessions/${session}/session.context`];
  const before = await Promise.all(texts.map(repo.read));
  for (const script of [
    `${evil}; git commit --quiet -am Theirs`,
    `${evil}; git update-index --assume-unchanged .teddy/global.context .teddy/memos.yaml`,
    'rm .teddy/global.context; ln -s ../.env .teddy/global.context',
    `chmod +x .teddy/*.context; ${evil}; git add -A .teddy`,
    'rm -rf .teddy',
  ]) {
    expect(await execute(script), script).toMatchObject({ exitCode: 0 });
    expect(await Promise.all(texts.map(repo.read)), script).toEqual(before);
    await project.plan('Fine.', 'Go on');
    for (const path of texts) expect(await repo.git('show', `HEAD:${path}`), script).not.toContain('.env');
  }
  for (const name of ['memos.yaml', 'global.context'])
    expect(await repo.git('show', `teddy/global:${name}`)).not.toContain('.env');
});

const config = '.teddy/config.yaml';

test('what a command stages in .teddy/ is unstaged, and the next turn is not refused', async () => {
  const { repo } = project;
  const executed = await execute(
    'rm -rf .teddy/sessions; echo y > .teddy/evil; echo "- y" >> .teddy/memos.yaml; git add -A',
  );
  expect(executed).toMatchObject({ exitCode: 0 });
  expect(await repo.git('status', '--porcelain')).toBe('?? .teddy/evil');
  expect(executed.stderr).toContain('.teddy/evil');
  await project.plan(planOf(executeAction('git rm --quiet --cached .teddy/memos.yaml')), 'Unknown to git');
  const removed = await project.run(['session', 'execute', '-y']);
  expect(removed.stderr).toContain('Action 1 changed .teddy/memos.yaml.');
  expect(await repo.git('status', '--porcelain')).toBe('?? .teddy/evil');
  await project.plan('Fine.', 'Go on');
});

test('an index that cannot be put back makes the action a failure that says why', async () => {
  const executed = await execute('echo y > .teddy/evil; git add -A; : > .git/index.lock');
  expect(executed.exitCode).not.toBe(0);
  expect(executed.stderr).toContain('could not be reverted');
});

test('settings that a command makes are gone, kept as text, in no commit, and rule no turn', async () => {
  const { repo } = project;
  const executed = await execute(`echo 'agent: reviewer' > ${config}; git add --force ${config}`);
  expect(executed).toMatchObject({ exitCode: 0 });
  expect(executed.stderr).toContain(`warning: Action 1 changed ${config}.`);
  const [, text = ''] = /`git show (\S+)`/.exec(executed.stderr) ?? [];
  expect(await repo.git('show', text)).toBe('agent: reviewer');
  expect(await repo.git('status', '--porcelain')).toBe('');
  expect(await repo.git('ls-tree', '-r', '--name-only', 'HEAD')).not.toContain(config);
  expect((await project.report()).changes).toEqual([]);
  expect(await project.ok('config', '--json')).not.toContain('reviewer');
});

test('settings that the project tracks and a command changes, deletes, stages or hides are put back and named', async () => {
  const { repo } = project;
  await repo.commit({ [config]: 'maxTurns: 50\n' }, 'Settings');
  for (const script of [
    `echo 'maxTurns: 9' > ${config}`,
    `echo 'maxTurns: 9' > ${config}; git add -A`,
    `git rm --quiet ${config}`,
    `git update-index --assume-unchanged ${config}; echo 'maxTurns: 9' > ${config}`,
  ]) {
    const executed = await execute(script);
    expect(executed, script).toMatchObject({ exitCode: 0 });
    expect(executed.stderr, script).toContain(`warning: Action 1 changed ${config}.`);
    expect((await project.report()).changes, script).toEqual([]);
    expect(await repo.read(config), script).toBe('maxTurns: 50\n');
    expect(await repo.git('show', `HEAD:${config}`), script).toBe('maxTurns: 50');
    expect(await repo.git('status', '--porcelain'), script).toBe('');
  }
});

test('a directory that became a link is refused by name, and nothing behind it is merged', async () => {
  const { repo } = project;
  const global = await repo.git('rev-parse', 'teddy/global');
  const executed = await execute(`mv .teddy elsewhere; ln -s elsewhere .teddy; ${evil}`);
  expect(executed.exitCode).not.toBe(0);
  expect(executed.stderr).toContain('could not be reverted: .teddy is in the way');
  // Its hint cannot work before the link is gone, which the next error says.
  const again = await project.start(['session', 'execute', '-y']).result;
  expect(again.stderr).toContain('after action 1, before its report was written. [RUN_INTERRUPTED]');
  const kept = await project.run(['session', 'execute', '--interrupted=keep']);
  expect(kept.exitCode).not.toBe(0);
  expect(kept.stderr).toContain('[FILES_IN_THE_WAY]');
  expect(await repo.git('rev-parse', 'teddy/global')).toBe(global);
});

test('outside a sparse checkout nothing is missed', async () => {
  const { repo } = project;
  await repo.commit({ 'src/a.txt': 'a\n' });
  await project.plan(planOf(executeAction('echo made > made.txt')));
  await repo.git('sparse-checkout', 'set', '--no-cone', '/*', '!/.teddy/');
  const executed = await project.run(['session', 'execute', '-y']);
  expect(executed).toMatchObject({ exitCode: 0 });
  expect(executed.stderr).not.toContain('changed .teddy');
  await repo.git('sparse-checkout', 'disable');
});
