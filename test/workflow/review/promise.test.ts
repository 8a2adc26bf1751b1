/** `show` and `review` compare a plan with what its turn did, for teddy's own turns and for a captured one. */
import { expect, test } from 'vitest';
import type { Oid, SessionId, TurnName } from '../../../src/names.ts';
import { listLines } from '../../../src/session/lines/lines.ts';
import { readSession, readTurn, type Step } from '../../../src/view/view.ts';
import { advance, openFollower, settle } from '../../../src/workflow/capture/follow-log.ts';
import { reviewSession } from '../../../src/workflow/review/session.ts';
import { comparePromise } from '../../../src/workflow/review/turn.ts';
import { showTurn } from '../../../src/workflow/review/show-turn.ts';
import { claudePlans } from '../../support/agent-plan-fixtures.ts';
import { given } from '../../support/given.ts';
import { memoryCapture } from '../../support/memory-agent-logs.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { command, create, planOf, say } from '../../support/turns.ts';

/** The verdict on the newest turn with a result, which `show` and `review` agree on. */
async function look(project: MemoryProject, turn?: string) {
  const { promise } = await showTurn(project, { turn });
  const { turns } = await reviewSession(project, undefined);
  expect((turn === undefined ? turns.at(-1) : turns.find((one) => one.turn === turn))?.promise).toEqual(promise);
  return promise && [promise.verdict, ...promise.paths.map(({ path, state }) => `${path} ${state}`)];
}

test('a run is compared with its plan, and a plan that waits with nothing', async () => {
  const project = await given.session();
  project.command.run = async () => {
    await project.write({ 'other.txt': 'other\n' });
    return {};
  };
  await say(project, 'Wait', planOf([create('a.txt')]));
  expect(await look(project)).toBeNull();
  const done = await given.executedTurns({ One: [create('a.txt'), command('make')] });
  expect(await look(done)).toEqual(['kept', 'a.txt kept']);
});

test('an agent’s plan in prose is compared with what its turn changed since the message', async () => {
  const project = await memoryProject();
  const capture = memoryCapture('claude-code');
  const path = '/home/ada/logs/s1.jsonl';
  const lines = claudePlans('2.1.330').map(
    (one) => `${JSON.stringify(one).replaceAll('the route.', '`routes.ts`.')}\n`,
  );
  capture.files.set(path, lines.join(''));
  const options = { cwd: null, isOurs: async () => true, isLeftOut: () => false };
  const follower = await openFollower(project, capture, { agent: 'claude-code', path }, options);
  await advance(follower);
  await settle(follower);
  const { store } = project.repository;
  const [line] = (await listLines(project)).filter(({ session }) => session.includes('login'));
  const session = await readSession(store, { session: line?.session as SessionId, tip: line?.oid as Oid });
  const turn = await readTurn(store, session, '01' as TurnName);
  const { steps } = turn;
  expect(steps.map(({ entry }) => entry?.kind)).toEqual(['message', 'exchange', 'plan', 'exchange', 'exchange']);
  const [start] = session.steps;
  const change = (name: string) =>
    [{ path: name, change: 'added', before: null, after: 'f'.repeat(40), oldMode: null, mode: '100644' }] as never;
  const compare = (names: Record<string, string>) =>
    comparePromise({ ...turn, steps: [start as Step, ...steps] }, null, (commit) =>
      names[commit] === undefined ? [] : change(names[commit]),
    );
  const [first, last] = [start?.commit ?? '', steps.at(-1)?.commit ?? ''];
  expect(compare({ [first]: 'mine.txt' })).toBeNull();
  expect(compare({ [first]: 'mine.txt', [last]: 'routes.ts' })).toMatchObject({ verdict: 'kept', isProse: true });
  expect(compare({ [last]: 'more.ts' })?.paths).toEqual([{ path: 'more.ts', state: 'beyond', action: null }]);
});
