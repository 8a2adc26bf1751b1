/** Which agents there are: the repository's own first, then those that come with teddy. */
import { TeddyError } from '../errors.ts';
import { dev } from './agent-dev.ts';
import { pathfinder } from './agent-pathfinder.ts';
import { renderPrompt } from './prompt.ts';

export interface Agent {
  name: string;
  /** The whole system prompt, protocol included. */
  text: string;
  source: 'builtin' | 'own';
}

export const defaultAgent = 'pathfinder';

const builtins: ReadonlyMap<string, string> = new Map([
  ['dev', dev],
  ['pathfinder', pathfinder],
]);

/** `own`: name -> Markdown of the repository's agents. Throws UNKNOWN_AGENT, listing the names that there are. */
export function findAgent(name: string, own: ReadonlyMap<string, string>): Agent {
  const ownText = own.get(name);
  if (ownText !== undefined) return { name, text: renderPrompt(ownText), source: 'own' };
  const builtinText = builtins.get(name);
  if (builtinText !== undefined) return { name, text: renderPrompt(builtinText), source: 'builtin' };
  const names = [...new Set([...builtins.keys(), ...own.keys()])].sort();
  throw new TeddyError(
    'UNKNOWN_AGENT',
    `There is no agent ${JSON.stringify(name)}.`,
    `Choose one of: ${names.join(', ')}.`,
  );
}
