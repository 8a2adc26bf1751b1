/** Commands that the user has allowed for the rest of a session: a line exactly, or any that begins with certain words. */

export interface AllowedCommand {
  kind: 'line' | 'words';
  text: string;
  /** The directory that it holds in; null for the root of the project. */
  cwd: string | null;
}

/** What a command can be allowed as. */
export interface Allowable {
  line: AllowedCommand;
  /** Null where the first words say too little about what runs. */
  words: AllowedCommand | null;
}

/** One of these makes more than one command of a line, or another one: operators, redirections, expansions, control characters. */
const unsafe = /[;&|<>`$(){}]|[^\P{Cc}]/u;
/** A word without quotes, patterns or assignments. */
const plainWord = /^[\w./@][\w./@%:,+-]*$/;
const plainOption = /^--?\w[\w-]*$/;
/** These run what their arguments say. */
const runners =
  /^(?:.*\/)?(?:sudo|doas|su|env|exec|eval|command|builtin|time|nohup|nice|timeout|xargs|find|watch|ssh|source|\.)$/;
/** With an option, these may run a text as a program. */
const interpreters = /^(?:.*\/)?(?:\w*sh|node|deno|bun|python[\d.]*|perl|ruby|php|awk|sed|git)$/;

/** Null for a command that is asked about each time. */
export function toAllowable(command: string, cwd: string | null): Allowable | null {
  const words = splitWords(command);
  if (words === null) return null;
  const first = toFirstWords(words);
  return {
    line: { kind: 'line', text: trim(command), cwd },
    words: first === null ? null : { kind: 'words', text: first.join(' '), cwd },
  };
}

export function isAllowed(list: readonly AllowedCommand[], command: string, cwd: string | null): boolean {
  const words = splitWords(command);
  if (words === null) return false;
  return list.some((allowed) => {
    if (allowed.cwd !== cwd) return false;
    if (allowed.kind === 'line') return allowed.text === trim(command);
    return allowed.text.split(' ').every((word, at) => word === words[at]);
  });
}

/** The words of a line that is one simple command; else null. */
function splitWords(command: string): string[] | null {
  const line = trim(command);
  if (unsafe.test(line)) return null;
  const words = line.split(/ +/);
  return plainWord.test(words[0] ?? '') ? words : null;
}

/** The program, and its first argument where that is a plain word or option. */
function toFirstWords([program = '', next = '']: string[]): string[] | null {
  if (runners.test(program)) return null;
  if (plainWord.test(next)) return [program, next];
  if (interpreters.test(program)) return null;
  return plainOption.test(next) ? [program, next] : [program];
}

/** Line ends around a line change nothing. */
function trim(command: string): string {
  return command.replace(/^[ \n]+|[ \n]+$/g, '');
}
