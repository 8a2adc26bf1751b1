/** Passes a script to bash or sh, and reads how bash reports which of its commands failed. Works with plain values only. */

export interface ScriptFiles {
  /** The file that contains the script. */
  script: string;
  /** The file to which the trap appends a record for every failed command. */
  failures: string;
}

export interface Failure {
  command: string;
  line: number;
}

export type Environment = Record<string, string | undefined>;

/** The process first reads one line from this descriptor. If the input ends without a line, the process was never recorded. */
export const gateDescriptor = 3;
const passGate = 'read -r TEDDY_GATE <&3 || exit 125; unset TEDDY_GATE; exec 3<&-';

/**
 * The argument of `bash -c`. The script comes from a file, because one argument is limited to 128 KiB, but runs through
 * `eval`, so that messages read `bash: line 3:` and show no temporary path. The whole argument is one line, so that the
 * script's lines count from 1.
 */
export function renderBashCommand({ script, failures }: ScriptFiles): string {
  return `${passGate}; set -eE; trap -- ${quote(renderTrap(failures))} ERR; eval "$(<${quote(script)})"`;
}

/** The argument of `sh -c`. It has no trap for errors, so it does not report which command failed. */
export function renderShCommand({ script }: ScriptFiles): string {
  return `${passGate}; set -e; eval "$(cat ${quote(script)})"`;
}

/**
 * Records nesting, line, exit code and command, but only while `set -e` is in effect; otherwise the script continues.
 * Writes to a file instead of a descriptor: the script's children cannot write to a file whose name they do not have,
 * and the script may use any descriptor. The group's stderr is closed to keep the trap itself out of the trace of `set
 * -x`.
 */
function renderTrap(failures: string): string {
  const record = `builtin printf '%s\\0' "$BASH_SUBSHELL" "$LINENO" "$?" "$BASH_COMMAND" >>${quote(failures)}`;
  return `{ case $- in *e*) ${record} ;; esac; } 2>/dev/null`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * Finds the command that ended the script in the trap's records: the last record, if it comes from the main shell. If
 * the command is a whole subshell, `( ... )`, the failed command inside it is more informative.
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

/** API keys, teddy's own settings, and variables that would point git to another repository, as inside a hook. */
const withheldVariables = [
  /^(?:OPENAI_.*|ANTHROPIC_API_KEY|TEDDY_.*)$/,
  /^GIT_(?:DIR|COMMON_DIR|WORK_TREE|IMPLICIT_WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES)$/,
  /^GIT_(?:PREFIX|NAMESPACE|GRAFT_FILE|SHALLOW_FILE|REPLACE_REF_BASE|NO_REPLACE_OBJECTS|QUARANTINE_PATH)$/,
];

/** Returns the user's environment without the variables that a script must not see, plus the variables that the caller adds. */
export function toScriptEnvironment(user: Environment, added: Record<string, string>): Environment {
  const kept = Object.entries(user).filter(([key]) => !withheldVariables.some((pattern) => pattern.test(key)));
  return { ...Object.fromEntries(kept), ...added };
}
