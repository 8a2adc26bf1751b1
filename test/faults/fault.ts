/** The fault that happens in a run of the child program. */

export type Fault =
  /** Nothing; the run lists the points that it passed. */
  | { kind: 'none' }
  /** SIGKILL at the n-th step that the product names (`onStep`); n counts from 1, here and below. */
  | { kind: 'kill-at-step'; at: number }
  /** SIGKILL at the first step of that name: which comes when depends on what is done at the same time. */
  | { kind: 'kill-at-first'; step: string }
  /** SIGKILL at the n-th step of that name. */
  | { kind: 'kill-at-nth'; step: string; at: number }
  /** SIGKILL before the n-th file-system call. */
  | { kind: 'kill-at-call'; at: number }
  /** SIGKILL before the first file-system call of that name. */
  | { kind: 'kill-at-first-call'; name: string }
  /** SIGKILL before the n-th git is started. */
  | { kind: 'kill-at-git'; at: number }
  /** SIGKILL of git while it holds the lock of the ref, and of us, in the n-th ref transaction. */
  | { kind: 'kill-in-transaction'; at: number }
  /** Nothing; strace writes down what each git does to files, in `dir`, one file for each. */
  | { kind: 'trace-gits'; dir: string }
  /**
   * SIGKILL of the n-th git, or else of a process that it has started, as that process enters its `call`-th system call
   * of that name; with `everything`, of the others and of us as well.
   */
  | { kind: 'kill-in-git'; at: number; name: string; call: number; isChild: boolean; everything: boolean }
  /** The n-th file-system call fails; a write has then written half of its bytes. */
  | { kind: 'fail-call'; at: number; code: 'ENOSPC' | 'EIO' | 'EACCES' }
  /** The n-th git fails: `refused` does nothing, `killed` dies at once, `answer-lost` does its work and exits with 1. */
  | { kind: 'fail-git'; at: number; how: 'refused' | 'killed' | 'answer-lost' };

/** The names of the points that a run without a fault passes, in order. */
export interface Points {
  steps: string[];
  calls: string[];
  gits: string[];
}

/** The lines that the child prints; each is written before what it announces. */
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

/** System calls by which git changes files; what it writes to a pipe is among them. */
export const changingCalls =
  'write,pwrite64,fsync,fdatasync,ftruncate,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,rmdir,chmod,fchmod';
