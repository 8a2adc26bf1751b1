/** Rewrites the usage errors of clipanion, whose own words name neither what was given nor what is missing. */
import type { Definition } from 'clipanion';
import { TeddyError } from '../errors.ts';
import { shortForms } from './arguments.ts';
import { nearestName } from '../session/nearest-name.ts';

/** `command` is the one that the words name, if any. `paths` has every command, such as `teddy session plan`. */
export function toUsageError(
  error: unknown,
  words: readonly string[],
  { command, paths }: { command: Definition | undefined; paths: readonly string[] },
): unknown {
  if (!(error instanceof Error) || !['UsageError', 'UnknownSyntaxError', 'AmbiguousSyntaxError'].includes(error.name))
    return error;
  if (command === undefined) return toUnknownCommand(words, paths);
  const { message, advice } = describeMisuse(error, command);
  return new TeddyError('USAGE', message, `${advice}See what it takes: \`${command.path} --help\`.`);
}

export function toUnknownCommand([first = '', second = '']: readonly string[], paths: readonly string[]): TeddyError {
  const isFamily = paths.some((path) => path.startsWith(`teddy ${first} `));
  const family = isFamily ? `teddy ${first}` : 'teddy';
  const word = isFamily ? second : first;
  const isOption = word.startsWith('-');
  const meant = isOption ? null : findMeant(family, word, paths);
  return new TeddyError(
    'USAGE',
    isOption ? `There is no option ${word}.` : `There is no command \`${family} ${word}\`.`,
    `${meant === null ? '' : `Is it \`${meant}\`? `}See what there is: \`${family} --help\`.`,
  );
}

/** `teddy undo` means `teddy session undo`, `teddy lst` means `teddy list`, and `teddy session exec` means `teddy session execute`. */
function findMeant(family: string, word: string, paths: readonly string[]): string | null {
  const elsewhere = paths.filter((path) => path.endsWith(` ${word}`));
  if (elsewhere.length === 1) return elsewhere[0] ?? null;
  const inside = paths.filter((path) => path.startsWith(`${family} `));
  const ownNames = inside.map((path) => path.slice(family.length + 1).split(' ')[0] ?? '');
  const names = [...new Set([...ownNames, ...(family === 'teddy' ? shortForms : [])])];
  const begun = names.filter((name) => name.startsWith(word));
  const name = begun.length === 1 ? begun[0] : nearestName(word, names);
  return name ? `${family} ${name}` : null;
}

interface Misuse {
  message: string;
  /** Ends with a space, or is empty. */
  advice: string;
}

function describeMisuse(error: Error, { path, usage }: Definition): Misuse {
  const candidates = 'candidates' in error ? (error.candidates as { reason: string | null }[]) : [];
  const reason = candidates.find((candidate) => candidate.reason !== null)?.reason ?? error.message;
  const named = /\("(.*?)"(?:, .*)?\)/s.exec(reason)?.[1] ?? '';
  const takesText = /<|\[/.test(usage.slice(path.length));
  if (/(?:Unsupported|Invalid) option name/.test(reason)) {
    return takesText && !/^--?[a-z]/i.test(named)
      ? { message: `\`${path}\` reads ${JSON.stringify(named)} as an option.`, advice: 'Put -- before it. ' }
      : {
          message: describeOption(reason, path, named.replace(/=.*/s, '')),
          advice: adviseOption(named, usage),
        };
  }
  if (reason.includes('Extraneous positional argument')) {
    const advice = takesText ? 'Text with spaces goes in quotes. ' : '';
    return { message: `\`${path}\` does not take ${JSON.stringify(named)}.`, advice };
  }
  if (reason.includes('Not enough positional arguments'))
    return { message: `Something is missing: \`${usage}\`.`, advice: '' };
  const bare = /Not enough arguments to option (\S+?)\.?\s*$/m.exec(reason)?.[1];
  const message = bare === undefined ? `\`${path}\` does not understand its arguments.` : `${bare} needs a value.`;
  return { message, advice: '' };
}

function describeOption(reason: string, path: string, option: string): string {
  const value = reason.includes('Invalid option name') ? ' that takes a value' : '';
  return `\`${path}\` has no option ${option}${value}.`;
}

function adviseOption(named: string, usage: string): string {
  if (named.startsWith('-L') && usage.includes('[:line')) return 'Lines stand behind the file: FILE:3-5. ';
  return /^--remote\b/.test(named) && usage.includes('[remote]')
    ? 'Give the remote as a word of its own: `origin`. '
    : '';
}
