/** A question about a pending plan: it is answered in the plan's turn, and the plan stays as it is. */
import { afterEach, describe, expect, test } from 'vitest';
import type { ServerAnswer } from '../support/model-server.ts';
import { createPlan, openBegun, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;

afterEach(() => project.close());

const plan = createPlan('a.txt', 'a\n');
const usage = { prompt_tokens: 100, completion_tokens: 10 };
const answer = { text: 'Since b.txt is taken.', usage };

async function open(...answers: ServerAnswer[]): Promise<string> {
  const begun = await openBegun('asked', { answers: [{ text: plan, usage }, ...answers] });
  ({ project } = begun);
  const { session } = begun;
  await project.ok('session', 'plan', '-m', 'Make a file');
  return session;
}

describe('a question about the pending plan', () => {
  test('leaves an approval as good as it was, also that of who asks', async () => {
    await open(answer, answer);
    await project.repo.git('config', 'teddy.approvals', 'others');
    const somebody = { GIT_AUTHOR_EMAIL: 'b@example.org', GIT_COMMITTER_EMAIL: 'b@example.org' };
    await project.run(['ask', 'Why?'], { env: somebody });
    const given = await project.run(['approve'], { env: somebody });
    expect(given.stderr).toContain('Next: teddy execute');
    await project.ok('ask', 'And?');
    await project.ok('session', 'execute', '-y');
    await project.ok('session', 'verify', '--require-approval=others');
  });
});
