/** `session land` and `session archive`, as a person sees them. */
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { archiveRef, type RefName } from '../../src/names.ts';
import { ctrlC, hasTerminal, runInTerminal } from '../support/run-in-terminal.ts';
import { openScratchRepository } from '../support/scratch-repository.ts';
import { createPlan, editAction, openTeddyProject, planOf, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
let session: string;
beforeAll(async () => {
  project = await openTeddyProject();
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
  expect(await project.repo.git('log', '-1', '--format=%B', 'main')).toBe(message);
  const { refs: __, ...after } = await project.repo.fingerprint();
  expect(after).toEqual(before);
  await project.refuses('NOTHING_TO_LAND', 3, ['session', 'land']);
  await project.repo.write('a.txt', 'edited\n');
  await project.refuses('LINE_CHECKED_OUT', 3, ['session', 'archive']);

  await project.repo.write('a.txt', 'A\n');
  const archive = archiveRef(`refs/heads/teddy/${session}` as RefName);
  await project.repo.git('switch', '--quiet', 'main');
  expect(await project.refuses('USAGE', 2, ['session', 'archive'])).toContain(
    "error: You are not on a session's branch, so teddy does not know which session to archive. [USAGE]\n" +
      'hint:  Name one that `teddy session list` shows: `teddy session archive <session>`.\n',
  );
  await project.repo.git('switch', '--quiet', `teddy/${session}`);
  expect(await project.ok('session', 'archive', session)).toBe(`teddy/${session} is now ${archive}\n`);
  expect(await project.repo.git('symbolic-ref', '--short', 'HEAD')).toBe('main');
  expect(await project.repo.git('for-each-ref', '--format=%(refname)', 'refs/heads/teddy', 'refs/teddy')).toBe(
    `refs/heads/teddy/global\n${archive}`,
  );
  const listed = await project.run(['session', 'list']);
  const way = '1 session is archived: teddy session list --archived. Start one: teddy session new <name>';
  expect(listed).toMatchObject({ stdout: '', stderr: `No sessions are in progress here. ${way}\n` });
  expect(await project.ok('session', 'list', '--archived')).toContain(session);
  expect(await project.ok('session', 'history', session, '--format', 'markdown')).toContain('Do it');
  const refused = await project.refuses('UNKNOWN_SESSION', 2, ['session', 'plan', '-s', session, '-m', 'more']);
  expect(refused).toContain(`teddy session archive --restore ${session}`);
  expect(await project.ok('session', 'archive', '--restore', session)).toBe(`teddy/${session}\n`);
  expect(await project.repo.git('rev-parse', `teddy/${session}`)).toBe(tip);
});

test.skipIf(!hasTerminal)(
  'Ctrl-C at a question of a session says to run the command again, not what write sessions there are',
  async () => {
    await project.repo.git('switch', '--quiet', 'main');
    const run = runInTerminal(['session', 'delete', session], { cwd: project.repo.root });
    await run.waitFor('Delete them? [y/N] ');
    run.press(ctrlC);
    expect(await run.exitCode).toBe(130);
    expect(run.text()).toContain('[INTERRUPTED]\nhint:  Run the command again: it asks once more.\n');
  },
);

test('delete names what would be lost, asks, keeps it, and what it prints takes it back', async () => {
  const { repo } = project;
  const tip = await repo.git('rev-parse', `teddy/${session}`);
  await repo.git('switch', '--quiet', 'main');
  const archive = archiveRef(`refs/heads/teddy/${session}` as RefName);
  await repo.git('switch', '--quiet', '--create', 'aside', `teddy/${session}~1`);
  await repo.git('switch', '--quiet', 'main');
  const refused = await project.refuses('NOT_APPROVED', 4, ['session', 'delete', session]);
  expect(refused).toContain(
    `  teddy/${session}  1 turn, landed, not pushed\n  ${archive}  its archive, 1 turn, landed\n`,
  );
  expect(refused).toContain('aside is your own branch');
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
  await repo.git('branch', '--quiet', '-D', 'aside');
});

test('what is deleted for good by the doctor is not found again as lost entries', async () => {
  const { repo } = project;
  await project.ok('session', 'delete', session, '-y');
  const kept = (await repo.git('for-each-ref', '--format=%(refname) %(objectname)', 'refs/teddy/keep/deleted')).split(
    '\n',
  );
  for (const row of kept) {
    const [ref = '', oid = ''] = row.split(' ');
    await repo.git('update-ref', ref.replace(/\d{8}T\d{6}Z/, '20200101T000000Z'), oid);
    await repo.git('update-ref', '-d', ref);
  }
  expect(await project.ok('doctor', '--fix')).toContain('deleted more than 30 days ago');
  expect(await repo.git('for-each-ref', 'refs/teddy/keep', `refs/heads/teddy/${session}*`)).toBe('');
  expect(await project.ok('doctor')).not.toContain('not on any branch');
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
  expect(await repo.git('ls-files', 'b.txt')).toBe('');
  await project.ok(...back.split(' '));
  expect(await repo.read('b.txt')).toBe('B\n');
  await repo.git('switch', '--quiet', leave);
});

test('a session in the place of a remote, an answer that a person brings, and no editor are explained', async () => {
  const fresh = await openTeddyProject();
  const { repo } = fresh;
  await fresh.begin('leave');
  expect((await fresh.run(['session', 'push', 'leave'])).stderr).toContain('leave is a session, to be named with -s');
  await repo.git('init', '--quiet', '--bare', '.git/there');
  await repo.git('remote', 'add', 'origin', '.git/there');
  await repo.git('push', '--quiet', 'origin', 'main');
  await fresh.ok('session', 'push');
  for (const verb of ['push', 'pull', 'sync'])
    expect((await fresh.run(['session', verb, 'leave'])).stderr).toMatch(
      new RegExp(`^hint: {2}leave is a session: \`teddy session ${verb} -s \\d{8}-leave\`\\.$`, 'm'),
    );
  const none = { OPENAI_API_KEY: undefined, OPENAI_BASE_URL: undefined };
  const options = { env: { ...none, EDITOR: undefined, VISUAL: undefined, GIT_EDITOR: undefined } };
  const asked = await fresh.run(['session', 'plan', '-m', 'By hand', '--provider', 'manual'], options);
  const resumed = await fresh.run(['session', 'resume'], options);
  expect(resumed.stderr).not.toContain('NO_MODEL');
  expect(resumed.stderr).toContain('teddy session plan --from');
  expect(resumed.exitCode).toBe(asked.exitCode);
  expect(await fresh.refuses('USAGE', 2, ['global', 'edit'], options)).toContain('There is no terminal for an editor');
  await fresh.close();
});

test('what an undo took back comes to the branch again by the command that land names, typed where land was', async () => {
  const fresh = await openTeddyProject();
  const { repo } = fresh;
  await fresh.begin('back');
  await fresh.plan(createPlan('back.txt', 'back\n'));
  await fresh.ok('session', 'execute', '-y');
  await fresh.ok('session', 'land');
  await fresh.ok('session', 'undo');
  await fresh.ok('session', 'land');
  await fresh.ok('session', 'rewind', '01');
  const line = await repo.git('symbolic-ref', 'HEAD');
  const tip = await repo.git('rev-parse', line);
  const refused = await fresh.refuses('NOTHING_TO_LAND', 3, ['session', 'land']);
  execFileSync('sh', ['-c', /`(git .+)`/.exec(refused)?.[1] ?? 'false'], { cwd: repo.root, stdio: 'ignore' });
  expect(await repo.git('show', 'main:back.txt')).toBe('back');
  expect(await repo.git('rev-parse', line)).toBe(tip);
  await fresh.close();
});

test('a dry run ends as the landing would, and files in the way are told with their place and a way out', async () => {
  const fresh = await openTeddyProject();
  const { repo } = fresh;
  await repo.commit({ 'mine.txt': 'mine\n' }, 'Mine');
  await repo.write('mine.txt', 'early\n');
  const id = await fresh.begin('dry');
  await fresh.plan(createPlan('a.txt', 'A\n'));
  await fresh.ok('session', 'execute', '-y');
  const place = `${repo.root}-main`;
  await repo.git('worktree', 'add', '--quiet', place, 'main');
  const there = openScratchRepository(place);
  await there.write('a.txt', 'in the way\n');
  const refusedBoth = async (code: string, ...more: string[]) => {
    const { exitCode, stdout, stderr: dry } = await fresh.run(['session', 'land', '--dry-run', ...more]);
    expect([exitCode, stdout]).toEqual([3, expect.stringContaining('A a.txt')]);
    expect(dry).toContain(`teddy/${id} cannot land yet; it would land on main`);
    const json = await fresh.run(['session', 'land', '--dry-run', '--json', ...more]);
    expect(json.exitCode).toBe(3);
    expect(JSON.parse(json.stdout)).toMatchObject({ dryRun: true, commit: null, obstacle: { code } });
    expect(await fresh.refuses(code, 3, ['session', 'land', ...more])).toContain(/^hint: .*$/m.exec(dry)?.[0]);
    return dry;
  };
  expect(await refusedBoth('OWN_EDITS')).toContain('--with-own-edits');
  const hint = await refusedBoth('FILES_IN_THE_WAY', '--with-own-edits');
  const [, stash = 'false'] = /`(git -C .+? stash .+?)`/.exec(hint) ?? [];
  execFileSync('sh', ['-c', stash], { cwd: repo.root, stdio: 'ignore' });
  await fresh.ok('session', 'land', '--dry-run', '--with-own-edits');
  await fresh.ok('session', 'land', '--with-own-edits');
  expect(await there.read('a.txt')).toBe('A\n');
  await repo.git('worktree', 'remove', '--force', place);
  await fresh.close();
});

test('own edits are taken off the line by the command that is named on main', async () => {
  const fresh = await openTeddyProject();
  const { repo } = fresh;
  const rows = [...Array(12).keys()].map((at) => `row ${at}\n`);
  await repo.commit({ 'rows.txt': rows.join('') }, 'Rows');
  await repo.write('rows.txt', ['early\n', ...rows].join(''));
  const id = await fresh.begin('leave-out');
  await fresh.plan(planOf(editAction('rows.txt', 'row 9', 'nine')));
  await fresh.ok('session', 'execute', '-y');
  await repo.git('switch', '--quiet', 'main');
  const refused = await fresh.refuses('OWN_EDITS', 3, ['session', 'land', '-s', id]);
  const [, way = 'false'] = /leave them out: `(.+?)`/.exec(refused) ?? [];
  execFileSync('sh', ['-c', way], { cwd: repo.root, stdio: 'ignore' });
  await fresh.ok('session', 'land', '-s', id);
  expect(await repo.git('show', 'main:rows.txt')).toBe(rows.join('').replace('row 9', 'nine').trim());
  await fresh.close();
});

describe('code that the branch has lost since it landed', () => {
  /** A session that has landed, with HEAD on main. */
  let landed: TeddyProject;
  let id: string;
  beforeAll(async () => {
    landed = await openTeddyProject();
    id = await landed.begin('lost');
    await landed.plan(createPlan('one.txt', 'one\n'));
    await landed.ok('session', 'execute', '-y');
    await landed.ok('session', 'land');
    await landed.repo.git('switch', '--quiet', 'main');
  });
  afterAll(() => landed.close());

  /** The same, and what main lost of it. */
  async function lose(...losing: (string[] | { write: string })[]) {
    const fresh = await openTeddyProject({ scene: landed });
    const { repo } = fresh;
    for (const step of losing)
      await (Array.isArray(step) ? repo.git(...step) : repo.commit({ [step.write]: 'later\n' }, 'Later'));
    const bringBack = async (refused: string) => {
      const [, way = 'false'] = /bring it back: `(.+?)`/.exec(refused) ?? [];
      execFileSync('sh', ['-c', way], { cwd: repo.root, stdio: 'ignore' });
      expect(await repo.git('show', 'main:one.txt')).toBe('one');
      expect(await fresh.refuses('NOTHING_TO_LAND', 3, ['session', 'land', id])).toContain('has all code of');
      expect((await fresh.run(['session', 'land', id])).stderr).not.toContain('no longer');
      expect(await fresh.run(['session', 'verify', id])).toMatchObject({ exitCode: 0 });
    };
    return { fresh, repo, bringBack };
  }

  test.each<[string, ...(string[] | { write: string })[]]>([
    ['a revert', ['revert', '--no-edit', 'HEAD']],
    ['a revert among other commits', { write: 'x.txt' }, ['revert', '--no-edit', 'HEAD~1'], { write: 'y.txt' }],
    ['a deletion', ['rm', '--quiet', 'one.txt'], ['commit', '--quiet', '-m', 'Away with it']],
  ])('by %s is told, and comes back by the command that is named', async (_, ...losing) => {
    const { fresh, repo, bringBack } = await lose(...losing);
    const landing = (await repo.git('log', '--format=%h', '--grep=Teddy-Landed-From', 'main')).slice(0, 7);
    const refused = await fresh.refuses('NOTHING_TO_LAND', 3, ['session', 'land', id]);
    expect(refused).toContain(`teddy/${id} landed on main as ${landing}`);
    expect(refused).toContain('main no longer has all of it');
    await repo.git('switch', '--quiet', `teddy/${id}`);
    expect((await fresh.run(['status'])).stdout).toContain('main no longer has all of it');
    await repo.git('switch', '--quiet', 'main');
    await bringBack(refused);
    await fresh.close();
  });

  test('is not passed over when a later turn lands', async () => {
    const { fresh, repo, bringBack } = await lose(['revert', '--no-edit', 'HEAD']);
    await repo.git('switch', '--quiet', `teddy/${id}`);
    await fresh.plan(createPlan('two.txt', 'two\n'));
    await fresh.ok('session', 'execute', '-y');
    const { stderr } = await fresh.run(['session', 'land']);
    expect(stderr).toContain('main no longer has all of it');
    expect((await fresh.run(['status'])).stdout).not.toContain('All of its code has landed');
    await bringBack(stderr);
    await repo.git('switch', '--quiet', `teddy/${id}`);
    expect((await fresh.run(['status'])).stdout).toContain('All of its code has landed');
    await fresh.close();
  });

  test('is what a conflict with a later turn comes from', async () => {
    const { fresh, repo } = await lose(['revert', '--no-edit', 'HEAD']);
    await repo.git('switch', '--quiet', `teddy/${id}`);
    await fresh.plan(planOf(editAction('one.txt', 'one', 'two')));
    await fresh.ok('session', 'execute', '-y');
    const refused = await fresh.refuses('LAND_CONFLICT', 3, ['session', 'land']);
    const [, way = 'false'] = /bring it back: `(.+?)`/.exec(refused) ?? [];
    execFileSync('sh', ['-c', way], { cwd: repo.root, stdio: 'ignore' });
    await fresh.ok('session', 'land', id);
    expect(await repo.git('show', 'main:one.txt')).toBe('two');
    await fresh.close();
  });

  test('with a merge that was reverted comes back as well', async () => {
    const fresh = await openTeddyProject();
    const { repo } = fresh;
    const id = await fresh.begin('merged');
    await fresh.plan(createPlan('one.txt', 'one\n'));
    await fresh.ok('session', 'execute', '-y');
    await repo.git('switch', '--quiet', 'main');
    await repo.git('merge', '--quiet', '--no-ff', '--no-edit', `teddy/${id}`);
    await repo.git('revert', '--no-edit', '-m', '1', 'HEAD');
    const { stderr: refused } = await fresh.run(['session', 'land', id]);
    expect(refused).toContain('main no longer has all of it');
    const [, way = 'false'] = /bring it back: `(.+?)`/.exec(refused) ?? [];
    execFileSync('sh', ['-c', way], { cwd: repo.root, stdio: 'ignore' });
    expect(await repo.git('show', 'main:one.txt')).toBe('one');
    expect(await fresh.refuses('NOTHING_TO_LAND', 3, ['session', 'land', id])).toContain('has all code of');
    await fresh.close();
  });
});
