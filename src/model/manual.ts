/** No model at all: the person brings the answer, and nothing leaves the machine. */
import type { Model } from '../ports/model.ts';

/** `readAnswer` gets the text from a file, from stdin or from an editor. Its errors pass through. */
export function manualModel({ readAnswer }: { readAnswer: () => Promise<string> }): Model {
  return {
    provider: 'manual',
    model: 'manual',
    label: 'manual',
    async *answer() {
      yield { type: 'text', text: await readAnswer() };
      yield { type: 'finish', reason: 'stop' };
    },
  };
}
