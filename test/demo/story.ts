/** The demo's story: its steps, and their recorded answers, in this order. */
import type { Step } from './run-step.ts';

/** Files in `fixtures/demo/answers`; each `plan` and `branch` takes the next one. */
export const answers = ['01.md', '02.md', '02-branch-01.md', '03.md', '04.md'];

const messages = {
  first: 'One of the tests fails. Find out why, and fix it.',
  second: 'Say weeks as well.',
  branch: 'Say weeks as well, but let Intl.RelativeTimeFormat write the words.',
  third: 'One day ago should read "yesterday".',
  fourth: 'Read the report, and put it right.',
};

export const beginning: Step[] = [
  {
    say: 'A small project in a git repository. One of its tests fails.',
    line: 'node --test --test-reporter=spec',
    exitCode: 1,
    maxLines: 6,
  },
  {
    say: 'A session is a branch. It starts from where you are, and your files do not change.',
    line: 'teddy new fix-ago',
  },
];

/** `session` is the id made by `teddy new`. */
export function toStory(session: string): Step[] {
  return [
    {
      say: 'The model sees the README and the files that you list. The list is a file that you can edit.',
      line: `printf 'src\\ntest\\n' >> .teddy/sessions/${session}/session.context`,
    },
    {
      say: 'What the model will see next, with the tokens of each file and the line in the list that added it.',
      line: 'teddy context',
    },
    {
      say: 'Say what you want. Your edit, your message and the answer, a plan, each become a commit.',
      line: `teddy plan -m '${messages.first}'`,
    },
    {
      say: 'Run it. -y approves every action; without -y, teddy asks about each. The report and the code change are one commit.',
      line: 'teddy execute -y',
    },
    {
      say: 'The second turn. Its plan also proposes a memo: a fact for all sessions, which you approve separately.',
      line: `teddy plan -m '${messages.second}'`,
      maxLines: 12,
    },
    { say: 'Run it, and take the memo.', line: 'teddy execute -y --memos=yes', maxLines: 8 },
    {
      say: 'Another attempt at turn 02, from the same code and the same context, on its own branch.',
      line: `teddy branch 02 -m '${messages.branch}'`,
      maxLines: 12,
    },
    { say: 'Run that one too.', line: 'teddy execute -y', maxLines: 8 },
    { say: 'The branch continues with turn 03.', line: `teddy plan -m '${messages.third}'`, maxLines: 12 },
    {
      say: 'This time an action fails. The rest is skipped, and the exit code is 1.',
      line: 'teddy execute -y',
      exitCode: 1,
      maxLines: 18,
    },
    {
      say: 'Its report is a file in the commit: pure YAML, for people and for programs.',
      line: `grep -A 14 'index: 3' .teddy/sessions/${session}/03/report.md`,
    },
    {
      say: 'The next request contains that report, so the model knows about it.',
      line: `teddy plan -m '${messages.fourth}'`,
      maxLines: 15,
    },
    { say: 'Run it.', line: 'teddy execute -y', maxLines: 18 },
    { say: 'What teddy knows about all this ...', line: 'teddy list' },
    {
      say: '... is what git knows: one commit for each step. The branch starts where turn 02 began.',
      line: `git log --graph --oneline --branches='teddy/2*' main`,
    },
    {
      say: 'A report commit contains both the outcome and the code change.',
      line: 'git show --stat --format=medium HEAD',
    },
  ];
}
