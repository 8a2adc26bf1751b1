/** Stops a synchronous computation that may not terminate, such as matching a regular expression. */
import { createContext, Script } from 'node:vm';

const script = new Script('compute()');

/** Returns or throws what `compute` does; after `ms` milliseconds, throws `toError()`. `compute` must be synchronous. */
export function withinTime<T>(ms: number, compute: () => T, toError: () => Error): T {
  try {
    return script.runInContext(createContext({ compute }), { timeout: ms }) as T;
  } catch (error) {
    // An error from that context is not an instance of our `Error`.
    throw (error as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? toError() : error;
  }
}
