/** A command that the user has allowed for the rest of a session: one exact line, or any line with certain first words. */

export interface AllowedCommand {
  kind: 'line' | 'words';
  text: string;
  /** The directory in which the command is allowed; null for the project's root. */
  cwd: string | null;
}

/** The forms in which the user can allow a command. */
export interface Allowable {
  line: AllowedCommand;
  /** Null when the first words reveal too little about what runs. */
  words: AllowedCommand | null;
}

/** Any of these can split a line into several commands or change it: operators, redirections, expansions, controls. */
const unsafe = /[;&|<>`$(){}]|[^\P{Cc}]/u;
/** A word without quotes, patterns or assignments. */
const plainWord = /^[\w./@][\w./@%:,+-]*$/;
/** Programs that run their arguments as a command. */
const runners =
  /^(?:sudo|doas|su|env|exec|eval|command|builtin|time|nohup|nice|ionice|setsid|timeout|xargs|parallel|find|fd|rg|watch|ssh|source|\.|npx|pnpx|bunx|uvx|tsx|ts-node|strace|ltrace|stdbuf|script|busybox)$/i;
/** Programs that run a text or a file as a program. */
const interpreters =
  /^(?:\w*sh|node(?:js)?[\d.]*|deno|python[\d.]*|perl[\d.]*|ruby[\d.]*|php[\d.]*|lua(?:jit)?[\d.]*|osascript|[gmn]?awk|g?sed)$/i;
/** With other arguments, these programs can destroy files, send them elsewhere, or run another program. */
const changers =
  /^(?:rm|mv|cp|dd|ln|chmod|chown|tee|tar|curl|wget|scp|rsync|git|docker|podman|kubectl|psql|mysql|sqlite3)$/i;
const packageManagers = /^(?:npm|pnpm|yarn|bun)$/i;
/** Subcommands that run the words after them when they are the second word. */
const subRunners = /^(?:run|run-script|exec|x|dlx|eval)$/;

/** Returns null for a command that the user must approve each time. */
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
  // Words remembered by an older version that this version would no longer make match nothing.
  const texts = { line: trim(command), words: toFirstWords(words)?.join(' ') };
  return list.some((allowed) => allowed.cwd === cwd && allowed.text === texts[allowed.kind]);
}

/** Returns a line's words if the line is one simple command; otherwise null. */
function splitWords(command: string): string[] | null {
  const line = trim(command);
  if (unsafe.test(line)) return null;
  const words = line.split(/ +/);
  return plainWord.test(words[0] ?? '') ? words : null;
}

/** Returns the program and its first argument, with a script's name; each must be a plain word. */
function toFirstWords([program = '', next = '', script = '']: string[]): string[] | null {
  const name = program.slice(program.lastIndexOf('/') + 1);
  if ([runners, interpreters, changers].some((names) => names.test(name)) || !plainWord.test(next)) return null;
  if (!packageManagers.test(name)) return subRunners.test(next) ? null : [program, next];
  // Every other subcommand can run, fetch or install anything.
  if (next === 'test') return [program, next];
  return next === 'run' && plainWord.test(script) ? [program, next, script] : null;
}

/** Removes line ends around a line, because they have no effect. */
function trim(command: string): string {
  return command.replace(/^[ \n]+|[ \n]+$/g, '');
}
