/** Turns a response's body into text: decompresses it, limits its size, and decodes it. */
import type { IncomingMessage } from 'node:http';
import type { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { TextDecoder } from 'node:util';
import { TeddyError } from '../../errors.ts';
import { errorCode } from '../../disk/system-error.ts';
import { unpacking } from '../../web/response.ts';

const textTypes =
  /^(?:text\/[^/]+|application\/(?:[^/]+\+)?(?:json|xml|yaml)|application\/(?:x-)?(?:javascript|ecmascript|typescript|yaml|toml|sh|ndjson|sql|graphql|tex|www-form-urlencoded)|[^/]+\/[^/]+\+(?:json|xml|yaml))$/;
const htmlTypes = ['text/html', 'application/xhtml+xml'];

/** Throws PAGE_FAILED, with only the reason, when the body is not text, is too large, or is broken. */
export async function readPageText(
  response: IncomingMessage,
  maxBytes: number,
  signal: AbortSignal,
): Promise<{ contentType: string; text: string }> {
  try {
    const { contentType, charset } = readType(response.headers['content-type']);
    const bytes = await readBytes(response, maxBytes, signal);
    const text = decode(bytes, charset ?? (htmlTypes.includes(contentType) ? findCharset(bytes) : null));
    return { contentType, text: htmlTypes.includes(contentType) ? simplifyHtml(text) : text };
  } finally {
    response.destroy();
  }
}

function readType(header: string | undefined): { contentType: string; charset: string | null } {
  const [first = '', ...parameters] = (header ?? '').split(';').map((part) => part.trim());
  const contentType = first.toLowerCase();
  if (contentType === '') throw failed('it has no content type');
  if (!textTypes.test(contentType)) throw failed(`it is not text but ${contentType.slice(0, 100)}`);
  const charset = parameters.find((parameter) => /^charset=/i.test(parameter))?.slice('charset='.length);
  return { contentType, charset: charset?.replace(/^"(.*)"$/, '$1').trim() || null };
}

async function readBytes(response: IncomingMessage, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Counts bytes after decompression, because a small body may become very large.
  const collect = async (source: AsyncIterable<Uint8Array>) => {
    for await (const chunk of source) {
      size += chunk.length;
      if (size > maxBytes) break;
      chunks.push(chunk);
    }
  };
  const unpack = toUnpacking(response.headers['content-encoding']);
  try {
    if (unpack === null) await pipeline(response, collect, { signal });
    else await pipeline(response, unpack, collect, { signal });
  } catch (error) {
    // A response that teddy stops early counts as aborted, which hides the reason.
    if (size <= maxBytes) throw toBroken(error);
  }
  if (size > maxBytes) throw failed(`it is larger than ${maxBytes} bytes`);
  return Buffer.concat(chunks);
}

/** The numbers of zlib's errors equal those of other system errors. */
function toBroken(error: unknown): unknown {
  const isPacking = error instanceof Error && /^(?:Z_|ERR_BROTLI|ERR__ERROR_)/.test(errorCode(error) ?? '');
  return isPacking ? failed(`it cannot be unpacked: ${error.message}`) : error;
}

function toUnpacking(encoding: string | undefined): Transform | null {
  const unpack = unpacking(encoding);
  if (unpack !== undefined) return unpack;
  throw failed(`its encoding ${JSON.stringify(encoding?.slice(0, 100))} is not known`);
}

function decode(bytes: Uint8Array, charset: string | null): string {
  const text = toDecoder(charset ?? 'utf-8').decode(bytes);
  if (text.includes('\0')) throw failed('it is not text: it has NUL characters');
  return text;
}

function toDecoder(charset: string): TextDecoder {
  try {
    return new TextDecoder(charset);
  } catch {
    throw failed(`its charset ${JSON.stringify(charset.slice(0, 100))} is not known`);
  }
}

/** Browsers also look near the start of the page, which is ASCII in any charset. */
function findCharset(bytes: Uint8Array): string | null {
  const start = Buffer.from(bytes.subarray(0, 1024)).toString('latin1');
  return /<meta[^>]{0,200}charset\s{0,10}=\s{0,10}["']?([\w:.-]+)/i.exec(start)?.[1] ?? null;
}

function failed(reason: string): TeddyError {
  return new TeddyError('PAGE_FAILED', reason);
}

/** Removes the parts of HTML that nobody reads. The rest of the source is unchanged. */

const openings = /<(script|style|svg)(?=[\s/>])|<!--/gi;

/**
 * Removes scripts, styles, drawings and comments. Linear: reads each character at most a few times. Like a browser,
 * removes an element that never closes up to the end.
 */
export function simplifyHtml(html: string): string {
  const kept: string[] = [];
  let at = 0;
  for (;;) {
    openings.lastIndex = at;
    const opening = openings.exec(html);
    if (opening === null) return [...kept, html.slice(at)].join('');
    kept.push(html.slice(at, opening.index));
    at = findEnd(html, opening[1], openings.lastIndex);
  }
}

/** Returns the offset after the end of the element that begins before `from`; for a comment, `name` is undefined. */
function findEnd(html: string, name: string | undefined, from: number): number {
  if (name === undefined) {
    // `<!-->` and `<!--->` are complete comments.
    const short = /^-?>/.exec(html.slice(from, from + 2));
    const end = short ? from + short[0].length : html.indexOf('-->', from);
    return end === -1 ? html.length : short ? end : end + '-->'.length;
  }
  const closing = new RegExp(`</${name}(?=[\\s/>])`, 'gi');
  closing.lastIndex = from;
  if (closing.exec(html) === null) return html.length;
  const end = html.indexOf('>', closing.lastIndex);
  return end === -1 ? html.length : end + 1;
}
