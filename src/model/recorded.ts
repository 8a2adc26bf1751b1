/** Replays earlier recorded answers, for CI, tests and demos. */
import { TeddyError } from '../errors.ts';
import type { Model, ModelRequest } from '../ports/model.ts';

export interface RecordedAnswer {
  turn: string;
  /** The sha256, in hex, of the user's message that this answers; null when the recording does not include the message. */
  messageSha256: string | null;
  answer: string;
}

interface RecordedSettings {
  /** The user's name for the recording, used in the label and in errors. */
  source: string;
  answers: RecordedAnswer[];
  onNotice: (text: string) => void;
}

/**
 * Returns the answer recorded for this turn and message, any number of times; for a recording without messages, this
 * turn's answer. Otherwise returns, with a notice, an answer not used yet: preferably this turn's, otherwise the first
 * in order. Throws BAD_RECORDING when none is left.
 */
export function recordedModel({ source, answers, onNotice }: RecordedSettings): Model {
  const used = new Set<RecordedAnswer>();

  function choose(request: ModelRequest): RecordedAnswer {
    const exact = findExact(answers, request);
    if (exact) return exact;
    const unused = answers.filter((answer) => !used.has(answer));
    const next = unused.find((answer) => answer.turn === request.turn) ?? unused[0];
    if (!next) throw nothingLeft(source, request.turn);
    onNotice(
      `${source} has no answer to this message in turn ${request.turn}; using the next unused answer, from turn ${next.turn}.`,
    );
    return next;
  }

  return {
    provider: 'recorded',
    model: 'recorded',
    label: `recorded answers from ${source}`,
    async *answer(request) {
      const chosen = choose(request);
      used.add(chosen);
      yield { type: 'text', text: chosen.answer };
      yield { type: 'finish', reason: 'stop' };
    },
  };
}

function findExact(answers: RecordedAnswer[], { turn, messageSha256 }: ModelRequest): RecordedAnswer | undefined {
  const ofTurn = answers.filter((answer) => answer.turn === turn);
  return (
    ofTurn.find((answer) => answer.messageSha256 === messageSha256) ??
    ofTurn.find((answer) => answer.messageSha256 === null)
  );
}

function nothingLeft(source: string, turn: string): TeddyError {
  return new TeddyError(
    'BAD_RECORDING',
    `${source} has no answer left for turn ${turn}.`,
    'Use a recording with more turns, or another provider, e.g. `--provider manual`.',
  );
}
