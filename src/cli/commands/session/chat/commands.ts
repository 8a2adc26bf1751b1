/** Reads what the user types at the prompt of a conversation: a message, or a command that begins with a slash. */
import { TeddyError } from '../../../../errors.ts';
import { nearestName } from '../../../../session/text/name-some.ts';

const commands = {
  plan: { takes: '[text]', does: 'ask for a plan; without text, for the open message' },
  execute: { takes: '', does: 'run the plan; asks before each action' },
  retry: { takes: '', does: 'ask again when there is no answer yet' },
  branch: { takes: '<turn> [text]', does: 'try again from an earlier turn, on another branch' },
  history: { takes: '', does: 'read the conversation so far' },
  model: { takes: '[name]', does: 'show the model, or switch to another one' },
  agent: { takes: '[name]', does: 'show the agent, or switch to another one' },
  add: { takes: '<path> ...', does: 'also show the model these files' },
  drop: { takes: '<path> ...', does: 'no longer show the model these files' },
  context: { takes: '', does: 'list the files that the model will see next' },
  cost: { takes: '', does: 'count tokens and money' },
  diff: { takes: '[turn] [turn]', does: 'show what a turn changed in the code' },
  allowed: { takes: '[drop <n>]', does: 'list the allowed commands, or revoke one' },
  undo: { takes: '[turn]', does: "undo a turn's code changes" },
  help: { takes: '', does: 'this help' },
  quit: { takes: '', does: 'leave; Ctrl-D does too' },
} as const;

export type ChatCommandName = keyof typeof commands;

const names = Object.keys(commands) as ChatCommandName[];

/** Names that many other programs use. */
const otherNames: Record<string, ChatCommandName> = { exit: 'quit', '?': 'help' };

export type ChatInput =
  { kind: 'nothing' } | { kind: 'message'; text: string } | { kind: 'command'; name: ChatCommandName; rest: string };

/** Throws USAGE for an unknown command, or for arguments that a command does not take. */
export function parseChatInput(typed: string): ChatInput {
  if (typed.trim() === '') return { kind: 'nothing' };
  const line = typed.trimStart();
  if (!line.startsWith('/')) return { kind: 'message', text: typed };
  if (line.startsWith('//')) return { kind: 'message', text: line.slice(1) };
  const [, word = '', rest = ''] = /^\/(\S*)\s*([^]*)$/.exec(line) ?? [];
  const name =
    names.find((known) => known === word) ?? (Object.hasOwn(otherNames, word) ? otherNames[word] : undefined);
  if (name === undefined) throw toUnknown(word);
  requireFitting(name, rest.trim());
  return { kind: 'command', name, rest: rest.trim() };
}

/** Quotes a text so that teddy reads it as a message, even when it begins with a slash. */
export function quoteSlash(text: string): string {
  return text.trimStart().startsWith('/') ? `/${text.trimStart()}` : text;
}

function requireFitting(name: ChatCommandName, rest: string): void {
  const { takes } = commands[name];
  if (takes === '' && rest !== '') throw new TeddyError('USAGE', `/${name} takes no arguments.`, toSendingHint(name));
  if (takes.startsWith('<') && rest === '')
    throw new TeddyError('USAGE', `/${name} needs an argument: \`/${name} ${takes}\`.`, '/help lists the commands.');
}

function toUnknown(word: string): TeddyError {
  const nearest = nearestName(word, names);
  const meant = nearest === null ? '' : `Is it /${nearest}? `;
  return new TeddyError('USAGE', `There is no command /${word}.`, `${meant}${toSendingHint(word)}`);
}

function toSendingHint(word: string): string {
  return `/help lists the commands; //${word} sends the line as a message that begins with a slash.`;
}

/** Splits `02 Use a library` into the turn and the message. */
export function splitTurn(rest: string): { turn: string; message: string | undefined } {
  const [, turn = '', message = ''] = /^(\S+)\s*([^]*)$/.exec(rest) ?? [];
  return { turn, message: message === '' ? undefined : message };
}

export function renderChatHelp(): string {
  const rows = names.map((name) => {
    const { takes, does } = commands[name];
    return [`/${name}${takes === '' ? '' : ` ${takes}`}`, does] as const;
  });
  const ways = [
    ['//text', 'a message that begins with a slash'],
    ['line\\', 'continue the message on the next line'],
    ['"""', 'several lines, until one ends with three quotes'],
  ] as const;
  const all = [...rows, ...ways];
  const widest = Math.max(...all.map(([what]) => what.length));
  return [...all.map(([what, does]) => `  ${what.padEnd(widest)}  ${does}`), '', stops].join('\n');
}

const stops = 'Ctrl-C stops an answer and keeps what has arrived; at an empty prompt, it quits.';

/** Splits paths at spaces; quotes keep a path that contains spaces together. */
export function splitPaths(rest: string): string[] {
  return [...rest.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain ?? '',
  );
}

/**
 * Completes the last word of a line: returns the possible words and the word itself. Completes a command at the
 * beginning, and a path after /add and /drop, after `@`, and when the word has a slash or a dot.
 */
export function completeInput(line: string, paths: readonly string[]): [completions: string[], word: string] {
  if (/^\/\w*$/.test(line)) return [names.map((name) => `/${name} `).filter((name) => name.startsWith(line)), line];
  const word = /\S*$/.exec(line)?.[0] ?? '';
  const mark = word.startsWith('@') ? '@' : '';
  const prefix = word.slice(mark.length);
  if (mark === '' && !/[/.]/.test(word) && !/^\/(?:add|drop)\s/.test(line)) return [[], word];
  const next = paths
    .filter((path) => path.startsWith(prefix) && !/\s/.test(path))
    .map((path) => path.slice(0, path.indexOf('/', prefix.length) + 1) || path);
  return [[...new Set(next)].map((path) => `${mark}${path}`), word];
}
