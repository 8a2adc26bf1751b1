/** INVOKE: hands the next turn to another agent. */
import type { InvokeEffect } from '../effects/effect.ts';
import { described, refuse, type ActionBase, type ActionHandler, type ActionType } from './action.ts';
import { description, optional } from './spec.ts';

/** `agent` is in lower case, like all agent names. */
export interface InvokeAction extends ActionBase {
  type: 'INVOKE';
  agent: string;
  text: string;
}

export const invoke: ActionType<InvokeAction> = {
  type: 'INVOKE',
  purpose: 'hands the next turn to another agent, with a message to it',
  parameters: [{ ...optional('Agent', 'text', 'the name of the agent', 'dev'), required: true }, description],
  body: 'markdown',
  bodyExample: 'Implement the route as the plan of this turn describes it.',

  read(from) {
    const agent = from.word('Agent')?.toLowerCase() ?? null;
    // An INVOKE may consist of its description alone.
    const isBare = from.grammar !== 1 && from.body.isEmpty();
    const text = (isBare ? from.text('Description') : null) ?? from.body.markdown();
    return agent === null || text === null ? null : { agent, text };
  },

  target: ({ agent }) => agent,
  show: ({ text }) => ({ kind: 'markdown', text }),
};

export const invokeHandler: ActionHandler<InvokeAction, InvokeEffect> = {
  params: (action) => ({ agent: action.agent, ...described(action), text: action.text }),
  looksAt: () => 'settings',

  check(action, { agents }) {
    const { index, agent, text } = action;
    if (agents === undefined || agents.includes(agent))
      return { effect: { kind: 'invoke', action: index, agent, text } };
    return refuse(action, `INVOKE ${agent}: there is no such agent.`, `Choose one of: ${agents.join(', ')}.`);
  },
};
