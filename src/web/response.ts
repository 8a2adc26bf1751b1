/**
 * An answer over HTTP. Its classes stand for those of the web, and the bundle gives them to the `openai` package: Node's own load
 * undici, which takes longer than most requests to a server on this machine, and again at the end of the process.
 */
import type { IncomingMessage } from 'node:http';
import { PassThrough, type Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

/** Names are in lower case. */
export class Headers extends Map<string, string> {
  append(name: string, value: string): void {
    this.set(name, value);
  }
}

/** Somebody reads it to its end, or cancels it: until then it holds its connection. */
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

/** The encodings of `unpacking`, as a request names them. */
export const encodings = 'gzip, deflate, br';

// A body that is cut gives what has come of it.
const zlibFlush = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };
const brotliFlush = { flush: constants.BROTLI_OPERATION_FLUSH, finishFlush: constants.BROTLI_OPERATION_FLUSH };

/** Null: nothing is packed; undefined: nobody knows the encoding. `isLenient`: a packed text without its end is no error. */
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

/** All that has come is read before an error of the connection is told. */
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
