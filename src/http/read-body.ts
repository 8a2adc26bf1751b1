/** The body of a request, as JSON: read no further than it may be long. */
import type { IncomingMessage } from 'node:http';
import type { Limits } from '../session/write-limits.ts';
import { toTooLarge } from '../write/step.ts';
import { Refusal } from './refusal.ts';

/** A byte of content takes up to six in JSON (`\u0000`), and there is a little beside the content. */
const longestEscape = 6;
const besideContentBytes = 64 * 1024;

/** Throws UNSUPPORTED_MEDIA_TYPE, CONTENT_TOO_LARGE, REQUEST_ABORTED, MALFORMED_JSON. */
export async function readJson(request: IncomingMessage, limits: Limits): Promise<unknown> {
  refuseOtherTypes(request);
  const bytes = await readBytes(request, limits);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown;
  } catch (error) {
    throw new Refusal('MALFORMED_JSON', 'The body is not JSON in UTF-8.', {}, { cause: error });
  }
}

function refuseOtherTypes({ headers }: IncomingMessage): void {
  const [type = '', ...parameters] = (headers['content-type'] ?? '')
    .split(';')
    .map((part) => part.trim().toLowerCase());
  const isUtf8 = parameters.every((one) => !one.startsWith('charset=') || /^charset="?utf-?8"?$/.test(one));
  const encoding = headers['content-encoding'] ?? 'identity';
  if (type === 'application/json' && isUtf8 && encoding === 'identity') return;
  throw new Refusal(
    'UNSUPPORTED_MEDIA_TYPE',
    'Send the body as Content-Type: application/json, in UTF-8, not compressed.',
  );
}

async function readBytes(request: IncomingMessage, limits: Limits): Promise<Buffer> {
  const maxBytes = limits.maxBytes * longestEscape + besideContentBytes;
  // Said in advance: then not a byte of it is read.
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw toTooLarge(limits);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // `for await` would destroy the connection with the loop, and nobody could be told why.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw toTooLarge(limits);
      chunks.push(chunk);
    }
  } catch (error) {
    if (!request.errored || error instanceof Refusal) throw error;
    throw new Refusal('REQUEST_ABORTED', 'The connection was closed before the body was whole.', {}, { cause: error });
  }
  return Buffer.concat(chunks, size);
}
