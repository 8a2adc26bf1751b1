/** The fault in a run of the child program. */

export type Fault =
  /** Nothing; the run lists the points that it passed. */
  | { kind: 'none' }
  /** SIGKILL at, or before, the n-th point of that name; n counts from 1, here and below. */
  | { kind: 'kill'; at: PointKind; name: string; nth: number }
  /** SIGKILL of git while it holds the lock of the ref, and of us, in the n-th ref transaction. */
  | { kind: 'kill-in-transaction'; at: number }
  /** Nothing; strace writes down what each git does to files, in `dir`, one file for each. */
  | { kind: 'trace-gits'; dir: string }
  /**
   * SIGKILL of the n-th git, or else of a process that it has started, as that process enters its `call`-th system call
   * of that name; with `everything`, of the others and of us as well.
   */
  | { kind: 'kill-in-git'; at: number; name: string; call: number; isChild: boolean; everything: boolean }
  /** The n-th file-system call of that name fails; a write has then written half of its bytes. */
  | { kind: 'fail-call'; name: string; nth: number; code: FailCode }
  /** The n-th git of that name fails: `refused` does nothing, `killed` dies at once, `answer-lost` does its work and exits with 1. */
  | { kind: 'fail-git'; name: string; nth: number; how: 'refused' | 'killed' | 'answer-lost' }
  /** From the n-th git of that name on, every git dies at once. */
  | { kind: 'kill-gits-from'; name: string; nth: number }
  /** Every git dies when it is about to put a file in its place, or to take one away. */
  | { kind: 'kill-gits-at-work' };

export type FailCode = 'ENOSPC' | 'EIO' | 'EMFILE' | 'EACCES';

/** Steps that the product names (`onStep`), its file system calls, and the git processes that it starts. */
export type PointKind = 'step' | 'call' | 'git';

/** The names of the points passed by a run without a fault, in order. */
export type Points = Record<PointKind, string[]>;

/** A kill at a step; for a name that comes several times, at the first. */
export function killAt(name: string, nth = 1, at: PointKind = 'step'): Fault {
  return { kind: 'kill', at, name, nth };
}

export function countOf(points: readonly string[], name: string): number {
  return points.filter((point) => point === name).length;
}

/** The child's output lines; each is written before the event it announces. */
export type ChildLine =
  | { line: 'hit'; point: string }
  | { line: 'acknowledged'; commit: string }
  /** A write session has its place. */
  | { line: 'begun'; id: string }
  /** So many bytes of its content were saved. */
  | { line: 'saved'; size: number }
  /** A request of a conversation leaves; the results of these calls are in it. */
  | { line: 'asked'; callIds: string[] }
  /** A tool of a conversation has ended, and its listener has heard of it. */
  | { line: 'result'; callId: string; output: string }
  | { line: 'warned'; text: string }
  | { line: 'refused'; code: string }
  | { line: 'failed'; code: string | null; text: string }
  | { line: 'points'; points: Points };

export const faultVariable = 'FAULT_OF_THIS_RUN';

/** System calls by which git names a file, or removes it. */
export const namingCalls = 'rename,renameat,renameat2,link,linkat,unlink,unlinkat';

/** System calls by which git changes files, including writes to a pipe. */
export const changingCalls = `write,pwrite64,fsync,fdatasync,ftruncate,${namingCalls},mkdir,rmdir,chmod,fchmod`;
