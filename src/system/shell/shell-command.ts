/** How a script is handed to bash or sh, and how bash tells which command of it failed. Plain values in and out. */

export interface ScriptFiles {
  /** Holds the script. */
  script: string;
  /** The trap appends a record for every command that failed. */
  failures: string;
}

export interface Failure {
  command: string;
  line: number;
}

export type Environment = Record<string, string | undefined>;

/** The process reads one line from it before it does anything. Its end without a line means that nobody knows of the process. */
export const gateDescriptor = 3;
const passGate = 'read -r TEDDY_GATE <&3 || exit 125; unset TEDDY_GATE; exec 3<&-';

/**
 * The argument of `bash -c`. The script comes from a file, since one argument is limited to 128 KiB, but by `eval`, so that
 * messages read `bash: line 3:` and show no temporary path; all on one line, so that the script's lines count from 1.
 */
export function renderBashCommand({ script, failures }: ScriptFiles): string {
  return `${passGate}; set -eE; trap -- ${quote(renderTrap(failures))} ERR; eval "$(<${quote(script)})"`;
}

/** The argument of `sh -c`; it has no trap for errors, so it does not tell which command failed. */
export function renderShCommand({ script }: ScriptFiles): string {
  return `${passGate}; set -e; eval "$(cat ${quote(script)})"`;
}

/**
 * Records nesting, line, exit code and command, but only while `set -e` holds: otherwise the script goes on. It reports
 * into a file, not over a descriptor: the script's children cannot write into what they do not know, and the script may
 * use any descriptor. The group's stderr is closed off to keep the trap itself out of the trace of `set -x`.
 */
function renderTrap(failures: string): string {
  const record = `builtin printf '%s\\0' "$BASH_SUBSHELL" "$LINENO" "$?" "$BASH_COMMAND" >>${quote(failures)}`;
  return `{ case $- in *e*) ${record} ;; esac; } 2>/dev/null`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * Finds the command that ended the script in what the trap wrote: the last record, if it comes from the main shell. When
 * that is a whole subshell, `( ... )`, the command inside it says more.
 */
export function parseFailure(text: string): Failure | null {
  const records = parseRecords(text);
  let index = records.length - 1;
  if (records[index]?.depth !== 0) return null;
  for (; index > 0; index -= 1) {
    const [inner, outer] = [records[index - 1], records[index]];
    if (!inner || !outer?.command.startsWith('(') || inner.depth <= outer.depth || inner.code !== outer.code) break;
  }
  const { command, line } = records[index] ?? { command: '', line: 0 };
  return { command: command.trimEnd(), line };
}

function parseRecords(text: string): { depth: number; line: number; code: string; command: string }[] {
  return [...text.matchAll(/(\d+)\0(\d+)\0(\d+)\0([^\0]*)\0/g)].map(([, depth, line, code = '', command = '']) => ({
    depth: Number(depth),
    line: Number(line),
    code,
    command,
  }));
}

/** Keys of models, teddy's own settings, and what would send git to another repository, as inside a hook. */
const withheldVariables = [
  /^(?:OPENAI_.*|ANTHROPIC_API_KEY|TEDDY_.*)$/,
  /^GIT_(?:DIR|COMMON_DIR|WORK_TREE|IMPLICIT_WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES)$/,
  /^GIT_(?:PREFIX|NAMESPACE|GRAFT_FILE|SHALLOW_FILE|REPLACE_REF_BASE|NO_REPLACE_OBJECTS|QUARANTINE_PATH)$/,
];

/** The user's environment without what a script must not see, plus what the caller adds. */
export function toScriptEnvironment(user: Environment, added: Record<string, string>): Environment {
  const kept = Object.entries(user).filter(([key]) => !withheldVariables.some((pattern) => pattern.test(key)));
  return { ...Object.fromEntries(kept), ...added };
}
