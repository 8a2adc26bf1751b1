/** Wakes whoever waits for entries when this server has appended one; those of other processes are found by looking. */
export interface AppendSignal {
  notify(): void;
  /** A listener of its own: what happens between two pauses ends the next one at once. `close` it. */
  listen(): AppendListener;
}

export interface AppendListener {
  /** Ends with the signal as well. */
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
