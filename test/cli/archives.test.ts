/** Archives by month, a remote for sessions, and what puts many away, as a person sees them. */
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { archiveRef, type RefName } from '../../src/names.ts';
import { createPlan } from '../support/teddy-project.ts';

let project: MemoryTeddy;
/** One has landed, and so has the one that HEAD is on; `open` has not. */
let [landed, here, open] = ['', '', ''];

beforeAll(async () => {
  project = await openMemoryTeddy();
  const begin = async (name: string) => {
    await project.repo.git('switch', '--quiet', 'main');
    const session = await project.begin(name);
    await project.plan(createPlan(`${name}.txt`, 'A\n'));
    await project.ok('session', 'execute', '-y');
    return session;
  };
  landed = await begin('one');
  open = await begin('two');
  here = await begin('three');
  for (const session of [landed, here]) await project.ok('session', 'land', session);
});
afterAll(() => project.close());

const lineOf = (session: string) => `refs/heads/teddy/${session}` as RefName;
const refs = (...below: string[]) => project.repo.git('for-each-ref', '--format=%(refname)', ...below);

test('all landed sessions are put away, but for the one that is checked out, which decides the exit code', async () => {
  const before = await refs();
  const dry = await project.run(['session', 'archive', '--landed', '--dry-run']);
  expect(dry).toMatchObject({ exitCode: 3, stdout: `teddy/${landed}\n` });
  expect(dry.stderr).toContain(`${here} stays:\nerror: teddy/${here} is checked out here. [LINE_CHECKED_OUT]\n`);
  expect(dry.stderr).toContain('1 session would be archived. Nothing was changed: this was a dry run.');
  expect(await refs()).toBe(before);
  const none = await project.run(['session', 'archive', '--landed', '--older', '1d']);
  expect(none).toMatchObject({ exitCode: 0, stdout: '' });
  expect(none.stderr).toBe('No session here has landed with a last step older than 1d.\n');
  const done = await project.run(['session', 'archive', '--landed', '--json']);
  expect(done.exitCode).toBe(3);
  expect(JSON.parse(done.stdout)).toMatchObject({
    schema: 'teddy.session-archive-landed/1',
    dryRun: false,
    archived: [{ session: landed, lines: [{ line: `teddy/${landed}`, archive: archiveRef(lineOf(landed)) }] }],
    refused: [{ session: here, problem: { code: 'LINE_CHECKED_OUT' } }],
  });
  expect(await refs('refs/heads/teddy')).toBe(
    [lineOf(here), lineOf(open), 'refs/heads/teddy/global'].toSorted().join('\n'),
  );
});

test('a list that is cut names the command for all of the same kind', async () => {
  const { stderr } = await project.run(['list', '--archived', '--limit', '1']);
  expect(stderr).toBe('1 of 3 sessions. All of them: teddy list --all --archived\n');
});

test.each([
  [['--older', '30'], '--older goes with --landed'],
  [['--landed', '--older', '30'], '--older cannot be "30"'],
  [['--dry-run'], '--dry-run goes with --landed'],
  [['--landed', '--restore'], '--landed and --restore cannot be combined'],
  [['--landed', '--remote=origin'], '--landed and --remote cannot be combined'],
  [['--landed', 'one'], 'so it cannot be combined with a session'],
])('session archive %j is refused', async (args, message) => {
  expect(await project.refuses('USAGE', 2, ['session', 'archive', ...args])).toContain(message);
});
