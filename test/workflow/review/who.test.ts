/** The people that a review names as having answered, decided and worked on the line. */
import { beforeEach, expect, test } from 'vitest';
import { answerByHand } from '../../../src/app.ts';
import { renderReview } from '../../../src/cli/render/review.ts';
import { openReview, reviewSession } from '../../../src/workflow/review/session.ts';
import { giveVerdict } from '../../../src/workflow/run/give-verdict.ts';
import { captureTurns } from '../../support/captured-line.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { scriptedModel } from '../../support/scripted-model.ts';
import { approver, create, planOf, run, say, start } from '../../support/turns.ts';

let project: MemoryProject;
beforeEach(async () => {
  project = await memoryProject();
});

const as = (name: string) =>
  (project.identity.text = `${name} Example <${name.toLowerCase()}@example.org> 1769248800 +0000`);
const person = (name: string) => ({ name: `${name} Example`, email: `${name.toLowerCase()}@example.org` });
const plan = (model: string, ...paths: string[]) =>
  say(project, 'Do it', {
    ...scriptedModel(planOf(paths.map((path) => create(path)))),
    provider: 'openai',
    model,
  });
const read = async () => renderReview(await openReview(project, undefined));

test('the review and its JSON have models with providers, approvers, rejections, and who worked on the line', async () => {
  await start(project);
  await plan('gpt-5', 'one.txt', 'two.txt');
  as('Bob');
  await giveVerdict(project, { verdict: 'approved', text: 'Fine.', comments: [] });
  as('Ada');
  await run(project, { approver: approver(['yes', 'yes']) });
  await project.write({ 'README.md': 'mine\n' });
  await plan('o3', 'three.txt');
  await run(project);
  as('Eve');
  await project.commit('By hand\n', { 'eve.txt': 'eve\n' });
  as('Ada');
  await plan('gpt-5', 'four.txt');
  await run(project, { approver: approver(['no']) });
  await plan('gpt-5', 'five.txt');
  as('Bob');
  await giveVerdict(project, { verdict: 'rejected', text: 'Smaller.', comments: [] });
  as('Ada');
  await say(project, 'Do it', null, { choice: answerByHand(planOf([create('six.txt')])) });
  await run(project, { reject: 'Not this.' });

  const review = await reviewSession(project, undefined);
  expect(review.models).toEqual([
    { model: 'gpt-5', provider: 'openai', agent: null, answers: 3 },
    { model: 'o3', provider: 'openai', agent: null, answers: 1 },
    { model: 'manual', provider: 'manual', agent: null, answers: 1 },
  ]);
  expect(review.approvers).toEqual([
    { ...person('Bob'), approved: ['01'], byFlag: [], rejected: ['04'] },
    { ...person('Ada'), approved: ['01'], byFlag: ['02'], rejected: ['03', '05'] },
  ]);
  expect(review.people).toEqual([
    { ...person('Ada'), snapshots: 1, commits: 0 },
    { ...person('Eve'), snapshots: 0, commits: 1 },
  ]);
  const last = review.turns.map(({ commits }) => commits.at(-1));
  expect(review.turns.map(({ decisions }) => decisions)).toEqual([
    [{ decision: 'approved', by: 'user', author: person('Ada'), actions: [1, 2], commit: last[0] }],
    [{ decision: 'approved', by: 'flag', author: person('Ada'), actions: [1], commit: last[1] }],
    [{ decision: 'rejected', by: 'user', author: person('Ada'), actions: [], commit: last[2] }],
    [],
    [{ decision: 'rejected', by: 'user', author: person('Ada'), actions: [], commit: last[4] }],
  ]);
  const text = await read();
  expect(text).toContain(
    [
      '- Models: `gpt-5` (openai), 3 answers; `o3` (openai), 1 answer; `manual`, 1 answer',
      '- Approved: Bob Example (turn 01); Ada Example (turn 01)',
      '- Approved by flag (`-y`): Ada Example (turn 02)',
      '- Rejected: Bob Example (turn 04); Ada Example (turns 03, 05)',
      '- Own work on the line: Ada Example (1 snapshot); Eve Example (1 commit)',
    ].join('\n'),
  );
  expect(text).toContain('Approved by Bob Example: Fine.\n\nApproved by Ada Example, one by one: 2 actions.');
  expect(text).toContain('Approved by flag (`-y`): 1 action, run by Ada Example.');
  expect(text.match(/Rejected by Bob Example: Smaller\./g)).toHaveLength(1);
  expect(text.match(/Rejected by Ada Example\./g)).toHaveLength(2);
  expect(text).toContain('`o3` (openai); commits');
});

test('another agent’s session names it beside its models, and its snapshots are not somebody else’s work', async () => {
  const { session } = await captureTurns(project, 'claude-code', [
    { model: 'opus', files: { 'a.txt': 'a\n' } },
    { model: 'haiku' },
    { model: null },
  ]);
  const review = await reviewSession(project, session);
  expect(review.models).toEqual([
    { model: 'opus', provider: 'somebody', agent: 'claude-code', answers: 1 },
    { model: 'haiku', provider: 'somebody', agent: 'claude-code', answers: 1 },
  ]);
  expect(review).toMatchObject({ approvers: [], people: [] });
  const text = await renderReview(await openReview(project, session));
  expect(text).toContain(
    '- Models: `opus` (somebody, for claude-code), 1 answer; `haiku` (somebody, for claude-code), 1 answer\n\n| turn |',
  );
});

test('an agent whose log names no model is named all the same', async () => {
  const { session } = await captureTurns(project, 'pi', [{ model: null, files: { 'a.txt': 'a\n' } }]);
  const text = await renderReview(await openReview(project, session));
  expect(text).toContain('- Models: `unknown` (for pi), 1 answer\n');
});

test('names of people and models stay text, and if turns are left out, the number of turns covered is given', async () => {
  await start(project);
  as('@eve');
  for (let count = 0; count < 3; count += 1) {
    await plan('<b>`gpt`', 'a.txt', `${count}.txt`);
    await run(project);
  }
  const long = async function* (): AsyncGenerator<never> {};
  const opened = await openReview(project, undefined);
  const text = await renderReview(opened);
  expect(text).toContain('- Models: `` <b>`gpt` `` (openai), 3 answers\n');
  expect(text).toContain('- Approved by flag (`-y`): @&#8203;eve Example (turns 01 to 03)\n');
  expect(await renderReview({ ...opened, readTurns: long })).not.toContain('Approved');
  const newest = async function* () {
    for await (const turn of opened.readTurns()) return void (yield turn);
  };
  expect(await renderReview({ ...opened, readTurns: newest })).toContain(
    '- Approved by flag (`-y`), of the newest 1 turn: @&#8203;eve Example (turn 03)\n',
  );
});
