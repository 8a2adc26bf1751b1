/** A content that comes on stdin: what its writer is told, and asked. For `write stream` and `write recover --continue`. */
import type { Decision, StreamListener, StreamWish } from '../workflow/writes/stream-write.ts';
import { askShrink, askYes, isShrinkAlone, showFinalized } from './finish-write.ts';
import { showFindings } from './render-write.ts';
import { stdinSource } from './stdin-source.ts';
import type { Terminal } from './terminal.ts';
import type { FinalizedAnswer } from '../http/answers.ts';
import type { RejectedAnswer } from '../http/schemas.ts';

export interface Streaming {
  terminal: Terminal;
  signal: AbortSignal;
  eofIsDone: boolean;
  force: boolean;
  /** Null: for a person. */
  printJson: ((value: object) => void) | null;
}

export type ContentStream = (wish: StreamWish, listener: StreamListener<FinalizedAnswer>) => Promise<FinalizedAnswer>;

/** Returns the exit code. Throws what `run` throws, and VALIDATION_FAILED. */
export async function streamContent(streaming: Streaming, run: ContentStream): Promise<number> {
  const { terminal, signal, eofIsDone, force, printJson } = streaming;
  const isCorrectable = terminal.isInteractive && printJson === null;
  let shownMessage: string | undefined;
  const listener: StreamListener<FinalizedAnswer> = {
    onPrompt: (text) => terminal.say(text),
    async decide(rejected) {
      if (!isCorrectable || rejected.success) return 'leave';
      shownMessage = rejected.message;
      return askCorrection(terminal, signal, rejected);
    },
  };
  try {
    const source = stdinSource();
    const finalized = await run({ source, eofIsDone, force, isCorrectable, signal }, listener);
    return showFinalized({ terminal, printJson, shownMessage }, finalized);
  } finally {
    // A pipe that is still open would keep the process alive.
    process.stdin.destroy();
  }
}

async function askCorrection(terminal: Terminal, signal: AbortSignal, rejected: RejectedAnswer): Promise<Decision> {
  if (isShrinkAlone(rejected)) return (await askShrink(terminal, signal, rejected)) ? 'accept' : 'leave';
  showFindings(terminal, rejected);
  if (!(await askYes(terminal, signal, 'Send the whole content again? [Y/n] ', true))) return 'leave';
  terminal.say('Send the whole content again, and end it as before.');
  return 'correct';
}
