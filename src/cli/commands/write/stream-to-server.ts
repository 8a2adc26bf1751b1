/** Sends a content that comes on stdin to a server, in parts as it comes. */
import { toShellWord } from '../../../session/shell-word.ts';
import type { Destination } from '../../../workflow/writes/run-write.ts';
import type { Limits } from '../../../session/write-limits.ts';
import { openWrite } from '../../../write/step.ts';
import type { FinalizedAnswer, WriteApi } from '../../../http/write-api.ts';
import type { BeginAnswer } from '../../../http/schemas.ts';

export interface ServerDestinationOptions {
  writes: WriteApi;
  begun: BeginAnswer;
  target: string;
  limits: Limits;
  nowMs: number;
  /** The URL as it was typed. */
  server: string;
}

export function serverDestination(options: ServerDestinationOptions): Destination<FinalizedAnswer> {
  const { writes, begun, target, limits, nowMs, server } = options;
  const { session_id: id, end_marker: endMarker } = begun;
  let write = openWrite(limits, nowMs);
  let content: Uint8Array = new Uint8Array();
  let sent = 0;
  /** Holds the bytes of a character whose rest has not come yet: only text can be sent. */
  let held: Uint8Array = new Uint8Array();
  /** A corrected content is sent as a whole when it is finalized. */
  let isReplaced = false;
  const option = `--server ${toShellWord(server)}`;
  return {
    id,
    target,
    endMarker,
    content: async () => content,
    write: () => write,
    async save(bytes, _state, replaces) {
      isReplaced ||= replaces;
      if (isReplaced) return;
      const all = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
      const end = endOfCharacters(all);
      for (let at = 0; at < end;) {
        const part = all.subarray(at, Math.min(at + maxPartBytes, end));
        const length = endOfCharacters(part);
        // After a failure all of them come again, and the server knows those that it has.
        await writes.append({ id, offset: sent + at, bytes: part.subarray(0, length) });
        at += length;
      }
      sent += end;
      held = all.subarray(end);
    },
    savedBytes: () => sent,
    take(received, replaces) {
      ({ write, content } = received);
      isReplaced ||= replaces;
    },
    async finalize({ force }) {
      const outcome = await writes.finalize({
        id,
        force,
        content: isReplaced || held.length > 0 ? content : undefined,
      });
      return { outcome, isRejected: !outcome.success && outcome.reason === null };
    },
    remove: () => writes.cancel(id),
    ways: {
      finalize: `teddy write finalize ${id} --received ${option}`,
      goOn: `teddy write append ${id} ${option}`,
      look: `teddy write list ${id} ${option}`,
      giveUp: `teddy write cancel ${id} ${option}`,
    },
  };
}

/** A part is in memory several times while it is sent: as text, as JSON, and as the body of the request. */
const maxPartBytes = 2 * 1024 * 1024;
const longestCharacter = 4;

/** Excludes the bytes of a last character that is not whole. Bytes that are no UTF-8 at all stay. */
function endOfCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(longestCharacter - 1, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) break;
    if (byte >= 0xc0) return back < lengthOfCharacter(byte) ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function lengthOfCharacter(first: number): number {
  if (first >= 0xf0) return 4;
  return first >= 0xe0 ? 3 : 2;
}
