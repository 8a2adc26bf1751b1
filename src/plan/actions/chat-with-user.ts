/** CHAT_WITH_USER and PROMPT: show a message to the user, and wait for an answer. */
import type { AskEffect } from '../effects/effect.ts';
import { toFirstLine, type ActionBase, type ActionHandler, type ActionType } from './action.ts';

export interface AskAction<Type extends string = 'CHAT_WITH_USER' | 'PROMPT'> extends ActionBase {
  type: Type;
  text: string;
}

export const chatWithUser = asking('CHAT_WITH_USER', 'says something to the user and waits for an answer');
export const prompt = asking('PROMPT', 'is the same as CHAT_WITH_USER');

function asking<Type extends string>(type: Type, purpose: string): ActionType<AskAction<Type>> {
  return {
    type,
    purpose,
    parameters: [],
    body: 'markdown',
    bodyExample: 'Which database do you want to use?',

    read(from) {
      const text = from.body.markdown();
      return text === null ? null : { text };
    },

    target: ({ text }) => toFirstLine(text),
    show: ({ text }) => ({ kind: 'markdown', text }),
  };
}

/** The handler of both action types. */
export const askHandler: ActionHandler<AskAction, AskEffect> = {
  asks: true,
  params: ({ text }) => ({ text }),
  check: ({ index, text }) => ({ effect: { kind: 'ask', action: index, text } }),

  async perform(_action, effect, world) {
    // A question without an answer counts as not begun: teddy will ask again.
    const answer = await world.ask(effect.text);
    await world.begin();
    return { status: 'SUCCESS', ...(answer === null ? {} : { details: { answer } }) };
  },
};
