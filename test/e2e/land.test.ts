/** `session land` and `session archive`, as a person sees them. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

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
    archive: `refs/teddy/archive/${session}`,
  });
  expect(await project.repo.git('log', '-1', '--format=%B', 'main')).toBe(message);
  const { refs: __, ...after } = await project.repo.fingerprint();
  expect(after).toEqual(before);
  await project.refuses('NOTHING_TO_LAND', 3, ['session', 'land']);
  await project.repo.write('a.txt', 'edited\n');
  await project.refuses('LINE_CHECKED_OUT', 3, ['session', 'archive']);

  await project.repo.write('a.txt', 'A\n');
  const archive = `refs/teddy/archive/${session}`;
  await project.repo.git('switch', '--quiet', 'main');
  expect(await project.refuses('USAGE', 2, ['session', 'archive'])).toContain(
    'error: You are on no branch of a session, so teddy cannot tell which one to archive. [USAGE]\n' +
      'hint:  Name one of those that `teddy session list` shows: `teddy session archive <session>`.\n',
  );
  await project.repo.git('switch', '--quiet', `teddy/${session}`);
  expect(await project.ok('session', 'archive', session)).toBe(`teddy/${session} is now ${archive}\n`);
  expect(await project.repo.git('symbolic-ref', '--short', 'HEAD')).toBe('main');
  expect(await project.repo.git('for-each-ref', '--format=%(refname)', 'refs/heads/teddy', 'refs/teddy')).toBe(
    `refs/heads/teddy/global\n${archive}`,
  );
  expect(await project.ok('session', 'history', session, '--format', 'markdown')).toContain('Do it');
  const refused = await project.refuses('UNKNOWN_SESSION', 2, ['session', 'plan', '-s', session, '-m', 'more']);
  expect(refused).toContain(`teddy session archive --restore ${session}`);
  expect(await project.ok('session', 'archive', '--restore', session)).toBe(`teddy/${session}\n`);
  expect(await project.repo.git('rev-parse', `teddy/${session}`)).toBe(tip);
});
