/** The order of two events, where one of them is a wait: a machine that is slow delays both. */
export interface Wait {
  /** Whether the wait had ended when this was asked. */
  isOver(): boolean;
}

/** Begins a wait that keeps no process alive. */
export function startWait(ms: number): Wait {
  let isOver = false;
  setTimeout(() => (isOver = true), ms).unref();
  return { isOver: () => isOver };
}
