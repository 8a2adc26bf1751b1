/**
 * An HTTP answer. Its classes replace the web platform's, and the build passes them to the `openai` package: Node's own
 * classes load undici, which takes longer than most requests to a server on this machine, and costs time again when the
 * process exits.
 */
import type { IncomingMessage } from 'node:http';
import { PassThrough, type Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

/** Headers, with names in lower case. */
export class Headers extends Map<string, string> {
  append(name: string, value: string): void {
    this.set(name, value);
  }
}

/** A body, which the caller must read to its end or cancel; until then, the body occupies its connection. */
export interface Body extends AsyncIterable<Uint8Array> {
  cancel?(): unknown;
}

export class Response {
  readonly body: Body;
  readonly status: number;
  readonly headers: Headers;
  readonly ok: boolean;

  constructor(body: Body | string, { status, headers }: { status: number; headers: Headers }) {
    this.body = typeof body === 'string' ? inOnePiece(body) : body;
    this.status = status;
    this.headers = headers;
    this.ok = status >= 200 && status < 300;
  }

  async text(): Promise<string> {
    const decoder = new TextDecoder();
    let text = '';
    for await (const bytes of this.body) text += decoder.decode(bytes, { stream: true });
    return text + decoder.decode();
  }
}

async function* inOnePiece(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** The encodings that `unpacking` supports, as a request names them. */
export const encodings = 'gzip, deflate, br';

// A body that is cut off still yields the part that has arrived.
const zlibFlush = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };
const brotliFlush = { flush: constants.BROTLI_OPERATION_FLUSH, finishFlush: constants.BROTLI_OPERATION_FLUSH };

/**
 * Returns the decoder; null for uncompressed data, and undefined for an unknown encoding. `isLenient` accepts
 * compressed data without its end.
 */
export function unpacking(encoding: string | undefined, { isLenient = false } = {}): Transform | null | undefined {
  switch (encoding?.trim().toLowerCase()) {
    case undefined:
    case '':
    case 'identity':
      return null;
    case 'gzip':
    case 'x-gzip':
      return createGunzip(isLenient ? zlibFlush : {});
    case 'br':
      return createBrotliDecompress(isLenient ? brotliFlush : {});
    case 'deflate':
      return createInflate(isLenient ? zlibFlush : {});
    default:
      return undefined;
  }
}

const maxWaiting = 1024 * 1024;

/** Turns the message into a Response. Reads everything that has arrived before it reports a connection error. */
export function toResponse(incoming: IncomingMessage, signal: AbortSignal | undefined): Response {
  const { headers, statusCode: status = 0 } = incoming;
  const out =
    unpacking(headers['content-encoding'], { isLenient: true }) ?? new PassThrough({ highWaterMark: maxWaiting });
  let cut: Error | undefined;
  incoming.on('error', (error) => {
    cut = error.message === 'aborted' ? new Error('the connection was closed') : error;
    out.end();
  });
  async function* read(): AsyncGenerator<Uint8Array> {
    try {
      yield* incoming.pipe(out);
      if (cut !== undefined) throw signal?.aborted ? signal.reason : cut;
    } finally {
      incoming.destroy();
    }
  }
  const body = Object.assign(read(), { cancel: () => incoming.destroy() });
  const texts = Object.entries(headers).map(([name, value = '']): [string, string] => [name, String(value)]);
  return new Response(body, { status, headers: new Headers(texts) });
}
