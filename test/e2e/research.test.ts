/** The user's search command, and scripts that ask for input that nobody gives. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  executeAction,
  openTeddyProject,
  planOf,
  type ShownReport,
  type TeddyProject,
} from '../support/teddy-project.ts';

let project: TeddyProject;
beforeAll(async () => {
  project = await openTeddyProject();
  await project.begin('look-it-up');
});
afterAll(() => project.close());

const inputNote =
  'The command seems to wait for input. It has none here: use options such as --yes, or pipe the input in.';

async function execute(...actions: string[]): Promise<ShownReport & { said: string }> {
  await project.plan(planOf(...actions));
  const { stderr } = await project.run(['session', 'execute', '-y']);
  return { ...(await project.report()), said: stderr };
}

test('a query reaches the search command as one argument, whatever stands in it', async () => {
  const search = join(project.repo.root, '.git', 'search.sh');
  await writeFile(search, 'printf "%s args, last: %s\\n" "$#" "$2"\n');
  await project.repo.git('config', 'teddy.searchCommand', `sh '${search}' --json`);
  const queries = ['node streams', '$(touch a.txt); `touch b.txt` "c" \'d\' *'];
  const { action_logs, said } = await execute(`### RESEARCH\n\n\`\`\`\n${queries.join('\n')}\n\`\`\`\n`);
  expect(action_logs[0]?.details).toEqual({
    searches: queries.map((query) => ({ query, return_code: 0, result: `2 args, last: ${query}\n` })),
  });
  expect(said).toContain('2 args, last: node streams');
  expect(await project.repo.list('.')).not.toContain('a.txt');
  expect(await project.repo.list('.')).not.toContain('b.txt');
});

test.each([
  ['a `read`', executeAction('read answer'), 1],
  ['a question', executeAction("printf 'Continue? [y/N] '; sleep 9", 'Timeout: 1'), 124],
])('a script that fails at %s says that it seems to wait for input', async (_, action, code) => {
  const { action_logs, said } = await execute(action);
  expect(action_logs[0]).toMatchObject({ status: 'FAILURE', details: { return_code: code, note: inputNote } });
  expect(said).toContain(inputNote);
});

test.each([
  ['whole lines', "echo 'Is it there?'; exit 3"],
  ['an unfinished line that is no question', "printf 'working...'; exit 3"],
  ['a `read` from a file', 'printf x >.git/x; read answer <.git/x'],
])('a script that fails with %s is not taken for one that waits', async (_, script) => {
  const { action_logs } = await execute(executeAction(script));
  expect(action_logs[0]?.status).toBe('FAILURE');
  expect(action_logs[0]?.details).not.toHaveProperty('note');
});
