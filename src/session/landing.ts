/** The message of a commit that brings a session's code to another branch. It is no entry, and never reads as one. */
import { isSessionId, type Oid, type SessionId } from '../names.ts';

/** Which line's code the commit brought, up to which of its commits. */
export interface LandedFrom {
  session: SessionId;
  tip: Oid;
}

/** The message of every landing holds this. */
export const landingText = 'Teddy-Landed-From: ';

/**
 * `text`: subject and body. A trailer of ours in it is made unreadable; other trailers at its end stay trailers. `landings`: the line's
 * own first, then those of the sessions whose code comes along.
 */
export function encodeLanding(text: string, landings: readonly LandedFrom[]): string {
  const lines = text.replace(/\r\n?/g, '\n').split('\n').map(indentOwnTrailer);
  const paragraphs = lines
    .join('\n')
    .trim()
    .split(/\n{2,}/);
  const last = paragraphs.at(-1)?.split('\n') ?? [];
  const endsInTrailers = paragraphs.length > 1 && last.every((line) => /^[A-Za-z0-9-]+: \S/.test(line));
  const trailers = landings.map(({ session, tip }) => `${landingText}${session}@${tip}\n`);
  return `${paragraphs.join('\n\n')}${endsInTrailers ? '\n' : '\n\n'}${trailers.join('')}`;
}

/** All that a message tells of: a forge that squashes a branch again copies the messages of its commits. */
export function decodeLandings(message: string): LandedFrom[] {
  return [...message.matchAll(/^Teddy-Landed-From: (\S+)@([0-9a-f]{64}|[0-9a-f]{40})$/gm)].flatMap(
    ([, session = '', tip = '']) => (isSessionId(session) ? [{ session, tip: tip as Oid }] : []),
  );
}

function indentOwnTrailer(line: string): string {
  return /^teddy-[a-z-]+\s*:/i.test(line) ? `  ${line.trimEnd()}` : line.trimEnd();
}
