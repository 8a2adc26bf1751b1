/** Sends content from stdin to a server, part by part as it arrives. */
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
  /** The URL as the user typed it. */
  server: string;
}

/** The content to send, and the amount that the server already has. */
interface Sending extends Pick<ServerDestinationOptions, 'project' | 'writes'> {
  id: string;
  /** The option that names the server in a suggested command. */
  option: string;
  sent: number;
  content: Uint8Array;
  /** Bytes that the server does not have, because the last save failed or they begin a character that is not complete yet. */
  unsent: Uint8Array;
  /** The bytes of an incomplete last character, held back because only whole characters can be sent. */
  split: Uint8Array;
  failure: unknown;
  /** True for corrected content, which teddy sends as a whole when it finalizes the session. */
  isReplaced: boolean;
}

const nothing = new Uint8Array();

export function serverDestination(options: ServerDestinationOptions): Destination<FinalizedAnswer> {
  const { project, writes, begun, target, limits, nowMs, server } = options;
  const { session_id: id, end_marker: endMarker } = begun;
  const option = `--server ${toShellWord(server)}`;
  const unsent = { sent: 0, content: nothing, unsent: nothing, split: nothing, failure: null, isReplaced: false };
  const sending: Sending = { project, writes, id, option, ...unsent };
  let write = openWrite(limits, nowMs);
  return {
    id,
    target,
    endMarker,
    content: async () => sending.content,
    write: () => write,
    async save(bytes, _state, replaces) {
      sending.isReplaced ||= replaces;
      if (!sending.isReplaced) await send(sending, bytes);
    },
    savedBytes: () => sending.sent,
    take(received, replaces) {
      ({ write, content: sending.content } = received);
      sending.isReplaced ||= replaces;
      if (sending.isReplaced) sending.unsent = sending.content;
    },
    async finalize({ force }) {
      const request = { id, force, content: sending.unsent.length > 0 ? sending.content : undefined };
      const outcome = await writes.finalize(request).catch(async (error: unknown) => {
        sending.failure = error;
        throw (isGone(error) ? await keep(sending, error) : null) ?? error;
      });
      return { outcome, isRejected: !outcome.success && outcome.reason === null };
    },
    keep: (error) => keep(sending, error),
    remove: () => writes.cancel(id),
    ways: {
      finalize: `teddy write finalize ${id} --received ${option}`,
      goOn: `teddy write append ${id} ${option}`,
      look: `teddy write list ${id} ${option}`,
      giveUp: `teddy write cancel ${id} ${option}`,
    },
  };
}

async function send(sending: Sending, bytes: Uint8Array): Promise<void> {
  const { id, writes, split, sent } = sending;
  // After a failed save, the caller passes the same bytes again.
  const all = split.length === 0 ? bytes : Buffer.concat([split, bytes]);
  sending.unsent = all;
  const end = endOfCharacters(all);
  for (let at = 0; at < end;) {
    const part = all.subarray(at, Math.min(at + maxPartBytes, end));
    const length = endOfCharacters(part);
    // The server recognizes bytes that it already has.
    await writes.append({ id, offset: sent + at, bytes: part.subarray(0, length) }).catch((error: unknown) => {
      sending.failure = error;
      throw isGone(error) ? new TeddyError('WRITE_FAILED', error.message, error.hint, { cause: error }) : error;
    });
    at += length;
  }
  sending.sent += end;
  sending.split = all.subarray(end);
  [sending.unsent, sending.failure] = [sending.split, null];
}

async function keep(sending: Sending, error: unknown): Promise<TeddyError | null> {
  const { project, id, option, sent, unsent, failure, isReplaced } = sending;
  // Keeps nothing after VALIDATION_FAILED, because a server takes only text and would refuse the same bytes again.
  if (!(error instanceof TeddyError) || failure === null || error.code === 'VALIDATION_FAILED') return null;
  // When this repository's own server is gone, the local commands can use its session.
  const left = isGone(failure) ? await project.writes.find(id) : null;
  const isHere = left !== null;
  // The server may have saved more than it acknowledged.
  const rest = isReplaced ? unsent : unsent.subarray(Math.max(0, (left?.state?.size ?? sent) - sent));
  const toError = (text: string, hint: string) => new TeddyError(error.code, text, hint, { cause: error });
  if (rest.length === 0)
    return isHere
      ? toError(
          `${error.message} The server has the whole content.`,
          `Continue without the server: \`teddy write recover ${id} --finalize\`.`,
        )
      : null;
  const oid = await keepBytes(project, `writes/${id}`, rest);
  const text = `${error.message} The ${rest.length} bytes that the server does not have are saved here.`;
  const from = `git cat-file blob ${oid} |`;
  if (isReplaced)
    return toError(text, `\`${from} teddy write finalize ${id} --content -${isHere ? '' : ` ${option}`}\``);
  if (isHere)
    return toError(
      text,
      `Continue without the server: \`${from} teddy write recover ${id} --continue --eof-is-done\`.`,
    );
  const append = `${from} teddy write append ${id} --offset ${sent} ${option}`;
  return toError(
    text,
    `When the server answers again: \`${append}\`, and \`teddy write finalize ${id} --received ${option}\`.`,
  );
}

function isGone(error: unknown): error is TeddyError {
  return error instanceof TeddyError && error.code === 'SERVER_UNREACHABLE';
}

/**
 * Limits a part's size, because memory contains it several times during sending: as text, as JSON, and as the request's
 * body.
 */
const maxPartBytes = 2 * 1024 * 1024;
const longestCharacter = 4;

/** Returns the length without the bytes of an incomplete last character. Includes bytes that are not UTF-8 at all. */
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
