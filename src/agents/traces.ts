/**
 * Finds traces that show that an AI agent has started a command: a variable that the agent sets for its tools, or the
 * agent's program among the command's ancestors. An editor's terminal belongs to a person, so variables that an editor
 * sets for its terminal do not count. This stops an agent that takes the easiest way, but it is not a security
 * boundary; `docs/security.md` describes the boundaries.
 */

import type { AgentTrace, RunningProcess } from '../ports/project.ts';
import { agents } from './agents.ts';
import type { ProgramTraces } from './agent.ts';

interface KnownProgram extends ProgramTraces {
  /** The name that people use. */
  title: string;
}

/** Agents that teddy recognizes but does not capture. */
const others: readonly KnownProgram[] = [
  {
    title: "Cursor's agent",
    version: null,
    variables: ['CURSOR_AGENT', 'CURSOR_EXTENSION_HOST_ROLE=agent-exec'],
    programs: ['cursor-agent'],
    scripts: ['/cursor-agent/versions/'],
  },
  {
    title: 'Amp',
    version: null,
    variables: ['AMP_CURRENT_THREAD_ID', 'AGENT=amp'],
    programs: ['amp'],
    scripts: ['/node_modules/@sourcegraph/amp/', '/node_modules/@ampcode/cli/'],
  },
  { title: 'Goose', version: null, variables: ['GOOSE_TERMINAL', 'AGENT=goose'], programs: ['goose', 'goosed'] },
  { title: 'aider', version: null, variables: [], programs: ['aider'] },
  { title: 'Crush', version: null, variables: ['CRUSH', 'AGENT=crush'], programs: ['crush'] },
  {
    title: 'Auggie',
    version: null,
    variables: ['AUGMENT_AGENT'],
    programs: ['auggie'],
    scripts: ['/node_modules/@augmentcode/auggie/'],
  },
  {
    title: 'Cline',
    version: null,
    variables: ['CLINE_ACTIVE'],
    programs: ['cline'],
    scripts: ['/node_modules/cline/'],
  },
  { title: 'Droid', version: null, variables: [], programs: ['droid'] },
  // A convention of several agents; each sets its own value.
  { title: 'an AI agent', version: null, variables: ['AI_AGENT'], programs: [] },
];

export const knownPrograms: readonly KnownProgram[] = [
  ...Object.values(agents).map(({ title, traces }) => ({ title, ...traces })),
  ...others,
];

/** `started` lists the processes that started this one, the nearest first. A process is stronger evidence than a variable. */
export function findAgentTrace(
  environment: Readonly<Record<string, string | undefined>>,
  started: readonly RunningProcess[],
): AgentTrace | null {
  // A person started the outermost process.
  for (const { pid, name, words } of started.toReversed()) {
    const found = knownPrograms.find((known) => isProgramOf(known, name, words));
    if (found !== undefined) return { seen: `${found.title} started this: process ${pid} is its program.`, pid };
  }
  for (const { title, variables } of knownPrograms) {
    const variable = variables.find((one) => isSet(environment, one));
    if (variable !== undefined) return { seen: `${title} started this: ${variable} is set.`, pid: null };
  }
  return null;
}

function isSet(environment: Readonly<Record<string, string | undefined>>, variable: string): boolean {
  const [name = '', wanted] = variable.split('=');
  const value = environment[name] ?? '';
  return wanted === undefined ? value !== '' : value === wanted;
}

const shells = /^(?:sh|bash|dash|ash|zsh|ksh|fish)$/;
const interpreters = /^(?:node(?:js)?|bun|deno|python[\d.]*|pypy[\d.]*|ruby)$/;
/** Options that take the next word as their value. */
const optionsWithValue = /^(?:-r|--require|--import|--loader|-C|--conditions|-W|-X|[-+]o|[-+]O)$/;

/**
 * Returns true if the process runs the program. A process may also have a title that the program gave itself, which is
 * one word with spaces in it.
 */
function isProgramOf({ programs, scripts = [] }: ProgramTraces, name: string, words: readonly string[]): boolean {
  const [first = '', ...others] = words;
  const program = toProgram(first);
  if ([name, program, toProgram(first.split(' ')[0] ?? '')].some((one) => programs.includes(one))) return true;
  const isShell = shells.test(program);
  const script = isShell || interpreters.test(program) ? findScript(others, isShell) : null;
  return script !== null && (programs.includes(toProgram(script)) || scripts.some((one) => script.includes(one)));
}

/**
 * Returns the script or the module that an interpreter runs; null when the interpreter reads the code from stdin or
 * receives it as an argument.
 */
function findScript(words: readonly string[], isShell: boolean): string | null {
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (!isShell && word === '-m') return words[at + 1] ?? null;
    if ((isShell ? /^-[a-zA-Z]*c$/ : /^(?:-c|-e|--eval|-p|--print|-)$/).test(word)) return null;
    if (optionsWithValue.test(word)) at += 1;
    else if (!word.startsWith('-') && !(word === 'run' && !isShell)) return word;
  }
  return null;
}

/** The name of a login shell begins with a hyphen. */
function toProgram(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1).replace(/^-/, '');
  return name.replace(/\.(?:exe|[cm]?js|ts|py|sh)$/, '');
}
