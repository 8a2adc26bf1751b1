/** Shell completion: the script that a shell loads, and the words that it offers when the user presses Tab. */
import type { RootCommand } from '@bomb.sh/tab';
import { openProject } from '../../app.ts';
import { TeddyError } from '../../errors.ts';
import { readWorkingDirectory, type CliContext } from '../context.ts';
import { describeGroup } from './help.ts';
import { parameter, TeddyCommand, type Terminal, usage } from '../teddy-command.ts';
import { longName, type CommandPage, type Completion } from '../command-page.ts';

const shells = ['bash', 'zsh', 'fish'];

/** Defined in case the bash-completion package, which provides this function, is not installed. */
const bashWords = `declare -F _get_comp_words_by_ref >/dev/null || _get_comp_words_by_ref() {
    cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} words=("\${COMP_WORDS[@]:0:COMP_CWORD+1}") cword=$COMP_CWORD
}
`;

/** Git's completion calls this function for `git teddy`, with the words and the command's position among them. */
const gitWords = `
_git_teddy() {
    words=("\${words[@]:__git_cmd_idx}") cword=$((cword - __git_cmd_idx))
    compopt +o nospace
    __teddy_offer
}
`;

export class CompletionCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Set up',
    description: 'Print a script that lets a shell complete commands, options and session names.',
    details: `
      Shells load the script when they start: put \`source <(teddy completion bash)\` into ~/.bashrc or \`source
      <(teddy completion zsh)\` into ~/.zshrc, or write the output of \`teddy completion fish\` to
      ~/.config/fish/completions/teddy.fish. In bash, \`git teddy\` completes as well.

      Exit codes: 0 done; 2 no such shell.
    `,
    examples: [['In this bash', 'source <($0 completion bash)']],
  });

  shell = parameter('bash|zsh|fish');

  protected async run(terminal: Terminal): Promise<number> {
    const { shell } = this;
    if (!shells.includes(shell))
      throw new TeddyError(
        'USAGE',
        `teddy has no completion script for ${JSON.stringify(shell)}.`,
        'Choose bash, zsh or fish.',
      );
    const { script } = await import('@bomb.sh/tab');
    const text = collectOutput(() => script(shell, 'teddy', 'teddy'));
    // Other programs' scripts declare the same constants, and so does this script when the shell loads it again.
    const loadable = text.replaceAll(/^readonly (ShellComp\w+)=(\d+)$/gm, ': "$${$1:=$2}"');
    terminal.print(shell === 'bash' ? bashWords + passWords(loadable) + gitWords : loadable);
    return 0;
  }
}

/**
 * Passes each word to teddy as an argument, exactly as the user typed it. The tab package's bash script joins the words
 * and lets the shell evaluate them, so that Tab would run the text in `$(...)` and write to the file after a `>`.
 */
function passWords(script: string): string {
  const evaluation = /^ *requestComp="teddy complete -- [^]*?out=\$\(eval "\$requestComp" 2>\/dev\/null\)$/m;
  if (!evaluation.test(script)) throw new Error('The script of @bomb.sh/tab for bash has changed.');
  return script
    .replace(evaluation, () => '    out=$(teddy complete -- "${words[@]:1:cword}" 2>/dev/null)')
    .replace(/^ *_get_comp_words_by_ref .*\n/m, (line) => `${line}    __teddy_offer\n}\n\n__teddy_offer() {\n`)
    .replace('        compopt +o default\n', (line) => `${line}    else\n        compopt -o default\n`);
}

/** Prints the words that may come next, in the script's format. */
export async function completeWords(context: CliContext, pages: CommandPage[]): Promise<number> {
  const { RootCommand } = await import('@bomb.sh/tab');
  const root = new RootCommand();
  const sessions = await listSessionNames(context);
  const long = pages.flatMap((page) =>
    page.group === 'session' ? [{ ...page, path: page.path.replace('teddy', 'teddy session') }] : [],
  );
  const explained = new Set(['all', 'topics', ...[...pages, ...long].map(({ path }) => path.split(' ')[1] ?? '')]);
  let takesFile = false;
  const offered = { sessions, explained, offerFiles: () => void (takesFile = true) };
  for (const page of [...pages, ...long]) describeCommand(root, page, offered);
  const words = context.words.slice(context.words[1] === '--' ? 2 : 1);
  const output = collectOutput(() => root.parse(words));
  // The tab package always reports that no files are offered.
  context.stdout.write(takesFile ? output.replace(/:\d+\n$/, ':0\n') : output);
  return 0;
}

function describeCommand(
  root: RootCommand,
  { path, options, parameters, description }: CommandPage,
  { sessions, explained, offerFiles }: { sessions: string[]; explained: Set<string>; offerFiles: () => void },
): void {
  const name = path.split(' ').slice(1).join(' ');
  // The tab package finds `teddy plan` only if `session` exists.
  const [family = ''] = name.split(' ');
  if (!root.commands.has(family)) root.command(family, describeGroup(family));
  const command = root.command(name, description ?? '');
  const offer = (completes: readonly Completion[]) => (complete: (value: string, description: string) => void) => {
    if (completes.includes('sessions')) for (const session of sessions) complete(session, 'session');
    if (completes.includes('files')) offerFiles();
  };
  for (const spec of options) {
    const long = longName(spec).replace(/^-+/, '');
    const alias = spec.names.length > 1 ? spec.names[0]?.slice(1) : undefined;
    if (spec.value?.startsWith('<')) command.option(long, spec.describe, offer(spec.completes), alias);
    else if (alias === undefined) command.option(long, spec.describe);
    else command.option(long, spec.describe, alias);
  }
  const completes = parameters.flatMap((one) => one.completes);
  if (completes.length > 0)
    command.argument(
      'target',
      offer(completes),
      parameters.some(({ isRest }) => isRest),
    );
  if (name === 'help') command.argument('name', (complete) => explained.forEach((one) => complete(one, 'help')));
  if (name === 'completion')
    command.argument('shell', (complete) => shells.forEach((shell) => complete(shell, 'shell')));
}

/** Returns an empty list outside a repository, so that Tab completes only commands and options. */
async function listSessionNames(context: CliContext): Promise<string[]> {
  try {
    const notices = { info: () => undefined, warn: () => undefined };
    const project = await (context.openProject ?? openProject)({
      cwd: readWorkingDirectory(context),
      env: context.env,
      notices,
    });
    try {
      const { listMainLines } = await import('../../session/lines/main-lines.ts');
      return (await listMainLines(project, { archived: false })).map(({ session }) => session);
    } finally {
      await project.repository.close();
    }
  } catch (error) {
    if (error instanceof TeddyError) return [];
    throw error;
  }
}

/** Captures `console.log`, because the tab package ignores the command's streams. */
function collectOutput(print: () => void): string {
  const lines: string[] = [];
  const { log } = console;
  console.log = (line: string) => void lines.push(`${line}\n`);
  try {
    print();
  } finally {
    console.log = log;
  }
  return lines.join('');
}
