/** What `--help` of one command prints: usage, what it does, options, examples. */
import type { Definition } from 'clipanion';
import type { Style } from './terminal.ts';

/** How an option's value is shown, for one command or for all; one in brackets may be left out. */
const valueNames: Record<string, string> = {
  '--message': ' <text>',
  '--onto': ' <branch>',
  '--session': ' <session>',
  '--agent': ' <name>',
  '--model': ' <name>',
  '--provider': ' <name>',
  '--recording': ' <path>',
  '--from': ' <file>',
  'teddy session history --from': ' <turn>',
  'teddy session new --from': ' <branch>',
  '--remote': '[=name]',
  '--format': ' <name>',
  '--name': ' <name>',
  '--dir': ' <directory>',
  '--md': ' <file>',
  '--jsonl': ' <file>',
  '--bundle': ' <file>',
  '--junit': ' <file>',
  '--signed-by': ' <key>',
  '--memos': ' <yes|no>',
  '--only': ' <list>',
  'teddy session diff --only': ' <part>',
  '--skip': ' <list>',
  '--why': ' <path>',
  '--interrupted': ' <choice>',
  'teddy session say --interrupted': '',
  '--reject': '[=reason]',
  '--replan': ' <n>',
  '--resume': ' <id>',
  '--port': ' <n>',
  '--role': ' <name>',
  '--id': ' <id>',
  '--target': ' <file>',
  '--operation': ' <name>',
  '--intent': ' <text>',
  '--offset': ' <bytes>',
  '--content': ' <file>',
  '--output': ' <file>',
  '--server': ' <url>',
  '--color': '[=when]',
};
const width = 80;

/** `style` decides about colours; the text is plain without it. */
export function renderCommandHelp(definition: Definition, style: (style: Style, text: string) => string): string {
  const { path, usage, description = '', details = '', examples = [], options } = definition;
  const heading = (text: string) => style('bold', text);
  const lead = `${path}: `;
  const parameters = usage.slice(path.length).trim();
  const isCommon = ({ definition }: { definition: string }) => /^--(?:json|color)\b/.test(definition);
  const own = options.filter((option) => !isCommon(option));
  const rows = [...own, ...options.filter(isCommon)]
    .map((row) => toRow(path, row))
    .concat([['-h, --help', 'Show this help.']]);
  const widest = Math.max(...rows.map(([names]) => names.length));
  return [
    `${style('bold', lead)}${lowerFirst(description.trim())}`,
    '',
    heading('Usage'),
    `  ${[path, parameters, '[options]'].filter((part) => part !== '').join(' ')}`,
    ...(details.trim() === '' ? [] : ['', wrapParagraphs(details)]),
    '',
    heading('Options'),
    ...rows.map(([names, text]) => `  ${names.padEnd(widest)}  ${wrap(text, width - widest - 4, widest + 4)}`),
    ...(examples.length === 0 ? [] : ['', heading('Examples')]),
    ...examples.flatMap(([label, command]) => [`  ${style('dim', `# ${label.trim()}`)}`, `  ${command}`]),
    '',
  ].join('\n');
}

/** `-m,--message #0` -> `-m, --message <text>`. */
function toRow(path: string, { definition, description = '' }: Definition['options'][number]): [string, string] {
  const names = (definition.split(' ')[0] ?? '').split(',');
  const long = names.find((name) => name.startsWith('--')) ?? '';
  const short = names.find((name) => !name.startsWith('--'));
  return [
    `${short === undefined ? '    ' : `${short}, `}${long}${valueNames[`${path} ${long}`] ?? valueNames[long] ?? ''}`,
    description.trim(),
  ];
}

function wrapParagraphs(text: string): string {
  return text
    .trim()
    .split(/\n{2,}/)
    .map((paragraph) => wrap(paragraph.replace(/\s*\n\s*/g, ' ').trim(), width, 0))
    .join('\n\n');
}

function wrap(text: string, columns: number, indent: number): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= columns) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.join(`\n${' '.repeat(indent)}`);
}

/** `Say what you want.` -> `say what you want`, as it stands after the command's name. */
function lowerFirst(text: string): string {
  return `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`.replace(/\.$/, '');
}
