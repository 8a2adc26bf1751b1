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
    say: 'A session is a branch. It starts from where you are, and no file of yours changes.',
    line: 'teddy session new fix-ago',
  },
];

/** `session` is the id made by `session new`. */
export function toStory(session: string): Step[] {
  return [
    {
      say: 'The model is shown the README and what you list. The list is a file, and it is yours to edit.',
      line: `printf 'src\\ntest\\n' >> .teddy/sessions/${session}/session.context`,
    },
    {
      say: 'What the next turn will show, the tokens of each file, and the line that put it there.',
      line: 'teddy session context',
    },
    {
      say: 'Say what you want. Your edit becomes a commit of yours, the message one more, and so does the answer: a plan.',
      line: `teddy session plan -m '${messages.first}'`,
    },
    {
      say: 'Run it. -y approves every action; without it you are asked one by one. Report and code change are one commit.',
      line: 'teddy session execute -y',
    },
    {
      say: 'The second turn. Its plan also proposes a memo: a fact for all sessions, which needs a yes of its own.',
      line: `teddy session plan -m '${messages.second}'`,
      maxLines: 12,
    },
    { say: 'Run it, and take the memo.', line: 'teddy session execute -y --memos=yes', maxLines: 8 },
    {
      say: 'Another attempt at turn 02, from the same code and the same context, on a branch of its own.',
      line: `teddy session branch 02 -m '${messages.branch}'`,
      maxLines: 12,
    },
    { say: 'Run that one too.', line: 'teddy session execute -y', maxLines: 8 },
    { say: 'The branch goes on with turn 03.', line: `teddy session plan -m '${messages.third}'`, maxLines: 12 },
    {
      say: 'This time an action fails. The rest is skipped, and the exit code is 1.',
      line: 'teddy session execute -y',
      exitCode: 1,
      maxLines: 18,
    },
    {
      say: 'Its report is a file in the commit: pure YAML, for people and for programs.',
      line: `grep -A 14 'index: 3' .teddy/sessions/${session}/03/report.md`,
    },
    {
      say: 'The next request carries that report, so that the model knows.',
      line: `teddy session plan -m '${messages.fourth}'`,
      maxLines: 15,
    },
    { say: 'Run it.', line: 'teddy session execute -y', maxLines: 18 },
    { say: 'What teddy knows about all this ...', line: 'teddy session list' },
    {
      say: '... is what git knows. One commit a step; the branch leaves where turn 02 began.',
      line: `git log --graph --oneline --branches='teddy/2*' main`,
    },
    {
      say: 'A report commit is the outcome and the code change together.',
      line: 'git show --stat --format=medium HEAD',
    },
  ];
}
