/** Renders a command's `--help`: usage, description, options, examples. */
import { longName, type CommandPage, type OptionSpec } from './command-page.ts';
import { wrap } from './render/cut-to-width.ts';
import type { Style, Terminal } from './terminal.ts';

/** Returns the width for help: the terminal's, but long lines are hard to read; 80 when the output is not a terminal. */
export function helpWidth({ columns }: Pick<Terminal, 'columns'>): number {
  return Number.isFinite(columns) ? Math.min(Math.max(columns, 60), 100) : 80;
}

/** `style` adds colors; otherwise the text is plain. */
export function renderCommandHelp(
  page: CommandPage,
  style: (style: Style, text: string) => string,
  width: number,
): string {
  const { path, description = '', details = '', examples = [] } = page;
  const heading = (text: string) => style('bold', text);
  const lead = `${path}: `;
  const { own, common } = listOptions(page);
  const rows = [...own, ...common];
  const column = columnFor(
    rows.map(([names]) => names),
    width,
  );
  const toExample = ([label, command]: readonly [string, string]) => [
    ...wrap(`# ${label.trim()}`, width - 2).map((line) => `  ${style('dim', line)}`),
    `  ${command}`,
  ];
  return [
    wrap(`${lead}${toPhrase(description)}`, width)
      .join('\n')
      .replace(lead, style('bold', lead)),
    '',
    heading('Usage'),
    ...toRow(`${withParameters(page)} [options]`, '', width, column),
    ...(details.trim() === '' ? [] : ['', wrapParagraphs(details, width)]),
    '',
    heading('Options'),
    ...rows.flatMap(([names, text]) => toRow(names, text, width, column)),
    ...(examples.length === 0 ? [] : ['', heading('Examples')]),
    ...examples.flatMap(toExample),
    '',
  ].join('\n');
}

/** Returns the column for the texts of a list: half of a narrow terminal is left for them. Longer names stand above. */
export function columnFor(names: readonly string[], width: number): number {
  const most = Math.min(36, Math.floor(width / 2));
  return Math.max(20, ...names.map((name) => name.length + 4).filter((column) => column <= most));
}

/** Returns the lines of a row of two columns, both wrapped at words. A long name has its text below it. */
export function toRow(name: string, text: string, width: number, column: number): string[] {
  const texts = text === '' ? [] : wrap(text, width - column);
  const isShort = name.length <= column - 4;
  const names = name.length + 2 <= width ? [name] : wrap(name, width - 6);
  const shown = names.map((line, at) => `${at === 0 ? '  ' : '      '}${line}`);
  const rest = texts.slice(isShort ? 1 : 0).map((line) => `${' '.repeat(column)}${line}`);
  return isShort ? [`${(shown[0] ?? '').padEnd(column)}${texts[0] ?? ''}`.trimEnd(), ...rest] : [...shown, ...rest];
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
  return { own: own.map(toOptionRow), common: [...common.map(toOptionRow), ['-h, --help', 'Show this help.']] };
}

/** Returns a row such as `-m, --message <text>`, with long names aligned. */
function toOptionRow(spec: OptionSpec): OptionRow {
  const { names, value, describe } = spec;
  const shown = names[0]?.startsWith('--') === true ? `    ${names[0]}` : names.join(', ');
  return [`${shown}${value === null ? '' : value.startsWith('[') ? value : ` ${value}`}`, describe];
}

function wrapParagraphs(text: string, width: number): string {
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
