/** The interface between a conversation in a session and the code that shows it, and the outcome of one message. */
import { TeddyError } from '../../errors.ts';
import type { Allowable } from '../../conversation/prompts/allowed-commands.ts';
import type { ResultReason } from '../../conversation/records/record.ts';
import type { Oid, RepoPath, TurnName } from '../../names.ts';
import type { WriteRecord, WriteResult } from '../../write/write.ts';
import type { Answered } from '../turn/ask-model.ts';
import type { TurnOptions } from '../context/compose-request.ts';
import type { ReadyLine } from '../line/prepare.ts';
import type { Usage } from '../line/receive-answer.ts';
import type { FileListener, LeftWrite } from '../writes/receive-from-model.ts';

export interface ChatOptions extends TurnOptions {
  selector?: string | undefined;
  signal: AbortSignal;
  /** The model may write whole files and do nothing else. */
  onlyWrites?: OnlyWrites | undefined;
}

export interface OnlyWrites {
  /** HEAD is not on a session's branch: files go to the work tree, and are committed to the session for such files. */
  isOffLine: boolean;
  /** The command that continues with a message without an answer. */
  goesOn: string;
  /** A file to continue before the model is asked for anything else. */
  left?: LeftWrite | undefined;
}

/** A call of the model's, as shown to a person. */
export interface ShownCall {
  /** The model's id of the call. */
  id: string;
  name: string;
  /** The call in one line, such as `run_command npm test`, without control characters and with secrets masked. */
  summary: string;
  /** The text to read before approving: the whole command, or a diff; null when the summary says everything. */
  detail: string | null;
  /** `detail` is the change of a file, as a unified diff. */
  isDiff?: true;
  needsApproval: boolean;
  /** The forms in which a command can be allowed for the rest of the session; missing when it is asked about each time. */
  allowable?: Allowable;
}

/**
 * True runs the call; `allow` does too, and allows such commands for the rest of the session. `instruction` becomes its
 * result, and the model continues from it; false ends the turn.
 */
export type CallDecision = boolean | { instruction: string } | { allow: keyof Allowable };

/** The outcome of a tool; secrets in `output` are masked. */
export interface ToolOutcome {
  output: string;
  isError: boolean;
  reason?: ResultReason;
  /** The files that a command has changed, except those of `.teddy/`. */
  changed?: RepoPath[];
}

export interface ChatListener {
  /** Called when the message is on the line and the model is asked, and again after each batch of tools. */
  onAsk(asked: { line: ReadyLine; turn: TurnName; agent: string; label: string; request: number }): void;
  onText(text: string): void;
  /** Gets the tokens of all requests of the turn so far. */
  onUsage(usage: Usage): void;
  /** Called when a call begins to run. */
  onCall(call: ShownCall): void;
  /** Gets the output of a command as it arrives, masked. */
  onOutput(stream: 'stdout' | 'stderr', text: string): void;
  onResult(call: ShownCall, outcome: ToolOutcome): void;
  /** Null when there is nobody to ask; anything that needs approval is denied then. Throws INTERRUPTED. */
  approve: ((call: ShownCall) => Promise<CallDecision>) | null;
  /** Reports how the content of a file arrives that the model writes. */
  file: FileListener & {
    /** Asked before the content arrives; without it, every file is wanted. The model is told of a no. Throws INTERRUPTED. */
    wants?(record: WriteRecord): Promise<boolean>;
    onBegun(record: WriteRecord): void;
    onWritten?(file: WrittenFile): void;
  };
}

export interface WrittenFile {
  record: WriteRecord;
  result: WriteResult;
}

export type ChatOutcome =
  | ({ kind: 'answered'; line: ReadyLine; turn: TurnName; exchanges: number } & Answered)
  /** The user has denied a tool, which ends the turn. */
  | { kind: 'denied'; line: ReadyLine; turn: TurnName; commit: Oid; calls: ShownCall[]; usage: Usage | null }
  /** The message was committed and nobody was asked. */
  | { kind: 'open'; line: ReadyLine; turn: TurnName; logPath: string };

/** Returns the outcome of a tool that could not do what it was called for. */
export function toFailure(output: string): ToolOutcome {
  return { output, isError: true };
}

/** Throws INTERRUPTED before anything is done. */
export function refuseAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new TeddyError('INTERRUPTED', 'Interrupted before the tool was run.');
}
