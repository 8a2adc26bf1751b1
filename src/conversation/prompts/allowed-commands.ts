/** Commands that the user has allowed for the rest of a session: one exact line, or any line that begins with certain words. */

export interface AllowedCommand {
  kind: 'line' | 'words';
  text: string;
  /** The directory in which it is allowed; null for the root of the project. */
  cwd: string | null;
}

/** The forms in which a command can be allowed. */
export interface Allowable {
  line: AllowedCommand;
  /** Null when the first words say too little about what runs. */
  words: AllowedCommand | null;
}

/** Any of these may make a line several commands or another one: operators, redirections, expansions, control characters. */
const unsafe = /[;&|<>`$(){}]|[^\P{Cc}]/u;
/** A word without quotes, patterns or assignments. */
const plainWord = /^[\w./@][\w./@%:,+-]*$/;
/** These run whatever their arguments say. */
const runners =
  /^(?:sudo|doas|su|env|exec|eval|command|builtin|time|nohup|nice|ionice|setsid|timeout|xargs|parallel|find|fd|rg|watch|ssh|source|\.|npx|pnpx|bunx|uvx|tsx|ts-node|strace|ltrace|stdbuf|script|busybox)$/i;
/** These run a text or a file as a program. */
const interpreters =
  /^(?:\w*sh|node(?:js)?[\d.]*|deno|python[\d.]*|perl[\d.]*|ruby[\d.]*|php[\d.]*|lua(?:jit)?[\d.]*|osascript|[gmn]?awk|g?sed)$/i;
/** With other arguments, these can destroy files, send them away, or run another program. */
const changers =
  /^(?:rm|mv|cp|dd|ln|chmod|chown|tee|tar|curl|wget|scp|rsync|git|docker|podman|kubectl|psql|mysql|sqlite3)$/i;
const packageManagers = /^(?:npm|pnpm|yarn|bun)$/i;
/** These, as the second word, run what the following words say. */
const subRunners = /^(?:run|run-script|exec|x|dlx|eval)$/;

/** Returns null for a command that needs approval each time. */
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
  // Words that an older version remembered but this one no longer makes match nothing.
  const texts = { line: trim(command), words: toFirstWords(words)?.join(' ') };
  return list.some((allowed) => allowed.cwd === cwd && allowed.text === texts[allowed.kind]);
}

/** Returns the words of a line that is one simple command; otherwise null. */
function splitWords(command: string): string[] | null {
  const line = trim(command);
  if (unsafe.test(line)) return null;
  const words = line.split(/ +/);
  return plainWord.test(words[0] ?? '') ? words : null;
}

/** Returns the program and its first argument, with the name of a script; each must be a plain word. */
function toFirstWords([program = '', next = '', script = '']: string[]): string[] | null {
  const name = program.slice(program.lastIndexOf('/') + 1);
  if ([runners, interpreters, changers].some((names) => names.test(name)) || !plainWord.test(next)) return null;
  if (!packageManagers.test(name)) return subRunners.test(next) ? null : [program, next];
  // Every other subcommand can run, fetch or install anything.
  if (next === 'test') return [program, next];
  return next === 'run' && plainWord.test(script) ? [program, next, script] : null;
}

/** Removes line ends around a line; they change nothing. */
function trim(command: string): string {
  return command.replace(/^[ \n]+|[ \n]+$/g, '');
}
