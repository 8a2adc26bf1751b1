/** Runs `teddy chat -m`: a single exchange, for a script or a quick question. */
import { exitCodes, TeddyError } from '../../../../errors.ts';
import { shortRef } from '../../../../names.ts';
import type { ChatOutcome } from '../../../../workflow/chat/chat.ts';
import { exchange, isPlanned, showExchanged, type Asking, type Chat, type Exchanged } from './exchange.ts';
import { toExecuteCommand } from '../../../render/name-line.ts';

/** Returns the exit code. `printJson` is null when the result is for the user. */
export async function chatOnce(
  chat: Chat,
  asking: Asking,
  printJson: ((value: object) => void) | null,
): Promise<number> {
  const exchanged = await exchange(chat, asking);
  const { outcome } = exchanged;
  if (printJson !== null) {
    if (outcome.kind === 'open' && chat.choice.missing !== null) throw chat.choice.missing;
    printJson(toChatJson(exchanged));
  } else {
    showExchanged(chat, exchanged);
    await showNext(chat, outcome);
  }
  if (outcome.kind !== 'denied') return 0;
  if (printJson === null) throw toDenied(chat);
  return exitCodes.NOT_APPROVED;
}

async function showNext({ terminal, project }: Chat, outcome: ChatOutcome): Promise<void> {
  if (isPlanned(outcome)) terminal.say(`Next: ${await toExecuteCommand(project, outcome.line)}`);
}

function toDenied({ approval }: Chat): TeddyError {
  const message = 'A call was denied, so the model gave no answer.';
  if (approval !== 'none') return new TeddyError('NOT_APPROVED', message, 'Say what the model should do instead.');
  return new TeddyError(
    'NOT_APPROVED',
    'A call was denied because nobody could be asked; the model gave no answer.',
    'Use -y to approve every call in this run.',
  );
}

function toChatJson({ outcome, calls }: Exchanged): object {
  const { line, turn } = outcome;
  const place = { session: line.session, line: shortRef(line.ref), turn };
  if (outcome.kind === 'open')
    return { ...place, entry: 'message', commit: null, text: null, calls, usage: null, log: outcome.logPath };
  const { commit, usage } = outcome;
  if (outcome.kind === 'denied') return { ...place, entry: 'exchange', commit, text: null, calls, usage };
  const { entry, text, actions, problems, notes, secrets } = outcome;
  return { ...place, entry, commit, text, calls, usage, actions, problems, notes, secrets };
}
