/** Operations that a crash may interrupt, and the journal that records them. Types only. */

/**
 * A kind of operation, such as a command in a conversation. The names of its files begin with the kind's name, which
 * consists only of letters.
 */
export interface OperationKind<Facts extends object> {
  name: string;
  /** Describes an operation of this kind in a sentence, such as `a command`. */
  title: string;
  /** Never set; ties the type of the facts to the kind. */
  facts?: Facts;
}

/** An operation that this process is working on. */
export interface Operation<Facts extends object> {
  /** Changes the facts atomically; resolves once they are durable. Throws DISK_FULL or WRITE_FAILED. */
  note(change: Partial<Facts>): Promise<void>;
  /**
   * Appends bytes to the staged content; resolves once they are confirmed and durable. A failure confirms nothing new,
   * and the next call must begin with the same bytes. Throws the errors of `note`, and STAGING_DAMAGED when somebody
   * has removed or cut the staged content.
   */
  stage(bytes: Uint8Array): Promise<void>;
  /** Marks the operation as settled and removes the note. Throws WRITE_FAILED. */
  done(): Promise<void>;
  /**
   * Leaves the rest to the next command, or, if the disk cannot record that, to the first command after this process
   * ends.
   */
  leave(): Promise<void>;
}

/** An interrupted operation that this process is settling. */
export type Settling<Facts extends object> = Omit<Operation<Facts>, 'stage'>;

/** The staged bytes of an operation. */
export interface Staged {
  /** The bytes that the note confirms. */
  verified: Uint8Array;
  /** Bytes after `verified`, never confirmed. */
  tail: Uint8Array;
  /** True when the bytes do not match the note, or the note is damaged; `tail` then contains all of the bytes. */
  isDamaged: boolean;
}

/** An operation that some process has recorded in a note. */
interface NotedOperation<Facts extends object> {
  /** The absolute path of the note. */
  path: string;
  /** Null when the note is damaged or from a later version. */
  facts: Facts | null;
  /** The absolute path of the operation's bytes, if it has any. */
  content: string;
  /** Throws WRITE_FAILED when the bytes cannot be read. */
  read(): Promise<Staged>;
}

/** An operation that its process has left, or that belongs to a dead process. */
export interface LeftOperation<Facts extends object> extends NotedOperation<Facts> {
  /**
   * Takes over the operation; null when another command has settled it meanwhile. Throws LOCKED while another command
   * is settling it, DISK_FULL, WRITE_FAILED.
   */
  take(): Promise<Settling<Facts> | null>;
}

/** Records operations. Facts are plain values, maps and bytes. */
export interface Journal {
  /** Resolves once the operation is durable. Throws DISK_FULL or WRITE_FAILED. */
  open<Facts extends object>(kind: OperationKind<Facts>, facts: Facts): Promise<Operation<Facts>>;
  /**
   * Lists the operations left behind, and removes notes that a killed process did not finish. Throws WRITE_FAILED when
   * the notes cannot be read.
   */
  left<Facts extends object>(kind: OperationKind<Facts>): Promise<LeftOperation<Facts>[]>;
  /** Like `left`, but changes nothing. */
  look<Facts extends object>(kind: OperationKind<Facts>): Promise<LeftOperation<Facts>[]>;
  /** Lists the operations that other processes are working on. */
  atWork<Facts extends object>(kind: OperationKind<Facts>): Promise<NotedOperation<Facts>[]>;
}
