/** Determines which session a command targets, and makes sure that a rerun targets the same one. */
import { TeddyError } from '../../../errors.ts';
import { sessionDir, shortRef, type RefName, type SessionId } from '../../../names.ts';

/** Returns the target, which the user may give only once: as an argument, or with `-s`. Throws USAGE. */
export function toTarget(target: string | undefined, session: string | undefined): string | undefined {
  if (target === undefined || session === undefined) return target ?? session;
  throw new TeddyError('USAGE', 'You named the session twice.', `Omit \`-s\` or ${JSON.stringify(target)}.`);
}

/**
 * Requires a whole name for a command that asks no questions, because a partial name could match another session on a
 * rerun. `refs` are the session's branches and archives. Throws USAGE for a partial name.
 */
export function requireWholeName(
  target: string,
  { session, refs, command }: { session: SessionId; refs: readonly RefName[]; command: string },
): void {
  const names = [session, session.slice('20260124-'.length), sessionDir(session), ...refs.map(shortRef)];
  if (names.includes(target)) return;
  const message = `-y requires a whole name, and ${JSON.stringify(target)} is only a part of ${session}.`;
  throw new TeddyError('USAGE', message, `If you mean that session: \`${command}\`.`);
}
