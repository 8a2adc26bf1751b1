/** The guard before a request: what breaks the provider's rules would be refused there, with words that help nobody. */
import { checkHistory } from './check-history.ts';
import { toOpenaiMessages } from './model-messages.ts';
import { TeddyError } from '../errors.ts';
import type { ModelMessage } from '../ports/model.ts';

/** Throws HISTORY_INVALID. */
export function checkRequest(messages: readonly ModelMessage[]): void {
  requireValid('openai', toOpenaiMessages(messages));
}

/** The same for messages as a provider gets them. */
export function requireValid(format: 'openai' | 'anthropic', messages: readonly object[]): void {
  const violations = checkHistory(format, messages);
  if (violations.length === 0) return;
  throw new TeddyError(
    'HISTORY_INVALID',
    `The request would not be valid: ${violations.slice(0, 3).join(' ')}`,
    `Nothing was sent. This is a fault of teddy: please report it, with \`teddy session history --format ${format}\`.`,
  );
}
