/** Which session a command means, and which it meant when it is run once more. */
import { TeddyError } from '../../../errors.ts';
import { sessionDir, shortRef, type RefName, type SessionId } from '../../../names.ts';

/** A target is named only once: as an argument, or by `-s`. Throws USAGE. */
export function toTarget(target: string | undefined, session: string | undefined): string | undefined {
  if (target === undefined || session === undefined) return target ?? session;
  throw new TeddyError('USAGE', 'A session is named twice.', `Leave out \`-s\`, or ${JSON.stringify(target)}.`);
}

/**
 * Run once more, a command that asks nobody must not mean another session. `refs`: its branches and archives. Throws USAGE for a
 * part of a name.
 */
export function requireWholeName(
  target: string,
  { session, refs, command }: { session: SessionId; refs: readonly RefName[]; command: string },
): void {
  const names = [session, session.slice('20260124-'.length), sessionDir(session), ...refs.map(shortRef)];
  if (names.includes(target)) return;
  const message = `-y takes a whole name, and ${JSON.stringify(target)} is only a part of ${session}.`;
  throw new TeddyError('USAGE', message, `If that one is meant: \`${command}\`.`);
}
