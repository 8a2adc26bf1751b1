/** Which agents there are: the repository's own first, then those that come with teddy. */
import { TeddyError } from '../errors.ts';
import { renderPrompt } from './prompt.ts';
import { architect } from './agent-architect.ts';
import { debuggerAgent } from './agent-debugger.ts';
import { dev } from './agent-dev.ts';
import { pathfinder } from './agent-pathfinder.ts';
import { reviewer } from './agent-reviewer.ts';

interface Agent {
  name: string;
  /** The whole system prompt, protocol included. */
  text: string;
  source: 'builtin' | 'own';
}

export const defaultAgent = 'pathfinder';

const builtins: ReadonlyMap<string, string> = new Map([
  ['architect', architect],
  ['debugger', debuggerAgent],
  ['dev', dev],
  ['pathfinder', pathfinder],
  ['reviewer', reviewer],
]);

/**
 * `own`: name -> Markdown of the repository's agents. With `mode` its prompt for a conversation. Throws UNKNOWN_AGENT, listing
 * the names that there are.
 */
export function findAgent(name: string, own: ReadonlyMap<string, string>, mode?: 'chat'): Agent {
  const ownText = own.get(name);
  if (ownText !== undefined) return { name, text: renderPrompt(ownText, mode), source: 'own' };
  const builtinText = builtins.get(name);
  if (builtinText !== undefined) return { name, text: renderPrompt(builtinText, mode), source: 'builtin' };
  throw new TeddyError(
    'UNKNOWN_AGENT',
    `There is no agent ${JSON.stringify(name)}.`,
    `Choose one of: ${agentNames(own).join(', ')}.`,
  );
}

/** All names that `findAgent` knows, sorted. */
export function agentNames(own: ReadonlyMap<string, string>): string[] {
  return [...new Set([...builtins.keys(), ...own.keys()])].sort();
}

/** What the first own agent of a name starts from: the built-in one, or a text that explains what belongs there. */
export function toAgentTemplate(name: string): string {
  return `${templateNote}${builtins.get(name) ?? renderSkeleton(name)}`;
}

/** Without the explanation that `toAgentTemplate` begins with. */
export function withoutTemplateNote(text: string): string {
  return text.startsWith(templateNote) ? text.slice(templateNote.length) : text;
}

const templateNote = `<!--
This is what the model is told first when this agent plans. Say who it is, how it works, what it never does and when
it asks. How to read the request and how to write a plan is added by teddy. This comment is taken out again.
-->
`;

function renderSkeleton(name: string): string {
  return `# ${name}

You are ... on this project. One answer is one plan, which the owner approves action by action and runs.

## How to work

1. ...

## Rules

- ...

## When to stop and ask

- ...
`;
}
