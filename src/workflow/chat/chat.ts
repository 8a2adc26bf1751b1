/** The interface between a conversation in a session and the code that shows it, and a message's outcome. */
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
  /** True when the model may write whole files and do nothing else. */
  onlyWrites?: OnlyWrites | undefined;
}

export interface OnlyWrites {
  /**
   * True when HEAD is not on a session's branch: files go to the work tree, and teddy commits them to the session for
   * written files.
   */
  isOffLine: boolean;
  /** The command that continues with an unanswered message. */
  goesOn: string;
  /** A file to continue before asking the model for anything else. */
  left?: LeftWrite | undefined;
}

/** One of the model's calls, as shown to the user. */
export interface ShownCall {
  /** The model's ID for the call. */
  id: string;
  name: string;
  /** The call in one line, such as `run_command npm test`, without control characters and with secrets masked. */
  summary: string;
  /** The text to read before approving: the whole command, or a diff; null when the summary is complete. */
  detail: string | null;
  /** True when `detail` is a file change, as a unified diff. */
  isDiff?: true;
  needsApproval: boolean;
  /**
   * The forms in which the user can allow a command for the rest of the session; undefined when teddy must ask each
   * time.
   */
  allowable?: Allowable;
}

/**
 * True and `allow` run the call; `allow` also allows similar commands for the rest of the session. `instruction`
 * becomes its result, and the model continues from it; false ends the turn.
 */
export type CallDecision = boolean | { instruction: string } | { allow: keyof Allowable };

/** A tool's outcome; secrets in `output` are masked. */
export interface ToolOutcome {
  output: string;
  isError: boolean;
  reason?: ResultReason;
  /** The files that a command has changed, except those in `.teddy/`. */
  changed?: RepoPath[];
}

export interface ChatListener {
  /** Called once the message is on the line, before teddy asks the model, and again after each batch of tools. */
  onAsk(asked: { line: ReadyLine; turn: TurnName; agent: string; label: string; request: number }): void;
  onText(text: string): void;
  /** Receives the turn's current token total for all requests. */
  onUsage(usage: Usage): void;
  /** Called when a call begins to run. */
  onCall(call: ShownCall): void;
  /** Receives a command's masked output as it arrives. */
  onOutput(stream: 'stdout' | 'stderr', text: string): void;
  onResult(call: ShownCall, outcome: ToolOutcome): void;
  /** Null when nobody can be asked; in that case teddy denies anything that needs approval. Throws INTERRUPTED. */
  approve: ((call: ShownCall) => Promise<CallDecision>) | null;
  /** Reports the arriving content of a file that the model writes. */
  file: FileListener & {
    /**
     * Asked before the content arrives; by default, every file is wanted. teddy reports a refusal to the model. Throws
     * INTERRUPTED.
     */
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
  /** teddy committed the message and asked nobody. */
  | { kind: 'open'; line: ReadyLine; turn: TurnName; logPath: string };

/** Returns the outcome of a tool that could not do its task. */
export function toFailure(output: string): ToolOutcome {
  return { output, isError: true };
}

/** Throws INTERRUPTED before any work begins. */
export function refuseAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new TeddyError('INTERRUPTED', 'Interrupted before the tool was run.');
}
