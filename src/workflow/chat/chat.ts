/** The interface between a conversation in a session and whoever shows it, and the result of one message. */
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
  /** The model may write whole files, and do nothing else. */
  onlyWrites?: OnlyWrites | undefined;
}

export interface OnlyWrites {
  /** HEAD is on no session's branch: files are for the work tree, and committed to the session of such files. */
  isOffLine: boolean;
  /** The command that goes on with a message without an answer. */
  goesOn: string;
  /** A file to be gone on with, before the model is asked for anything else. */
  left?: LeftWrite | undefined;
}

/** A call of the model's, for a person. */
export interface ShownCall {
  /** The model's id of the call. */
  id: string;
  name: string;
  /** In one line: `run_command npm test`. Without control characters, secrets masked. */
  summary: string;
  /** The text to read before approving: the whole command, or a diff; null where the summary says it all. */
  detail: string | null;
  /** `detail` is the change of a file, as a unified diff. */
  isDiff?: true;
  needsApproval: boolean;
  /** The forms in which a command can be allowed for the rest of the session; absent where it is asked about each time. */
  allowable?: Allowable;
}

/**
 * True runs the call; `allow` does too, and allows such commands for the rest of the session. `instruction` is its result, and the
 * model goes on by it; false ends the turn.
 */
export type CallDecision = boolean | { instruction: string } | { allow: keyof Allowable };

/** Secrets are masked in `output`. */
export interface ToolOutcome {
  output: string;
  isError: boolean;
  reason?: ResultReason;
  /** The files that a command has changed, without those of `.teddy/`. */
  changed?: RepoPath[];
}

export interface ChatListener {
  /** The message is on the line, and the model is asked; again after each batch of tools. */
  onAsk(asked: { line: ReadyLine; turn: TurnName; agent: string; label: string; request: number }): void;
  onText(text: string): void;
  /** The tokens of all requests of the turn until now. */
  onUsage(usage: Usage): void;
  /** It runs now. */
  onCall(call: ShownCall): void;
  /** Output of a command as it comes, masked. */
  onOutput(stream: 'stdout' | 'stderr', text: string): void;
  onResult(call: ShownCall, outcome: ToolOutcome): void;
  /** Null: there is nobody to ask, and what needs approval is denied. Throws INTERRUPTED. */
  approve: ((call: ShownCall) => Promise<CallDecision>) | null;
  /** How the content of a file comes that the model writes. */
  file: FileListener & {
    /** Asked before its content comes; every file is wanted if not given. A no goes to the model. Throws INTERRUPTED. */
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
  /** The user has denied a tool: the turn ends there. */
  | { kind: 'denied'; line: ReadyLine; turn: TurnName; commit: Oid; calls: ShownCall[]; usage: Usage | null }
  /** The message is committed and nobody was asked. */
  | { kind: 'open'; line: ReadyLine; turn: TurnName; logPath: string };

/** The outcome of a tool that could not do what it was called for. */
export function toFailure(output: string): ToolOutcome {
  return { output, isError: true };
}

/** Throws INTERRUPTED before anything is done. */
export function refuseAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new TeddyError('INTERRUPTED', 'Interrupted before the tool was run.');
}
