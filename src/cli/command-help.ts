/** Renders `--help` of one command: usage, description, options, examples. */
import type { Definition } from 'clipanion';
import { wrap } from './render/cut-to-width.ts';
import type { Style } from './terminal.ts';

/** The placeholder of an option's value, for one command or for all; a value in brackets is optional. */
const valueNames: Record<string, string> = {
  '--message': ' <text>',
  '--onto': ' <branch>',
  '--rev': ' <commit>',
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
  '--html': ' <file>',
  '--dir': ' <directory>',
  '--jsonl': ' <file>',
  '--bundle': ' <file>',
  '--junit': ' <file>',
  '--signed-by': ' <key>',
  '--page': ' <file>',
  '--memos': ' <yes|no>',
  '--only': ' <list>',
  'teddy session diff --only': ' <part>',
  '--skip': ' <list>',
  '--why': ' <path>',
  '--interrupted': ' <choice>',
  'teddy session say --interrupted': '',
  '--reject': '[=reason]',
  '--comment': ' <line:text>',
  '--sha256': ' <hex>',
  '--parent': ' <pid>',
  '--require-approval': '[=whose]',
  '--replan': ' <n>',
  '--resume': ' <id>',
  '--limit': ' <n>',
  '--in': ' <places>',
  '--since': ' <time>',
  '--older': ' <time>',
  '--archive': ' <yyyy-mm>',
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
/** The options without which a command refuses. Clipanion has a way to require one, but then names no reason. */
const requiredOptions: Record<string, string[]> = {
  'teddy write begin': ['--target', '--operation', '--intent'],
  'teddy write stream': ['--target', '--operation'],
};
const width = 80;

/** `style` adds colours; without it, the text is plain. */
export function renderCommandHelp(definition: Definition, style: (style: Style, text: string) => string): string {
  const { path, description = '', details = '', examples = [] } = definition;
  const heading = (text: string) => style('bold', text);
  const lead = `${path}: `;
  const { own, common } = listOptions(definition);
  const rows = [...own, ...common];
  const widest = Math.max(...rows.map(([names]) => names.length));
  return [
    `${style('bold', lead)}${lowerFirst(description.trim())}`,
    '',
    heading('Usage'),
    `  ${withParameters(definition)} [options]`,
    ...(details.trim() === '' ? [] : ['', wrapParagraphs(details)]),
    '',
    heading('Options'),
    ...rows.map(
      ([names, text]) =>
        `  ${names.padEnd(widest)}  ${wrap(text, width - widest - 4).join(`\n${' '.repeat(widest + 4)}`)}`,
    ),
    ...(examples.length === 0 ? [] : ['', heading('Examples')]),
    ...examples.flatMap(([label, command]) => [`  ${style('dim', `# ${label.trim()}`)}`, `  ${command}`]),
    '',
  ].join('\n');
}

/** The command's words, its parameters, and the options that it needs. */
export function withParameters({ path, usage }: Definition): string {
  const required = (requiredOptions[path] ?? []).map((name) => `${name}${valueNameOf(path, name)}`);
  return [path, usage.slice(path.length).trim(), ...required].filter((part) => part !== '').join(' ');
}

function valueNameOf(path: string, option: string): string {
  return valueNames[`${path} ${option}`] ?? valueNames[option] ?? '';
}

type OptionRow = [names: string, text: string];

/** Lists the options of one command, then those that every command has. */
export function listOptions({ path, options }: Definition): { own: OptionRow[]; common: OptionRow[] } {
  const isCommon = ({ definition }: { definition: string }) => /^--(?:json|color)\b/.test(definition);
  const [own, common] = [options.filter((option) => !isCommon(option)), options.filter(isCommon)];
  return {
    own: own.map((row) => toRow(path, row)),
    common: [...common.map((row) => toRow(path, row)), ['-h, --help', 'Show this help.']],
  };
}

/** `-m,--message #0` -> `-m, --message <text>`. */
function toRow(path: string, { definition, description = '' }: Definition['options'][number]): OptionRow {
  const names = (definition.split(' ')[0] ?? '').split(',');
  const long = names.find((name) => name.startsWith('--')) ?? '';
  const short = names.find((name) => !name.startsWith('--')) ?? '   ';
  return [
    `${[short, long].filter((name) => name !== '').join(short === '   ' ? ' ' : ', ')}${valueNameOf(path, long)}`,
    description.trim(),
  ];
}

function wrapParagraphs(text: string): string {
  return text
    .trim()
    .split(/\n{2,}/)
    .map((paragraph) => wrap(paragraph.replace(/\s*\n\s*/g, ' ').trim(), width).join('\n'))
    .join('\n\n');
}

/** `Say what you want.` -> `say what you want`, to follow the command's name. */
function lowerFirst(text: string): string {
  return `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`.replace(/\.$/, '');
}
