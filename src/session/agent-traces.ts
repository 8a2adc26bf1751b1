/**
 * Tells by its traces whether an AI agent has started a command: a variable that the agent sets for its tools, or the program of
 * the agent among those above the command. The terminal of an editor is a person's, so nothing that an editor sets for its
 * terminal is here. This helps against an agent that takes the nearest way. It is no boundary: `docs/security.md` says what is one.
 */

/** A process of the machine. */
export interface RunningProcess {
  pid: number;
  /** A name of at most 15 characters, or empty. */
  name: string;
  words: readonly string[];
}

export interface AgentTrace {
  /** A sentence: `Claude Code has started this: CLAUDECODE is set.` */
  seen: string;
  /** The process of the agent, where that was seen. */
  pid: number | null;
}

interface KnownAgent {
  agent: string;
  /** The version that was looked at; null: its own code was not, and others tell of it. */
  version: string | null;
  /** `NAME` with any value but an empty one, or `NAME=value`. */
  variables: readonly string[];
  /** Names of its program, as they are in a command. */
  programs: readonly string[];
  /** Pieces of the paths of its scripts, which an interpreter runs. */
  scripts?: readonly string[];
}

export const knownAgents: readonly KnownAgent[] = [
  {
    agent: 'Claude Code',
    version: '2.1.330',
    variables: ['CLAUDECODE', 'CLAUDE_CODE_ENTRYPOINT', 'CLAUDE_CODE_SESSION_ID', 'CLAUDE_CODE_CHILD_SESSION'],
    programs: ['claude'],
    scripts: ['/node_modules/@anthropic-ai/claude-code/', '/node_modules/@anthropic-ai/claude-agent-sdk/'],
  },
  {
    agent: 'Codex',
    version: '0.169.0',
    variables: ['CODEX_SANDBOX', 'CODEX_SANDBOX_NETWORK_DISABLED', 'CODEX_CI', 'CODEX_THREAD_ID', 'CODEX_SESSION_ID'],
    programs: ['codex', 'codex-exec', 'codex-linux-sandbox'],
    scripts: ['/node_modules/@openai/codex/'],
  },
  {
    agent: 'Gemini CLI',
    version: '0.61.0',
    variables: ['GEMINI_CLI'],
    programs: ['gemini'],
    scripts: ['/node_modules/@google/gemini-cli/'],
  },
  {
    agent: 'Qwen Code',
    version: '0.15.10',
    variables: ['QWEN_CODE'],
    programs: ['qwen'],
    scripts: ['/node_modules/@qwen-code/qwen-code/'],
  },
  {
    agent: 'opencode',
    version: '1.18.33',
    variables: ['OPENCODE', 'OPENCODE_PID'],
    programs: ['opencode'],
    scripts: ['/node_modules/opencode-ai/'],
  },
  {
    agent: 'pi',
    version: '0.73.1',
    variables: ['PI_CODING_AGENT'],
    programs: ['pi'],
    scripts: ['/node_modules/@mariozechner/pi-coding-agent/', '/node_modules/@earendil-works/pi-coding-agent/'],
  },
  {
    agent: 'Copilot CLI',
    version: '1.0.102',
    variables: ['COPILOT_CLI'],
    programs: ['copilot'],
    scripts: ['/node_modules/@github/copilot/'],
  },
  {
    agent: "Cursor's agent",
    version: null,
    variables: ['CURSOR_AGENT', 'CURSOR_EXTENSION_HOST_ROLE=agent-exec'],
    programs: ['cursor-agent'],
    scripts: ['/cursor-agent/versions/'],
  },
  {
    agent: 'Amp',
    version: null,
    variables: ['AMP_CURRENT_THREAD_ID', 'AGENT=amp'],
    programs: ['amp'],
    scripts: ['/node_modules/@sourcegraph/amp/', '/node_modules/@ampcode/cli/'],
  },
  { agent: 'Goose', version: null, variables: ['GOOSE_TERMINAL', 'AGENT=goose'], programs: ['goose', 'goosed'] },
  { agent: 'Antigravity', version: null, variables: ['ANTIGRAVITY_AGENT'], programs: [] },
  { agent: 'aider', version: null, variables: [], programs: ['aider'] },
  { agent: 'Crush', version: null, variables: ['CRUSH', 'AGENT=crush'], programs: ['crush'] },
  {
    agent: 'Auggie',
    version: null,
    variables: ['AUGMENT_AGENT'],
    programs: ['auggie'],
    scripts: ['/node_modules/@augmentcode/auggie/'],
  },
  {
    agent: 'Cline',
    version: null,
    variables: ['CLINE_ACTIVE'],
    programs: ['cline'],
    scripts: ['/node_modules/cline/'],
  },
  { agent: 'Droid', version: null, variables: [], programs: ['droid'] },
  // A convention of several agents, each with a value of its own.
  { agent: 'an AI agent', version: null, variables: ['AI_AGENT'], programs: [] },
];

/** `started`: the processes that have started this one, the nearest first. A process says more than a variable. */
export function findAgentTrace(
  environment: Readonly<Record<string, string | undefined>>,
  started: readonly RunningProcess[],
): AgentTrace | null {
  // The outermost one is what a person has started.
  for (const { pid, name, words } of started.toReversed()) {
    const found = knownAgents.find((known) => isProgramOf(known, name, words));
    if (found !== undefined) return { seen: `${found.agent} has started this: process ${pid} is its program.`, pid };
  }
  for (const { agent, variables } of knownAgents) {
    const variable = variables.find((one) => isSet(environment, one));
    if (variable !== undefined) return { seen: `${agent} has started this: ${variable} is set.`, pid: null };
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
/** Their value is the next word. */
const optionsWithValue = /^(?:-r|--require|--import|--loader|-C|--conditions|-W|-X|[-+]o|[-+]O)$/;

/** A program may also be named by the title that it has given itself, which is one word with blanks in it. */
function isProgramOf({ programs, scripts = [] }: KnownAgent, name: string, words: readonly string[]): boolean {
  const [first = '', ...others] = words;
  const program = toProgram(first);
  if ([name, program, toProgram(first.split(' ')[0] ?? '')].some((one) => programs.includes(one))) return true;
  const isShell = shells.test(program);
  const script = isShell || interpreters.test(program) ? findScript(others, isShell) : null;
  return script !== null && (programs.includes(toProgram(script)) || scripts.some((one) => script.includes(one)));
}

/** The script or the module that an interpreter runs; null: it reads one, or its words are the code. */
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

/** A shell that was started for a login has a hyphen before its name. */
function toProgram(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1).replace(/^-/, '');
  return name.replace(/\.(?:exe|[cm]?js|ts|py|sh)$/, '');
}
