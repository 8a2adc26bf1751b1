/** Whether a ref that a remote has can become a ref here. */
import { parseArchiveRef, parseLineRef, globalRef, type RefName, type SessionId } from '../../names.ts';

/** A name of 64 characters, its day, a number at its end, and a conversation branch, with room to spare. */
const maxNameLength = 160;
/** More digits are no number any more. */
const maxDigits = 9;

export interface IncomingName {
  /** Null: `teddy/global`. */
  session: SessionId | null;
  /** Of a conversation branch: it is judged after the main line. */
  isBranch: boolean;
}

/** A string: why not, for a person. `taken`: the refs here; `session`: of a line here that has the name, whatever it is. */
export function readIncomingName(
  ref: RefName,
  taken: Iterable<string>,
  session: SessionId | null = null,
): IncomingName | string {
  if (ref.length > maxNameLength) return 'its name is too long';
  const line = parseLineRef(ref) ?? parseArchiveRef(ref);
  if (line === null && ref !== globalRef && session === null) return 'its name is none of a session';
  if ((line?.branch ?? '').split(/\D+/).some((digits) => digits.length > maxDigits)) return 'its turn is no number';
  const collision = findCollision(ref, taken);
  if (collision !== null) return `${collision} is in the way`;
  return { session: line?.session ?? session, isBranch: line?.branch != null };
}

/** One that git cannot hold beside it, here or on a disk that does not tell capitals from small letters. */
function findCollision(ref: RefName, taken: Iterable<string>): string | null {
  for (const other of taken) {
    const folded = other.toLowerCase();
    if (other === ref) continue;
    if (folded === ref || folded.startsWith(`${ref}/`) || ref.startsWith(`${folded}/`)) return other;
  }
  return null;
}
