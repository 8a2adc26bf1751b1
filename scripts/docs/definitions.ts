/** Returns the commands, in the groups that the pages show. */
import { listOptions, withParameters } from '../../src/cli/command-help.ts';
import type { CommandPage as Described } from '../../src/cli/command-page.ts';
import { listCommands } from '../../src/cli/run-cli.ts';

export interface CommandPage {
  /** The command with its parameters: `teddy show [turn]`. */
  usage: string;
  group: string;
  summary: string;
  paragraphs: string[];
  options: [names: string, text: string][];
  examples: [label: string, command: string][];
}

const definitions = await listCommands();

/** The order of the groups: the core loop first. A group that is not listed here is last. */
const groupOrder = [
  'Start',
  'Talk',
  'Go on',
  'Land',
  'Put away',
  'Look',
  'Elsewhere',
  'Memos',
  'Shared by all sessions',
  'Work trees',
];

export function readCommands(): CommandPage[] {
  const pages = definitions.map(toPage);
  const place = ({ group }: CommandPage) =>
    groupOrder.includes(group) ? groupOrder.indexOf(group) : groupOrder.length;
  // Sorting is stable, so within a group the commands keep the order in which they are registered.
  return pages.toSorted((a, b) => place(a) - place(b));
}

/** The options that every command has. */
export function readCommonOptions(): [names: string, text: string][] {
  const [first] = definitions;
  return first === undefined ? [] : listOptions(first).common;
}

function toPage(definition: Described): CommandPage {
  const { category = '', description = '', details = '', examples = [] } = definition;
  return {
    usage: withParameters(definition),
    group: category.trim(),
    summary: unwrap(description),
    paragraphs: details
      .trim()
      .split(/\n{2,}/)
      .map(unwrap)
      .filter((paragraph) => paragraph !== ''),
    options: listOptions(definition).own,
    examples: examples.map(([label, command]) => [label.trim(), command.trim()]),
  };
}

/** clipanion breaks lines at 80 columns. */
function unwrap(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, ' ');
}
