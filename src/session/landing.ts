/** The message of a commit that brings a session's code to another branch. It is no entry, and never reads as one. */
import { leaveOutKnown } from './assisted-by.ts';
import { endsInTrailers } from './trailers.ts';
import { isSessionId, type Oid, type SessionId } from '../names.ts';

/** Which line's code the commit brought, up to which of its commits. */
export interface LandedFrom {
  session: SessionId;
  tip: Oid;
}

/** The message of every landing holds this. */
export const landingText = 'Teddy-Landed-From: ';

/**
 * `text`: subject and body. A trailer of ours in it is made unreadable, and so is a line at which git takes a message to end; other
 * trailers at its end stay trailers. `landings`: the line's own first, then those of the sessions whose code comes along.
 * `assistedBy`: trailers that go before these, unless the text has them already.
 */
export function encodeLanding(
  text: string,
  landings: readonly LandedFrom[],
  assistedBy: readonly string[] = [],
): string {
  const lines = text.replace(/\r\n?/g, '\n').replaceAll('\0', '').trim().split('\n').map(indentMark);
  const body = lines.join('\n').replaceAll(/\n{2,}/g, '\n\n');
  const from = landings.map(({ session, tip }) => `${landingText}${session}@${tip}`);
  const trailers = [...leaveOutKnown(body, assistedBy), ...from].map((trailer) => `${trailer}\n`);
  return `${body}${endsInTrailers(body) ? '\n' : '\n\n'}${trailers.join('')}`;
}

/** All that a message tells of: a forge that squashes a branch again copies the messages of its commits. */
export function decodeLandings(message: string): LandedFrom[] {
  return [...message.matchAll(/^Teddy-Landed-From: (\S+)@([0-9a-f]{64}|[0-9a-f]{40})$/gm)].flatMap(
    ([, session = '', tip = '']) => (isSessionId(session) ? [{ session, tip: tip as Oid }] : []),
  );
}

/** A patch begins for git at `---`, and at its scissors it cuts a message off: trailers below either would be none. */
const mark = /^(?:teddy-[a-z-]+\s*:|---(?:\s|$)|\S+ -{24} >8 -{24}$)/i;

function indentMark(line: string): string {
  const text = line.trimEnd();
  return mark.test(text) ? `  ${text}` : text;
}
