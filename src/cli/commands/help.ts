/** Help for people: the handful of commands to begin with, the commands of a group, and the pages of `docs/`. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findPackage } from '../../app.ts';
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import type { CommandPage } from '../command-page.ts';
import { columnFor, helpWidth, toPhrase, toRow, withParameters } from '../command-help.ts';
import { wrap } from '../render/cut-to-width.ts';
import { openHere, parameters, TeddyCommand, type Terminal, terminalNotices, usage } from '../teddy-command.ts';

/** `teddy --help`: the commands of the first week, by their paths. Everything else is in `teddy help all`. */
const firstCommands = {
  'The core loop': ['new', 'plan', 'execute', 'land'],
  Look: ['status', 'list', 'show', 'view', 'why'],
  'Go on': ['chat', 'undo', 'push'],
  'Set up': ['demo', 'init', 'capture install'],
};

/** The title of each group, and a note printed after its commands. */
const groups: Record<string, { title: string; note?: string }> = {
  session: { title: 'work with a model, turn by turn, on a branch teddy/<session>' },
  memo: {
    title: 'facts that teddy tells every session in this repository',
    note: 'They are in memos.yaml on teddy/global: `teddy global edit memos.yaml` opens it. A plan may propose facts too; teddy asks you about each.',
  },
  global: {
    title: 'files that all sessions share, on the branch teddy/global',
    note: 'The files are global.context, agents/<name>.md (an agent of your own; save it empty to remove it) and memos.yaml.',
  },
  worktree: {
    title: 'linked work trees, for several sessions side by side',
    note: '`teddy new`, `plan` and `execute` create them with --worktree; `teddy list --all` shows where each session is checked out.',
  },
  write: {
    title: 'large files as plain text, checked, and committed once',
    note: '`teddy serve` offers the same to other programs, over HTTP.',
  },
  capture: {
    title: 'sessions of Claude Code, Codex and others, as branches',
    note: "Each agent calls a hook that records the call; teddy then reads the agent's log. Nothing leaves this machine unless you push it.",
  },
  ci: {
    title: 'checks for a build server',
    note: '`teddy help ci.md` shows configuration files for GitHub Actions and other servers.',
  },
  hooks: {
    title: 'git hooks for sessions',
    note: 'They name the session and turn in your own commits, verify pushes, and report where you are in a session. `teddy doctor` reports which are installed.',
  },
};

export class HelpCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Set up',
    description: 'Explain a command, list the commands of a group, or print a page about a topic.',
    details: `
      Without words, it names the commands to begin with. \`all\` lists every command, and \`topics\` lists the pages. If
      a command and a page have the same name, it explains the command, and \`review.md\` names the page. On a terminal, long texts go through the pager.

      Exit codes: 0 done; 2 no such command, group or topic.
    `,
    examples: [
      ['Explain a command', '$0 help plan'],
      ['List the commands that work with a session', '$0 help session'],
      ['Read about plans', '$0 help plans'],
      ['List the pages', '$0 help topics'],
    ],
  });

  words = parameters('command, group or topic');

  protected async run(terminal: Terminal): Promise<number> {
    const text = (await this.context.help?.(this.words, helpWidth(terminal))) ?? '';
    if (this.json) this.printJson(terminal, 'help', { text });
    else if (terminal.isOutputTty) await this.pageAnywhere(terminal, text);
    else terminal.print(text);
    return 0;
  }

  /** Uses the repository's pager if there is a repository, and always shows the text. */
  private async pageAnywhere(terminal: Terminal, text: string): Promise<void> {
    const quiet = { ...terminalNotices(terminal), warn: () => undefined };
    const project: Project | null = await openHere(terminal, quiet, 'always').catch((error: unknown) => {
      if (error instanceof TeddyError) return null;
      throw error;
    });
    await this.page(terminal, project, text);
    await project?.repository.close();
  }
}

interface HelpSource {
  listCommands(): Promise<readonly CommandPage[]>;
  /** The executable; its package contains the pages. */
  main: string;
  width: number;
}

/**
 * Returns the text that `teddy help` prints for the words: for none, the first commands; otherwise every command, the
 * topics, a group or a page. Returns null when there is nothing with this name.
 */
export async function findHelp(words: readonly string[], source: HelpSource): Promise<string | null> {
  const name = words.join(' ');
  if (name === '' || name === 'help') return renderSummary(await source.listCommands(), source.width);
  if (name === 'all') return renderAll(await source.listCommands(), source.width);
  if (name === 'topics') return renderTopics(source);
  return (await findGroupHelp(words, source)) ?? findPage(name, source);
}

/** Returns null when the words do not name a group. */
export async function findGroupHelp(
  words: readonly string[],
  { listCommands, width }: Omit<HelpSource, 'main'>,
): Promise<string | null> {
  const name = words.join(' ');
  const group = Object.hasOwn(groups, name) ? groups[name] : undefined;
  if (group === undefined) return null;
  const pages = (await listCommands()).filter((page) => page.group === name);
  const core = pick(pages, firstCommands['The core loop']);
  const others = pages.filter((page) => !core.includes(page));
  const headingOf = ({ category = '' }: CommandPage) => category.trim();
  const headings = [...new Set(others.map(headingOf))];
  const lists: Lists = headings.map((one) => [one, others.filter((page) => headingOf(page) === one)]);
  if (core.length > 0) lists.unshift(['The core loop', core]);
  return toText(
    wrap(`teddy ${name}: ${group.title}`, width),
    ...renderLists(lists.length > 1 ? lists : [['', pages]], width),
    group.note === undefined ? [] : wrap(group.note, width),
    wrap(`\`teddy help ${name === 'session' ? '' : `${name} `}<command>\` explains a command.`, width),
  );
}

