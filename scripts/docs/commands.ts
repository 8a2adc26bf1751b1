/** Generates `docs/commands.md`: every command, its options, details and examples. */
import { readCommands, readCommonOptions, type CommandPage } from './definitions.ts';
import { code, generated, renderTable } from './table.ts';

const everyCommand = 'Results go to stdout, everything else to stderr';

const choosing = `## Which session a command acts on

\`-s\` takes a session's id, the name after its date, a unique part of either, a branch, or a session's directory. Without \`-s\`, a
command acts on the line that HEAD is on.

A *line* is a branch, whatever its name, whose nearest entry along its first parents belongs to a session. A session branch that you
renamed is a line, and so is a branch that you created with \`git checkout -b\`, or one with your own commits on top. The default branch
is never a line, and neither is the branch that the session started from.

If HEAD is not on a line, the command uses your newest open session (a local branch that has not landed in its current state) and prints
its name first. On a terminal, a command that changes the line asks you before it continues.

If HEAD is detached at an older entry, you see the session as of that entry. To add anything, create a branch first.

## Other forms

\`teddy session <command>\` is the long form of a command that acts on a session: \`teddy session land\` is \`teddy land\`. You can also
type \`ls\` for \`list\`, \`st\` for \`status\`, and \`run\` for \`execute\`.

\`git teddy\` is the same as \`teddy\`. To get help with \`git teddy\`, use \`-h\`, because git reserves \`--help\` for manual pages.
`;

export function renderCommands(): string {
  const commands = readCommands();
  const common = readCommonOptions();
  const rows = [
    ...commands.map(({ usage, summary, options }) => [code(usage), summary.replace(/\.$/, ''), listNames(options)]),
    ['every command', everyCommand, listNames(common)],
  ];
  const groups = [...new Set(commands.map(({ group }) => group))];
  return [
    `# Commands\n\n${generated}`,
    renderTable(['command', 'what it does', 'options'], rows),
    choosing,
    ...groups.map((group) => renderGroup(group, commands)),
  ].join('\n');
}

function listNames(options: [names: string, text: string][]): string {
  return options.map(([names]) => code(names.trim())).join(' ');
}

function renderGroup(group: string, commands: CommandPage[]): string {
  return [`## ${group}\n`, ...commands.filter((command) => command.group === group).map(renderCommand)].join('\n');
}

function renderCommand({ usage, summary, paragraphs, options, examples }: CommandPage): string {
  const shown = examples.map(([label, command]) => `# ${label}\n${command}`).join('\n');
  return [
    `### ${code(usage)}\n`,
    `${summary}\n`,
    ...paragraphs.map((paragraph) => `${escapeTags(paragraph)}\n`),
    ...(options.length === 0 ? [] : [renderTable(['option', 'meaning'], options.map(toOptionRow))]),
    ...(examples.length === 0 ? [] : [`\`\`\`sh\n${shown}\n\`\`\`\n`]),
  ].join('\n');
}

function toOptionRow([names, text]: [string, string]): string[] {
  return [code(names.trim()), escapeTags(text)];
}

/** Outside code, Markdown takes `<date>` for a tag and omits it. */
function escapeTags(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? part : part.replaceAll('<', '\\<')))
    .join('');
}
