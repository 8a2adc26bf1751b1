/** Ends a computation that never comes to an end by itself, such as that of a regular expression. */
import { createContext, Script } from 'node:vm';

const script = new Script('compute()');

/** Returns what `compute` returns, and throws what it throws; after `ms`, what `toError` makes. It waits for nothing. */
export function withinTime<T>(ms: number, compute: () => T, toError: () => Error): T {
  try {
    return script.runInContext(createContext({ compute }), { timeout: ms }) as T;
  } catch (error) {
    // An error of that context is no instance of our `Error`.
    throw (error as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? toError() : error;
  }
}
