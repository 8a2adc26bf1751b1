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

/** The content, and how much of it the server has. */
interface Sending extends Pick<ServerDestinationOptions, 'project' | 'writes'> {
  id: string;
  /** Names the server in a command. */
  option: string;
  sent: number;
  content: Uint8Array;
  /** The server has not taken these: the last save has failed, or they are of a character whose rest has not come yet. */
  unsent: Uint8Array;
  /** Holds the bytes of such a character: only text can be sent. */
  split: Uint8Array;
  failure: unknown;
  /** A corrected content is sent as a whole when it is finalized. */
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
  // After a failure the bytes of that save come again.
  const all = split.length === 0 ? bytes : Buffer.concat([split, bytes]);
  sending.unsent = all;
  const end = endOfCharacters(all);
  for (let at = 0; at < end;) {
    const part = all.subarray(at, Math.min(at + maxPartBytes, end));
    const length = endOfCharacters(part);
    // The server knows those that it has.
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
  if (isHere) return toError(text, `Go on without it: \`${from} teddy write recover ${id} --continue --eof-is-done\`.`);
  const append = `${from} teddy write append ${id} --offset ${sent} ${option}`;
  return toError(
    text,
    `When it answers again: \`${append}\`, and \`teddy write finalize ${id} --received ${option}\`.`,
  );
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
