/** Help for words that are not a command by themselves: `teddy --help`, and each group, such as `teddy session`. */
import type { CommandPage } from '../command-page.ts';
import { toPhrase, withParameters } from '../command-help.ts';
import { wrap } from '../render/cut-to-width.ts';

const coreLoopRows = `teddy: work with an AI on a code base, one commit for every step

The core loop
  teddy new <name>                  start a session and switch to its branch
  teddy plan -m <message>           say what you want; the answer is a plan
  teddy execute                     run the plan; asks before each action
  teddy land                        commit its code to the branch it began on
  teddy status                      show where you are, and what to do next;
                                    \`teddy\` alone does the same
  teddy why <file>:<line>           show who asked for this line, and why
  teddy blame <file>                show the same for all lines of a file
`;

/** The title of each group, and a note printed after its commands. */
const groups: Record<string, { title: string; note?: string }> = {
  session: { title: 'work with a model, turn by turn, on a branch teddy/<session>' },
  memo: {
    title: 'facts that teddy tells every session in this repository',
    note: `They are in memos.yaml on teddy/global: \`teddy global edit memos.yaml\` opens it.
A plan may propose facts too; teddy asks you about each.`,
  },
  global: {
    title: 'files that all sessions share, on the branch teddy/global',
    note: `The files are global.context, agents/<name>.md (an agent of your own; save it
empty to remove it) and memos.yaml.`,
  },
  worktree: {
    title: 'linked work trees, for several sessions side by side',
    note: `\`teddy new\`, \`plan\` and \`execute\` create them with --worktree;
\`teddy list --all\` shows where each session is checked out.`,
  },
  write: {
    title: 'large files as plain text, checked, and committed once',
    note: '`teddy serve` offers the same to other programs, over HTTP.',
  },
  capture: {
    title: 'sessions of Claude Code, Codex and others, as branches',
    note: `Each agent calls a hook that records the call; teddy then reads the agent's log.
Nothing leaves this machine unless you push it.`,
  },
  ci: {
    title: 'checks for a build server',
    note: 'See docs/ci.md for configuration files for GitHub Actions and other servers.',
  },
  hooks: {
    title: 'git hooks for sessions',
    note: `They name the session and turn in your own commits, verify pushes, and report
where you are in a session. \`teddy doctor\` reports which are installed.`,
  },
};

const coreLoop = ['new', 'plan', 'execute', 'land'].map((name) => `teddy ${name}`);
const [column, width] = [36, 80];

/** Returns null when the words name neither teddy itself nor a group. Calls `listCommands` to get a group's commands. */
export async function findGroupHelp(
  words: readonly string[],
  listCommands: () => Promise<readonly CommandPage[]>,
): Promise<string | null> {
  const name = words.join(' ');
  if (name === '' || name === 'help') return renderSummary(await listCommands());
  const group = Object.hasOwn(groups, name) ? groups[name] : undefined;
  if (group === undefined) return null;
  const pages = (await listCommands()).filter((page) => page.group === name);
  const core = coreLoop.flatMap((path) => pages.find((page) => page.path === path) ?? []);
  const others = pages.filter((page) => !core.includes(page));
  const headingOf = ({ category = '' }: CommandPage) => category.trim();
  const categories = [...new Set(others.map(headingOf))];
  const parts = categories.map((one) => [one, others.filter((page) => headingOf(page) === one)] as const);
  const all = core.length === 0 ? parts : ([['The core loop', core], ...parts] as const);
  return [
    `teddy ${name}: ${group.title}\n`,
    ...all.flatMap(([heading, rows]) => [...(all.length > 1 ? [heading] : []), ...rows.map(renderRow)]),
    ...(group.note === undefined ? [] : [`\n${group.note}`]),
    `\n\`teddy ${name} <command> --help\` explains a command.\n`,
  ].join('\n');
}

/** Renders `teddy --help`: the core loop, the groups with their commands' names, and all other commands. */
export function renderSummary(pages: readonly CommandPage[]): string {
  const toGroup = ([name, { title }]: [string, { title: string }]) => {
    const words = pages.flatMap(({ path, group }) =>
      group === name ? [path.split(' ')[name === 'session' ? 1 : 2] ?? ''] : [],
    );
    return toRow(`teddy ${name} ...`, `${title}: ${[...new Set(words)].join(', ')}`);
  };
  const isOther = ({ path, group }: CommandPage) => group === '' && !coreLoopRows.includes(`\n  ${path} `);
  return [
    coreLoopRows,
    'Groups',
    ...Object.entries(groups).map(toGroup),
    '\nOthers',
    ...pages.filter(isOther).map(renderRow),
    '\n`teddy <group> --help` lists the commands of a group,',
    '`teddy <command> --help` explains one. Plain git works on everything too:',
    'git log teddy/<session>, git show, git diff.\n',
  ].join('\n');
}

function renderRow(page: CommandPage): string {
  return toRow(withParameters(page), toPhrase(page.description ?? ''));
}

function toRow(usage: string, description: string): string {
  const text = wrap(description, width - column).join(`\n${' '.repeat(column)}`);
  return usage.length < column - 3
    ? `  ${usage.padEnd(column - 2)}${text}`
    : `  ${usage}\n${' '.repeat(column)}${text}`;
}

/** The first line of a group's help, without the group's name. */
export function describeGroup(name: string): string {
  return groups[name]?.title ?? '';
}
