/** Each `Next:` line works as printed, also where its line is not the one of this work tree. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;

beforeEach(async () => {
  project = await openTeddyProject();
});

afterEach(() => project.close());

const lastLine = (text: string) => text.trimEnd().split('\n').at(-1);

/** Returns the last line that it says. */
async function say(session: string | null, answer: string): Promise<string | undefined> {
  const args = ['session', 'plan', '-m', 'Do it', '--from', '-', ...(session === null ? [] : ['-s', session])];
  return lastLine((await project.run(args, { stdin: answer })).stderr);
}

test('a line that is executed in another work tree is named, and so is the branch of a rewind there', async () => {
  const { repo } = project;
  const session = await project.begin('main-one', '--no-switch');
  const line = `teddy/${session}`;
  await repo.git('worktree', 'add', '--quiet', join(repo.root, '.git/linked'), line);
  const next = `Next: teddy plan -s ${session} -m "..."`;
  expect(await say(line, createPlan('a.txt', 'a\n'))).toBe(`Next: teddy execute -s ${session}`);
  const rejected = await project.run(['session', 'execute', '--reject', '-s', line]);
  expect(lastLine(rejected.stderr)).toBe(next);
  await say(line, createPlan('c.txt', 'c\n'));
  const resumed = await project.run(['session', 'resume', '-y', '-s', line]);
  expect(lastLine(resumed.stderr)).toBe(next);
  const rewound = await project.run(['session', 'rewind', '01', '-s', line]);
  expect(lastLine(rewound.stderr)).toContain(`Next: teddy plan -s ${line}--02-branch-01 -m "..."`);
});

test('a bare clone is told of what can be done in it', async () => {
  const { repo } = project;
  const session = await project.begin('bare');
  await say(null, createPlan('a.txt', 'a\n'));
  const bare = join(repo.root, 'bare.git');
  await repo.git('clone', '--quiet', '--bare', repo.root, bare);
  const { stderr } = await project.run(['session', 'execute', '--dry-run', '-s', session], { cwd: bare });
  expect(stderr).toContain('[NOT_ON_LINE]');
  expect(stderr).toContain(`teddy execute -s teddy/${session} --worktree`);
  expect(stderr).not.toContain('git switch');
  const status = await project.run(['status'], { cwd: bare });
  expect(status.stdout).toContain(`A bare repository. The newest open session is ${session}.`);
  expect(status.stdout).toContain(`Next: teddy resume teddy/${session} --worktree`);
  const gone = await project.run(['resume', session], { cwd: bare });
  expect(gone.stderr).toContain(`\`teddy resume teddy/${session} --worktree\``);
  const undone = await project.run(['session', 'undo', '-s', session], { cwd: bare });
  expect(undone.stderr).toContain(`git worktree add <directory> teddy/${session}`);
});
