/** `teddy land`, `archive` and `delete`: what they print, and the ways back that they name. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { archiveRef, type Oid, type RefName } from '../../src/names.ts';
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';
import { ctrlC } from '../support/run-in-terminal.ts';
import { createPlan, editAction, planOf } from '../support/teddy-project.ts';

let project: MemoryTeddy;
let session: string;
beforeAll(async () => {
  project = await openMemoryTeddy();
  session = await project.begin('try-it');
  await project.plan(createPlan('a.txt', 'A\n'));
  await project.ok('session', 'execute', '-y');
});
afterAll(() => project.close());

test('a session lands with HEAD where it was, is archived, found by its id, and brought back', async () => {
  const tip = await project.repo.git('rev-parse', 'HEAD');
  const { refs: _, ...before } = await project.repo.fingerprint();
  const dry = await project.ok('session', 'land', '--dry-run');
  expect(dry).toBe(`Try it\n\nTeddy-Landed-From: ${session}@${tip}\n\nA a.txt\n`);
  const landed = await project.run(['session', 'land', '--json', '-m', 'By me\n\nTeddy-Entry: plan']);
  const message = `By me\n\n  Teddy-Entry: plan\n\nTeddy-Landed-From: ${session}@${tip}\n`;
  expect(JSON.parse(landed.stdout)).toMatchObject({
    schema: 'teddy.session-land/1',
    session,
    line: `teddy/${session}`,
    onto: 'main',
    dryRun: false,
    commit: await project.repo.git('rev-parse', 'main'),
    message,
    files: [{ path: 'a.txt', change: 'added' }],
    workTree: null,
    archive: archiveRef(`refs/heads/teddy/${session}` as RefName),
  });
  expect(await project.repo.git('log', '-1', '--format=%B', 'main')).toBe(message.trimEnd());
  const { refs: __, ...after } = await project.repo.fingerprint();
  expect(after).toEqual(before);
  await project.refuses('NOTHING_TO_LAND', 3, ['session', 'land']);
  const archive = archiveRef(`refs/heads/teddy/${session}` as RefName);
  await project.repo.git('switch', '--quiet', 'main');
  expect(await project.refuses('USAGE', 2, ['session', 'archive'])).toContain(
    "error: You are not on a session's branch, so teddy does not know which session to archive. [USAGE]\n" +
      'hint:  Name one that `teddy list` shows: `teddy archive <session>`.\n',
  );
  await project.repo.git('switch', '--quiet', `teddy/${session}`);
  expect(await project.ok('session', 'archive', session)).toBe(`teddy/${session} is now ${archive}\n`);
  expect(await project.repo.git('symbolic-ref', '--short', 'HEAD')).toBe('main');
  expect(await project.repo.git('for-each-ref', '--format=%(refname)', 'refs/heads/teddy', 'refs/teddy')).toBe(
    `refs/heads/teddy/global\n${archive}`,
  );
  const listed = await project.run(['session', 'list']);
  const way = '1 session is archived: teddy list --archived. Start one: teddy new <name>';
  expect(listed).toMatchObject({ stdout: '', stderr: `No sessions are in progress here. ${way}\n` });
  expect(await project.ok('session', 'list', '--archived')).toContain(session);
  expect(await project.ok('session', 'history', session, '--format', 'markdown')).toContain('Do it');
  const refused = await project.refuses('UNKNOWN_SESSION', 2, ['session', 'plan', '-s', session, '-m', 'more']);
  expect(refused).toContain(`teddy archive --restore ${session}`);
  expect(await project.ok('session', 'archive', '--restore', session)).toBe(`teddy/${session}\n`);
  expect(await project.repo.git('rev-parse', `teddy/${session}`)).toBe(tip);
});

test('Ctrl-C at a question says to run the command again', async () => {
  await project.repo.git('switch', '--quiet', 'main');
  const run = project.inTerminal(['session', 'delete', session]);
  await run.play(['Delete them? [y/N] ', ctrlC]);
  expect(await run.exitCode).toBe(130);
  expect(run.text()).toContain('[INTERRUPTED]\nhint:  Run the command again: it asks once more.\n');
});

test('delete names what would be lost, asks, keeps it, and what it prints takes it back', async () => {
  const { repo } = project;
  const tip = await repo.git('rev-parse', `teddy/${session}`);
  await repo.git('switch', '--quiet', 'main');
  const archive = archiveRef(`refs/heads/teddy/${session}` as RefName);
  await project.memory.setRef('refs/heads/aside', (await repo.git('rev-parse', `teddy/${session}~1`)) as Oid);
  const refused = await project.refuses('NOT_APPROVED', 4, ['session', 'delete', session]);
  expect(refused).toContain(
    `  teddy/${session}  1 turn, landed, not pushed\n  ${archive}  its archive, 1 turn, landed\n`,
  );
  expect(refused).toContain('aside is your own branch');
  // A deleted session is not in the list, and the hint must not delete another one.
  expect(await project.refuses('USAGE', 2, ['session', 'delete', '--restore'])).toContain(
    '`git for-each-ref refs/teddy/keep/deleted/` shows what was deleted: `teddy delete --restore <session>`.',
  );
  const part = await project.refuses('USAGE', 2, ['session', 'delete', session.slice(0, -1), '-y']);
  expect(part).toContain(`is only a part of ${session}`);
  const deleted = await project.run(['session', 'delete', session, '-y']);
  expect(deleted.stdout).toBe(`teddy/${session} is deleted\n${archive} is deleted\n`);
  expect(await repo.git('for-each-ref', '--format=%(refname)', 'refs/heads/teddy', archive)).toBe(
    'refs/heads/teddy/global',
  );
  const [, restore = ''] = /restored for 30 days: teddy (.*)/.exec(deleted.stderr) ?? [];
  expect(await project.ok(...restore.split(' '))).toBe(`teddy/${session} is back\n${archive} is back\n`);
  expect(await repo.git('rev-parse', `teddy/${session}`, archive)).toBe(`${tip}\n${tip}`);
});

test('what leaves a line says how to get back to it, and it works', async () => {
  const { repo } = project;
  const made = await project.run(['session', 'new', 'leave', '--from', 'main']);
  const [, leave = ''] = /new branch (teddy\/\S+)\./.exec(made.stderr) ?? [];
  await project.plan(createPlan('b.txt', 'B\n'));
  await project.ok('session', 'execute', '-y');
  for (const words of [
    ['session', 'branch', '01'],
    ['session', 'rewind', '01'],
  ]) {
    const { stderr } = await project.run(words);
    const [, back = ''] = /^Back: git (.*)$/m.exec(stderr) ?? [];
    expect(back).toBe(`switch ${leave}`);
    await repo.git(...back.split(' '));
  }
  const undone = await project.run(['session', 'undo']);
  const [, back = ''] = /^Back: teddy (.*)$/m.exec(undone.stderr) ?? [];
  expect(await repo.list('.')).not.toContain('b.txt');
  await project.ok(...back.split(' '));
  expect(await repo.read('b.txt')).toBe('B\n');
  await repo.git('switch', '--quiet', leave);
});

test('a session in the place of a remote, an answer that a person brings, and no editor are explained', async () => {
  expect((await project.run(['session', 'push', 'leave'])).stderr).toContain('leave is a session, to be named with -s');
  const none = { OPENAI_API_KEY: undefined, OPENAI_BASE_URL: undefined };
  const asked = await project.run(['session', 'plan', '-m', 'By hand', '--provider', 'manual'], { env: none });
  const resumed = await project.run(['session', 'resume'], { env: none });
  expect(resumed.stderr).not.toContain('NO_MODEL');
  expect(resumed.stderr).toContain('teddy plan --from');
  expect(resumed.exitCode).toBe(asked.exitCode);
  const refused = await project.refuses('USAGE', 2, ['global', 'edit'], { env: none });
  expect(refused).toContain('There is no terminal for an editor');
});

test('a dry run that would be refused ends as the landing would, with the same hint', async () => {
  const fresh = await openMemoryTeddy({ files: { 'mine.txt': 'mine\n' } });
  await fresh.repo.write('mine.txt', 'early\n');
  const id = await fresh.begin('dry');
  await fresh.plan(createPlan('a.txt', 'A\n'));
  await fresh.ok('session', 'execute', '-y');
  const dry = await fresh.run(['session', 'land', '--dry-run']);
  expect([dry.exitCode, dry.stdout]).toEqual([3, expect.stringContaining('A a.txt')]);
  expect(dry.stderr).toContain(`teddy/${id} cannot land yet; it would land on main`);
  const json = await fresh.run(['session', 'land', '--dry-run', '--json']);
  expect(json.exitCode).toBe(3);
  expect(JSON.parse(json.stdout)).toMatchObject({ dryRun: true, commit: null, obstacle: { code: 'OWN_EDITS' } });
  const refused = await fresh.refuses('OWN_EDITS', 3, ['session', 'land']);
  expect(refused).toContain(/^hint: .*$/m.exec(dry.stderr)?.[0]);
  await fresh.close();
});

test('code that the branch has lost since is told: it is not passed over when a later turn lands, nor in a conflict', async () => {
  const fresh = await openMemoryTeddy();
  const id = await fresh.begin('lost');
  await fresh.plan(createPlan('one.txt', 'one\n'));
  await fresh.ok('session', 'execute', '-y');
  await fresh.ok('session', 'land');
  await fresh.repo.git('switch', '--quiet', 'main');
  const landing = (await fresh.repo.git('rev-parse', 'HEAD')).slice(0, 7);
  await fresh.memory.commit('Away with it\n', { 'one.txt': null });
  const refused = await fresh.refuses('NOTHING_TO_LAND', 3, ['session', 'land', id]);
  expect(refused).toContain(`teddy/${id} landed on main as ${landing}`);
  expect(refused).toMatch(/main no longer has all of it.*bring it back: `git .+`/s);
  await fresh.repo.git('switch', '--quiet', `teddy/${id}`);
  expect(await fresh.ok('status')).toContain('main no longer has all of it');
  await fresh.plan(createPlan('two.txt', 'two\n'));
  await fresh.ok('session', 'execute', '-y');
  expect((await fresh.run(['session', 'land'])).stderr).toContain('main no longer has all of it');
  expect(await fresh.ok('status')).not.toContain('All of its code has landed');
  await fresh.plan(planOf(editAction('one.txt', 'one', 'two')));
  await fresh.ok('session', 'execute', '-y');
  expect(await fresh.refuses('LAND_CONFLICT', 3, ['session', 'land'])).toContain('bring it back: `git ');
  await fresh.close();
});

test('a new branch is created after a yes; on one of their own, a person is asked which branch is meant', async () => {
  const { repo } = project;
  await repo.git('switch', '--quiet', 'main');
  const name = await project.begin('branches');
  await project.plan(createPlan('branches.txt', 'B\n'));
  await project.ok('execute', '-y');
  const main = await repo.git('rev-parse', 'main');
  const hint = await project.refuses('UNKNOWN_BRANCH', 2, ['land', '--onto', 'feature']);
  expect(hint).toContain('To create it: `git branch feature main`');
  const refused = project.inTerminal(['land', '--onto', 'feature']);
  await refused.play(['There is no branch "feature". Create it from main? [y/N] ', 'n\n']);
  expect(await refused.exitCode).toBe(2);
  const created = project.inTerminal(['land', '--onto', 'feature']);
  await created.play(['Create it from main? [y/N] ', 'y\n']);
  expect(await created.exitCode).toBe(0);
  expect(created.text()).toContain(`teddy/${name} landed on feature: 1 file`);
  expect(await repo.git('rev-parse', 'feature^', 'main')).toBe(`${main}\n${main}`);
  await repo.git('switch', '--quiet', 'main');
  await repo.git('switch', '--quiet', '-c', 'own');
  for (const [answer, branch] of [
    ['n\n', 'main'],
    ['y\n', 'own'],
  ] as const) {
    const run = project.inTerminal(['land', '-s', name]);
    await run.play(['You are on the new branch own. Land there, and not on main? [y/N] ', answer]);
    expect(await run.exitCode).toBe(0);
    expect(run.text()).toContain(`landed on ${branch}:`);
  }
  await repo.git('switch', '--quiet', 'main');
});

test('land --pr without a remote says how to add one', async () => {
  expect(await project.refuses('UNKNOWN_REMOTE', 2, ['land', '--pr'])).toContain('git remote add origin <url>');
});