function renderSummary(pages: readonly CommandPage[], width: number): string {
  const names = Object.keys(groups).join(', ');
  const lists = Object.entries(firstCommands).map(([heading, paths]) => [heading, pick(pages, paths)] as const);
  return toText(
    wrap('teddy: work with an AI on a code base, one commit for every step', width),
    ...renderLists(lists, width),
    [
      ...wrap('`teddy help <command>` explains a command, and `teddy help all` lists every command.', width),
      ...wrap(`\`teddy help <group>\` lists a group's commands: ${names}.`, width),
      ...wrap('`teddy help topics` lists pages to read, such as `teddy help tour`.', width),
      ...wrap('Plain git works on everything too, such as `git show` and `git diff`.', width),
    ],
  );
}

function renderAll(pages: readonly CommandPage[], width: number): string {
  const ofGroup = (name: string) => pages.filter(({ group }) => group === name);
  const lists = Object.entries(groups).map(([name, { title }]) => [`${name}: ${title}`, ofGroup(name)] as const);
  return toText(
    wrap('Every command', width),
    ...renderLists([...lists, ['Others', ofGroup('')]], width),
    wrap('`teddy help <command>` explains a command.', width),
  );
}

function pick(pages: readonly CommandPage[], paths: readonly string[]): CommandPage[] {
  return paths.flatMap((path) => pages.find((page) => page.path === `teddy ${path}`) ?? []);
}

/** An empty heading is left out. */
type Lists = (readonly [heading: string, pages: readonly CommandPage[]])[];

/** Renders each list as a block; their texts stand in the same column. */
function renderLists(lists: Readonly<Lists>, width: number): string[][] {
  const column = columnFor(
    lists.flatMap(([, pages]) => pages.map(withParameters)),
    width,
  );
  const toLines = (page: CommandPage) => toRow(withParameters(page), toPhrase(page.description ?? ''), width, column);
  return lists.map(([heading, pages]) => [...(heading === '' ? [] : wrap(heading, width)), ...pages.flatMap(toLines)]);
}

/** Joins blocks of lines with an empty line between them. */
function toText(...blocks: string[][]): string {
  const shown = blocks.filter((lines) => lines.length > 0).map((lines) => lines.join('\n'));
  return `${shown.join('\n\n')}\n`;
}

/** Lists the pages that came with this installation, each with its title and the words that print it. */
async function renderTopics({ listCommands, main, width }: HelpSource): Promise<string> {
  const [pages, known] = await Promise.all([readPages(main), listCommands()]);
  const isTaken = (name: string) => Object.hasOwn(groups, name) || known.some(({ path }) => path === `teddy ${name}`);
  const rows = pages.map(
    ({ name, text }) => [`teddy help ${name}${isTaken(name) ? '.md' : ''}`, /^# (.+)$/m.exec(text)?.[1] ?? ''] as const,
  );
  const column = columnFor(
    rows.map(([words]) => words),
    width,
  );
  return toText(['Pages to read', ...rows.flatMap(([words, title]) => toRow(words, title, width, column))]);
}

/** A page is printed as it is, except that lines of prose fit on a terminal. */
async function findPage(name: string, { main, width }: HelpSource): Promise<string | null> {
  const page = (await readPages(main)).find((one) => one.name === name.replace(/\.md$/, ''));
  return page === undefined ? null : reflow(page.text, width);
}

async function readPages(main: string): Promise<{ name: string; text: string }[]> {
  const directory = join(await findPackage(main), 'docs');
  const names = (await readdir(directory)).filter((name) => name.endsWith('.md')).toSorted();
  return Promise.all(
    names.map(async (name) => ({
      name: name.slice(0, -'.md'.length),
      text: await readFile(join(directory, name), 'utf8'),
    })),
  );
}

/** Wraps paragraphs and items of lists at words. Code, tables and headings stay as they are. */
export function reflow(markdown: string, columns: number): string {
  const blocks: { text: string; isProse: boolean }[] = [];
  let isCode = false;
  for (const line of markdown.split('\n')) {
    const isFence = /^ *```/.test(line);
    const isProse = !isCode && !isFence && /^ *[^\s#|<]/.test(line);
    if (isFence) isCode = !isCode;
    const last = blocks.at(-1);
    if (isProse && last?.isProse === true && !/^ *(?:[-*]|\d+\.) /.test(line)) last.text += ` ${line.trim()}`;
    else blocks.push({ text: line, isProse });
  }
  return blocks.flatMap(({ text, isProse }) => (isProse ? wrapBlock(text, columns) : [text])).join('\n');
}

/** Further lines stand below the item's first word. */
function wrapBlock(text: string, columns: number): string[] {
  const [lead = ''] = /^ *(?:(?:[-*]|\d+\.) +)?/.exec(text) ?? [];
  const lines = wrap(text.slice(lead.length), columns - lead.length);
  return lines.map((line, at) => `${at === 0 ? lead : ' '.repeat(lead.length)}${line}`);
}

/** The first line of a group's help, without the group's name. */
export function describeGroup(name: string): string {
  return groups[name]?.title ?? '';
}
