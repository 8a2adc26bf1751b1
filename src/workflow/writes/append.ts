/** Adds content to a write session at a known offset, so that a request sent twice adds nothing twice. */
import { equalBytes } from '../../session/text/bytes.ts';
import { OffsetMismatch } from '../../write/write-errors.ts';
import type { Project } from '../../ports/project.ts';
import { dispatch, readContent, saveWrite, withWrite, type HeldWrite } from './held.ts';

export interface AppendRequest {
  id: string;
  /** The offset in the content where the bytes begin; defaults to its end. */
  offset?: number | undefined;
  bytes: Uint8Array;
}

/**
 * Resolves when the bytes are durable; `size` counts the content including them. Throws UNKNOWN_WRITE,
 * CONTENT_TOO_LARGE, OffsetMismatch, WRITE_FINALIZING, DISK_FULL or WRITE_FAILED; in these cases adds nothing.
 */
export async function appendWrite(project: Project, request: AppendRequest): Promise<{ size: number; added: number }> {
  return withWrite(project, request.id, async (held) => {
    const { size } = held.write.state;
    const fresh = await toFresh(held, request.offset ?? size, request.bytes);
    if (fresh.length === 0) return { size, added: 0 };
    const atMs = project.clock.now().getTime();
    dispatch(held, { type: 'content', bytes: fresh.length, lines: 0, atMs });
    await held.staged.save(fresh, held.write.state);
    return { size: held.write.state.size, added: fresh.length };
  });
}

/** Returns the bytes not received yet; the overlap must be identical. */
async function toFresh(held: HeldWrite, offset: number, bytes: Uint8Array): Promise<Uint8Array> {
  const { size } = held.write.state;
  if (offset > size) throw toMismatch(offset, size, 'There is a gap before the bytes');
  if (offset === size) return bytes;
  const known = (await readContent(held)).subarray(offset, offset + bytes.length);
  const repeated = bytes.subarray(0, known.length);
  if (!equalBytes(known, repeated)) throw toMismatch(offset, size, 'Different bytes were already received');
  return bytes.subarray(known.length);
}

function toMismatch(offset: number, size: number, reason: string): OffsetMismatch {
  return new OffsetMismatch(`${reason} at offset ${offset}; expected ${size}.`, size);
}

/** Replaces all of the received content. Throws CONTENT_TOO_LARGE, UNKNOWN_WRITE or WRITE_FINALIZING. */
export async function replaceContent(project: Project, held: HeldWrite, bytes: Uint8Array): Promise<void> {
  const atMs = project.clock.now().getTime();
  const before = held.write;
  try {
    dispatch(held, { type: 'restart', atMs });
    dispatch(held, { type: 'content', bytes: bytes.length, lines: 0, atMs });
  } catch (error) {
    held.write = before;
    throw error;
  }
  held.content = bytes;
  held.isReplaced = true;
  await saveWrite(project, held);
}

/**
 * Removes the end marker from a last line without a line break, which a cut connection left behind; the marker is not
 * content. With `isPart`, also removes the beginning of a marker.
 */
export async function dropMarker(project: Project, held: HeldWrite, { isPart }: { isPart: boolean }): Promise<void> {
  const { endMarker } = held.record;
  const content = await readContent(held);
  const start = content.lastIndexOf(newline) + 1;
  const line = new TextDecoder().decode(content.subarray(start)).trimEnd();
  const isMarker = line === endMarker || (isPart && line !== '' && endMarker.startsWith(line));
  if (isMarker) await replaceContent(project, held, content.slice(0, start));
}

const newline = 10;
