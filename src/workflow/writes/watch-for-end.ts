/** Whether a model's answer has come to the end marker of its content. */
import { openScanner } from '../../write/done-scanner.ts';
import { fileKind } from '../../write/file-kind.ts';
import { readContent, type HeldWrite } from './held.ts';
import type { Answer } from './model-talk.ts';

export interface EndWatch {
  take(bytes: Uint8Array): void;
  /** The answer has come to the end marker; also at its very end, where no line ends. */
  isReached(answer: Answer): boolean;
}

/** An answer that is cut behind its end marker is not gone on with. */
export async function watchForEnd(held: HeldWrite, isRestart: boolean): Promise<EndWatch> {
  const { endMarker: marker, target } = held.record;
  const before = isRestart ? new Uint8Array(0) : await readContent(held);
  const scanner = openScanner({ marker, isMarkdown: fileKind(target) === 'markdown', before });
  let isDone = false;
  return {
    take(bytes) {
      isDone ||= scanner.next(bytes).isDone;
    },
    isReached: ({ text }) => isDone || text.slice(text.lastIndexOf('\n') + 1).trimEnd() === marker,
  };
}
