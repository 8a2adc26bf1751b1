/** Operations that a crash may cut off, and the journal that remembers them. Types only. */

/** A sort of operation, such as a command of a conversation. Its name begins the names of its files: letters alone. */
export interface OperationKind<Facts extends object> {
  name: string;
  /** Names one of them in a sentence: `a command`. */
  title: string;
  /** Never there: it ties the facts to the kind. */
  facts?: Facts;
}

/** An operation that this process is at work on. */
export interface Operation<Facts extends object> {
  /** Durable when it resolves, and the facts are the old ones or the new ones at any time. Throws DISK_FULL or WRITE_FAILED. */
  note(change: Partial<Facts>): Promise<void>;
  /**
   * Adds bytes to what is staged: confirmed and durable when it resolves. After a failure no more is confirmed
   * than before, and the next call has to begin with the same bytes. Throws as `note`, and STAGING_DAMAGED where somebody has removed or cut what is staged.
   */
  stage(bytes: Uint8Array): Promise<void>;
  /** Nothing is left to settle, and the note is gone. Throws WRITE_FAILED. */
  done(): Promise<void>;
  /** Leaves the rest to the next command; where the disk refuses to note that, to the one after the end of this process. */
  leave(): Promise<void>;
}

/** An operation that was interrupted, and that this process puts right. */
export type Settling<Facts extends object> = Omit<Operation<Facts>, 'stage'>;

/** The bytes of an operation. */
export interface Staged {
  /** Confirmed by the note. */
  verified: Uint8Array;
  /** Those that stand behind them, and were never confirmed. */
  tail: Uint8Array;
  /** The bytes are not what the note confirms, or that is damaged; then all of them are `tail`. */
  isDamaged: boolean;
}

/** An operation of any process, as its note has it. */
interface NotedOperation<Facts extends object> {
  /** Absolute: where the note is. */
  path: string;
  /** Null when the note is damaged, or of a later version. */
  facts: Facts | null;
  /** Absolute: where its bytes are, if there are any. */
  content: string;
  /** Throws WRITE_FAILED where it cannot be read. */
  read(): Promise<Staged>;
}

/** An operation that its process has left, or whose process is dead. */
export interface LeftOperation<Facts extends object> extends NotedOperation<Facts> {
  /**
   * Takes it over; null when another command has settled it by now. Throws LOCKED while another command still settles it,
   * DISK_FULL, WRITE_FAILED.
   */
  take(): Promise<Settling<Facts> | null>;
}

/** Facts are plain values, maps and bytes. */
export interface Journal {
  /** Durable when it resolves. Throws DISK_FULL or WRITE_FAILED. */
  open<Facts extends object>(kind: OperationKind<Facts>, facts: Facts): Promise<Operation<Facts>>;
  /** Throws WRITE_FAILED where the notes cannot be read. Removes notes that a killed process has not finished. */
  left<Facts extends object>(kind: OperationKind<Facts>): Promise<LeftOperation<Facts>[]>;
  /** The same, and changes nothing. */
  look<Facts extends object>(kind: OperationKind<Facts>): Promise<LeftOperation<Facts>[]>;
  /** The operations that other processes are at work on. */
  atWork<Facts extends object>(kind: OperationKind<Facts>): Promise<NotedOperation<Facts>[]>;
}
