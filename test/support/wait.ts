/** The order of two events, where one is a wait: a slow machine delays both. */
export interface Wait {
  /** True if the wait had ended at this point. */
  isOver(): boolean;
}

/** Begins a wait that keeps no process alive. */
export function startWait(ms: number): Wait {
  let isOver = false;
  setTimeout(() => (isOver = true), ms).unref();
  return { isOver: () => isOver };
}
