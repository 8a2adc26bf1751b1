/** Renders a command's `--help`: usage, description, options, examples. */
import { longName, type CommandPage, type OptionSpec } from './command-page.ts';
import { wrap } from './render/cut-to-width.ts';
import type { Style } from './terminal.ts';

const width = 80;

/** `style` adds colors; otherwise the text is plain. */
export function renderCommandHelp(page: CommandPage, style: (style: Style, text: string) => string): string {
  const { path, description = '', details = '', examples = [] } = page;
  const heading = (text: string) => style('bold', text);
  const lead = `${path}: `;
  const { own, common } = listOptions(page);
  const rows = [...own, ...common];
  const widest = Math.max(...rows.map(([names]) => names.length));
  return [
    `${style('bold', lead)}${toPhrase(description)}`,
    '',
    heading('Usage'),
    `  ${withParameters(page)} [options]`,
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

/** Returns the command's words, its parameters, and its required options. */
export function withParameters({ path, parameters, options }: CommandPage): string {
  const words = parameters.map(({ name, isOptional, isRest }) => {
    const dots = isRest ? ' ...' : '';
    return isOptional ? `[${name}${dots}]` : `<${name}>${dots}`;
  });
  const required = options.filter((one) => one.required).map((one) => `${longName(one)} ${one.value}`);
  return [path, ...words, ...required].join(' ');
}

type OptionRow = [names: string, text: string];

/** Returns the command's own options, and the options that every command has. */
export function listOptions({ options }: CommandPage): { own: OptionRow[]; common: OptionRow[] } {
  const isCommon = (one: OptionSpec) => /^--(?:json|color)$/.test(longName(one));
  const [own, common] = [options.filter((one) => !isCommon(one)), options.filter(isCommon)];
  return { own: own.map(toRow), common: [...common.map(toRow), ['-h, --help', 'Show this help.']] };
}

/** Returns a row such as `-m, --message <text>`, with long names aligned. */
function toRow(spec: OptionSpec): OptionRow {
  const { names, value, describe } = spec;
  const shown = names[0]?.startsWith('--') === true ? `    ${names[0]}` : names.join(', ');
  return [`${shown}${value === null ? '' : value.startsWith('[') ? value : ` ${value}`}`, describe];
}

function wrapParagraphs(text: string): string {
  return text
    .trim()
    .split(/\n{2,}/)
    .map((paragraph) => wrap(paragraph.replace(/\s*\n\s*/g, ' ').trim(), width).join('\n'))
    .join('\n\n');
}

/** Turns `Say what you want.` into `say what you want`, so that it can follow the command's name. */
export function toPhrase(text: string): string {
  const line = text.trim().replaceAll(/\s*\n\s*/g, ' ');
  return `${line.slice(0, 1).toLowerCase()}${line.slice(1)}`.replace(/\.$/, '');
}
