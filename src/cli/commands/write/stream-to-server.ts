/** Sends a content that comes on stdin to a server, in parts as it comes. */
import { TeddyError } from '../../../errors.ts';
import type { Project } from '../../../ports/project.ts';
import { keepBytes } from '../../../workflow/line/keep-bytes.ts';
import { toShellWord } from '../../../session/text/shell-word.ts';
import type { Destination } from '../../../workflow/writes/run-write.ts';
import type { Limits } from '../../../session/settings/write-limits.ts';
import { openWrite } from '../../../write/step.ts';
import type { FinalizedAnswer, WriteApi } from '../../../http/write-api.ts';
import type { BeginAnswer } from '../../../http/schemas.ts';

export interface ServerDestinationOptions {
  project: Project;
  writes: WriteApi;
  begun: BeginAnswer;
  target: string;
  limits: Limits;
  nowMs: number;
  /** The URL as it was typed. */
  server: string;
}

export function serverDestination(options: ServerDestinationOptions): Destination<FinalizedAnswer> {
  const { project, writes, begun, target, limits, nowMs, server } = options;
  const { session_id: id, end_marker: endMarker } = begun;
  let write = openWrite(limits, nowMs);
  let content: Uint8Array = new Uint8Array();
  let sent = 0;
  /** The server has not taken these: the last save has failed, or they are of a character whose rest has not come yet. */
  let unsent: Uint8Array = new Uint8Array();
  let failure: unknown = null;
  /** A corrected content is sent as a whole when it is finalized. */
  let isReplaced = false;
  /** Holds the bytes of such a character: only text can be sent. */
  let split: Uint8Array = new Uint8Array();
  const option = `--server ${toShellWord(server)}`;

  async function keep(error: unknown): Promise<TeddyError | null> {
    // A server takes only text, also later.
    if (!(error instanceof TeddyError) || failure === null || error.code === 'VALIDATION_FAILED') return null;
    // A server of this repository that is gone has left the session to the commands here.
    const left = isGone(failure) ? await project.writes.find(id) : null;
    const isHere = left !== null;
    // It may have taken more than it could answer.
    const rest = isReplaced ? unsent : unsent.subarray(Math.max(0, (left?.state?.size ?? sent) - sent));
    const toError = (text: string, hint: string) => new TeddyError(error.code, text, hint, { cause: error });
    if (rest.length === 0)
      return isHere
        ? toError(
            `${error.message} It has the whole content.`,
            `Go on without it: \`teddy write recover ${id} --finalize\`.`,
          )
        : null;
    const oid = await keepBytes(project, `writes/${id}`, rest);
    const text = `${error.message} The ${rest.length} bytes that the server has not taken are kept here.`;
    const from = `git cat-file blob ${oid} |`;
    if (isReplaced)
      return toError(text, `\`${from} teddy write finalize ${id} --content -${isHere ? '' : ` ${option}`}\``);
    if (isHere)
      return toError(text, `Go on without it: \`${from} teddy write recover ${id} --continue --eof-is-done\`.`);
    const append = `${from} teddy write append ${id} --offset ${sent} ${option}`;
    return toError(
      text,
      `When it answers again: \`${append}\`, and \`teddy write finalize ${id} --received ${option}\`.`,
    );
  }

  return {
    id,
    target,
    endMarker,
    content: async () => content,
    write: () => write,
    async save(bytes, _state, replaces) {
      isReplaced ||= replaces;
      if (isReplaced) return;
      // After a failure the bytes of that save come again.
      const all = split.length === 0 ? bytes : Buffer.concat([split, bytes]);
      unsent = all;
      const end = endOfCharacters(all);
      for (let at = 0; at < end;) {
        const part = all.subarray(at, Math.min(at + maxPartBytes, end));
        const length = endOfCharacters(part);
        // The server knows those that it has.
        await writes.append({ id, offset: sent + at, bytes: part.subarray(0, length) }).catch((error: unknown) => {
          failure = error;
          throw isGone(error) ? new TeddyError('WRITE_FAILED', error.message, error.hint, { cause: error }) : error;
        });
        at += length;
      }
      sent += end;
      split = all.subarray(end);
      [unsent, failure] = [split, null];
    },
    savedBytes: () => sent,
    take(received, replaces) {
      ({ write, content } = received);
      isReplaced ||= replaces;
      if (isReplaced) unsent = content;
    },
    async finalize({ force }) {
      const request = { id, force, content: unsent.length > 0 ? content : undefined };
      const outcome = await writes.finalize(request).catch(async (error: unknown) => {
        failure = error;
        throw (isGone(error) ? await keep(error) : null) ?? error;
      });
      return { outcome, isRejected: !outcome.success && outcome.reason === null };
    },
    keep,
    remove: () => writes.cancel(id),
    ways: {
      finalize: `teddy write finalize ${id} --received ${option}`,
      goOn: `teddy write append ${id} ${option}`,
      look: `teddy write list ${id} ${option}`,
      giveUp: `teddy write cancel ${id} ${option}`,
    },
  };
}

function isGone(error: unknown): error is TeddyError {
  return error instanceof TeddyError && error.code === 'SERVER_UNREACHABLE';
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
