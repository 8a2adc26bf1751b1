/** A review of many turns reads only the turns that it shows, and for the others their commits' labels, in one walk. */
import { expect } from 'vitest';
import { renderReview } from '../../../src/cli/render/review.ts';
import type { Store } from '../../../src/ports/git.ts';
import type { Project } from '../../../src/ports/project.ts';
import { readStatus } from '../../../src/workflow/review/read-status.ts';
import { openReview, reviewSession } from '../../../src/workflow/review/session.ts';
import { undoTurn } from '../../../src/workflow/turn/undo.ts';
import { given } from '../../support/given.ts';
import { scriptedModel } from '../../support/scripted-model.ts';
import { create, say, turn } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

/** The characters are escaped one by one: sixteen turns fill a review. */
const longText = '_'.repeat(2_500);
/** More than the number read ahead. */
const count = 34;

slowTest(
  'twice as many turns need the same object reads, except in the walk, and everything is counted',
  async () => {
    const project = await given.session();
    await turn(project, 'Make it', create('one.txt', 'new\n'));
    await turn(project, 'Make another', create('two.txt', 'new\n'));
    await undoTurn(project, {});
    await sayMany(project, count - 2);
    const small = await printCounted(project);
    await sayMany(project, count);
    const large = await printCounted(project);

    expect(large.read).toEqual(small.read);
    expect(small.read['streamBlob']).toBeGreaterThan(10);
    expect(large.walked - small.walked).toBe(2 * count);
    expect(large.text).toContain(`${2 * count} turns on `);
    expect(large.text).toContain('2 plans were run; 1 file changed, +1 -0; 660 tokens in, 132 out');
    expect(large.text).toContain('| 01 | Make it | Do it | SUCCESS |');
    expect(large.text).toContain('| 02 | Make another | Do it | SUCCESS, undone |');
    expect(large.text).toMatch(/The details of turns 01 to 5\d are omitted for length\. .* `teddy show 5\d -s /);
    expect(large.text.length).toBeLessThan(65_536);
  },
  60_000,
);

test('the rows made from labels equal those made from the turns themselves', async () => {
  const project = await given.session();
  await turn(project, 'Make it', create('one.txt', 'new\n'));
  await undoTurn(project, {});
  await say(project, 'Tell me', 'Words.');
  await say(project, 'Nobody answers', null);
  const { turns } = await openReview(project, undefined);
  const whole = (await reviewSession(project, undefined)).turns;
  const rowsOf = (of: typeof turns | typeof whole) =>
    of.map(({ turn: name, title, planTitle, isAnswered, outcome, undoneBy }) => [
      name,
      title,
      planTitle,
      isAnswered,
      outcome,
      undoneBy !== null,
    ]);
  expect(rowsOf(turns)).toEqual(rowsOf(whole));
  expect(rowsOf(turns)).toEqual([
    ['01', 'Make it', 'Do it', true, 'SUCCESS', true],
    ['02', 'Tell me', null, true, null, false],
    ['03', 'Nobody answers', null, false, null, false],
  ]);
});

test('a status walks no line whose start is known', async () => {
  const project = await given.session();
  await sayMany(project, 2);
  await readStatus(project);
  const short = await countReads(project, readStatus);
  await sayMany(project, 3);
  await readStatus(project);
  const long = await countReads(project, readStatus);
  expect(long.read).toEqual(short.read);
  expect(long.value.turn?.turn).toBe('05');
});

async function sayMany(project: Project, times: number): Promise<void> {
  for (let at = 0; at < times; at += 1)
    await say(project, longText, scriptedModel({ texts: ['Words.'], usage: { inputTokens: 10, outputTokens: 2 } }));
}

/** `walked`: the commits in the walk. */
async function printCounted(project: Project): Promise<{ text: string; read: Record<string, number>; walked: number }> {
  const print = async (counted: Project) => renderReview(await openReview(counted, undefined));
  const { value: text, read } = await countReads(project, print);
  const { firstParentsOf: walked = 0, ...others } = read;
  return { text, read: others, walked };
}

/** `read`: how often each of the store's methods was called, and how many items its generators returned. */
async function countReads<T>(
  project: Project,
  run: (counted: Project) => Promise<T>,
): Promise<{ value: T; read: Record<string, number> }> {
  const read: Record<string, number> = {};
  const add = (name: string) => (read[name] = (read[name] ?? 0) + 1);
  const store = new Proxy(project.repository.store, {
    get(of, name: keyof Store & string) {
      const method = of[name] as unknown;
      if (typeof method !== 'function') return method;
      return (...args: unknown[]) => {
        add(name);
        const told: unknown = Reflect.apply(method, of, args);
        return isTold(told) ? countTold(told, () => add(name)) : told;
      };
    },
  });
  const counted = { ...project, repository: { ...project.repository, store } };
  return { value: await run(counted), read };
}

function isTold(told: unknown): told is AsyncIterable<unknown> {
  return typeof told === 'object' && told !== null && Symbol.asyncIterator in told;
}

async function* countTold(told: AsyncIterable<unknown>, add: () => void): AsyncGenerator<unknown> {
  for await (const one of told) {
    add();
    yield one;
  }
}
