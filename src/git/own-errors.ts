/** Errors of the system leave an adapter as errors of ours, which name the file, the reason and the next step. */
import { toWriteError } from '../disk/replace-file.ts';

/** The same adapter; whatever its promises reject with is a TeddyError, unless it is a defect. */
export function withOwnErrors<Adapter extends object>(adapter: Adapter): Adapter {
  const wrapped = Object.entries(adapter).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'function' ? wrap(value as (...args: unknown[]) => unknown) : value,
  ]);
  return Object.fromEntries(wrapped) as Adapter;
}

function wrap(method: (...args: unknown[]) => unknown): (...args: unknown[]) => unknown {
  return (...args) => {
    const result = method(...args);
    if (!(result instanceof Promise)) return result;
    return result.catch((error: unknown) => {
      throw toWriteError(error, (error as NodeJS.ErrnoException).path ?? 'the repository');
    });
  };
}
