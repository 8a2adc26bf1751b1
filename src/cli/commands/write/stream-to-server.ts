/** A content that comes on stdin and goes to a server, in parts as it comes. */
import { toShellWord } from '../../../session/shell-word.ts';
import type { StreamPlace } from '../../../workflow/writes/stream.ts';
import type { Limits } from '../../../session/write-limits.ts';
import { openWrite, step } from '../../../write/step.ts';
import type { FinalizedAnswer, WriteApi } from '../../../http/write-api.ts';
import type { BeginAnswer } from '../../../http/schemas.ts';

export interface ServerPlaceOptions {
  writes: WriteApi;
  begun: BeginAnswer;
  target: string;
  limits: Limits;
  nowMs(): number;
  /** As it was typed. */
  server: string;
}

export function serverPlace({
  writes,
  begun,
  target,
  limits,
  nowMs,
  server,
}: ServerPlaceOptions): StreamPlace<FinalizedAnswer> {
  const { session_id: id, end_marker: endMarker } = begun;
  let write = openWrite(limits, nowMs());
  let content: Uint8Array = new Uint8Array();
  let sent = 0;
  /** Of a character whose rest has not come yet: what is sent is text. */
  let held: Uint8Array = new Uint8Array();
  let isReplaced = false;
  const option = `--server ${toShellWord(server)}`;
  return {
    id,
    target,
    endMarker,
    before: new Uint8Array(),
    write: () => write,
    async save(bytes) {
      // A corrected content is sent as a whole when it is finalized.
      if (isReplaced) return;
      const all = Buffer.concat([held, bytes]);
      const end = endOfCharacters(all);
      if (end > 0) await writes.append({ id, offset: sent, bytes: all.subarray(0, end) });
      sent += end;
      held = all.subarray(end);
    },
    savedBytes: () => sent,
    restart() {
      write = step(write, { type: 'restart', atMs: nowMs() }).write;
      isReplaced = true;
    },
    take(received) {
      ({ write, content } = received);
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
      look: `teddy write status ${id} ${option}`,
      giveUp: `teddy write cancel ${id} ${option}`,
    },
  };
}

const longestCharacter = 4;

/** Without the bytes of a last character that is not whole. What is no UTF-8 at all is left as it is. */
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
