import { TeddyError } from '../../../errors.ts';

/** A target is named only once: as an argument, or by `-s`. Throws USAGE. */
export function toTarget(target: string | undefined, session: string | undefined): string | undefined {
  if (target === undefined || session === undefined) return target ?? session;
  throw new TeddyError('USAGE', 'A session is named twice.', `Leave out \`-s\`, or ${JSON.stringify(target)}.`);
}
