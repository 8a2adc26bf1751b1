/** Wakes everything that waits for entries when this server appends one. Polling finds other processes' entries. */
export interface AppendSignal {
  notify(): void;
  /**
   * Makes a new listener, which the caller closes after use. A notification between two pauses ends the next pause
   * immediately.
   */
  listen(): AppendListener;
}

export interface AppendListener {
  /** Waits for a notification, for `ms` to pass, or for the signal. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
  close(): void;
}

export function appendSignal(): AppendSignal {
  const listeners = new Set<() => void>();
  return {
    notify: () => listeners.forEach((wake) => wake()),
    listen() {
      let isMissed = false;
      let end: (() => void) | null = null;
      const wake = () => {
        if (end === null) isMissed = true;
        else end();
      };
      listeners.add(wake);
      return {
        pause: (ms, signal) =>
          new Promise((resolve) => {
            const settle = () => {
              clearTimeout(timer);
              signal.removeEventListener('abort', settle);
              end = null;
              isMissed = false;
              resolve();
            };
            const timer = setTimeout(settle, ms);
            if (isMissed || signal.aborted) return settle();
            signal.addEventListener('abort', settle);
            end = settle;
          }),
        close: () => void listeners.delete(wake),
      };
    },
  };
}
