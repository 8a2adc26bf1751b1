/** Text behind the end marker is no content, but it is not lost either. */
import { TeddyError } from '../../errors.ts';
import type { Clock, Project } from '../../ports/project.ts';
import { keepBytes } from '../line/keep-bytes.ts';
import { openArrivals } from './await-arrival.ts';
import { openByteBuffer } from '../../write/byte-buffer.ts';
import { defaultLimits } from '../../session/write-limits.ts';

/** A stream that is still open may stay silent this long. */
const silenceMs = 250;
/** A stream that never falls silent is read this long. */
const patienceMs = 2000;

/** Reads what follows at once. Never throws: the content is whole, whatever comes behind it. */
export async function readRest(
  { clock, notices }: { clock: Clock; notices: Project['notices'] },
  { source, signal }: { source: AsyncIterable<Uint8Array>; signal: AbortSignal },
): Promise<Uint8Array> {
  const rest = openByteBuffer();
  const arrivals = openArrivals(source, { clock, signal });
  const nowMs = () => clock.now().getTime();
  const endMs = nowMs() + patienceMs;
  try {
    while (rest.length() < defaultLimits.maxBytes && nowMs() < endMs) {
      const arrival = await arrivals.next(nowMs() + silenceMs);
      if (arrival.type !== 'bytes') break;
      rest.append(arrival.bytes);
    }
  } catch (error) {
    notices.warn(
      `The stream broke off behind the end marker: ${error instanceof Error ? error.message : String(error)}`,
    );
  } finally {
    arrivals.close();
  }
  return rest.view();
}

/** Keeps the text under `refs/teddy/keep/writes/<id>` and says so. White space alone is not kept. */
export async function keepTrailing(
  project: Project,
  { id, target, endMarker }: { id: string; target: string; endMarker: string },
  pieces: Uint8Array[],
): Promise<void> {
  const trailing = openByteBuffer();
  for (const piece of pieces) trailing.append(piece);
  const bytes = trailing.view();
  if (new TextDecoder().decode(bytes).trim() === '') return;
  try {
    const oid = await keepBytes(project, `writes/${id}`, bytes);
    const where = `it is kept: \`git cat-file -p ${oid.slice(0, 10)}\`.`;
    project.notices.warn(`What came after ${endMarker} (${bytes.length} bytes) is not in ${target}; ${where}`);
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    project.notices.warn(`What came after ${endMarker} is lost: ${error.message}`);
  }
}
