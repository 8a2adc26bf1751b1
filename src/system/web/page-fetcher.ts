/** Fetches public pages from exactly the addresses that were checked, or through a proxy if the user allows it. */
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import type { LookupAddress } from 'node:dns';
import { lookup as lookUp } from 'node:dns/promises';
import { TeddyError } from '../../errors.ts';
import { isPublicAddress } from '../../session/masks/public-address.ts';
import { parsePageUrl } from '../../session/masks/urls.ts';
import type { FetchedPage, Pages } from '../../ports/web.ts';
import { findProxy, NotSent } from '../../web/proxy.ts';
import { findTarget, isRedirect, open } from '../../web/request.ts';
import { readPageText } from './page-text.ts';
import { errorReason } from '../../disk/system-error.ts';

interface PageFetcherOptions {
  /** The user's choice in `teddy.readThroughProxy`. */
  readsThroughProxy?(): Promise<boolean>;
  // For tests, because the defaults refuse a server on this machine. No variable or setting changes these fields.
  lookup?: LookupHost;
  isPublic?(address: string): boolean;
  /** PEM certificates to trust in place of the well-known ones. */
  ca?: string;
  timeoutMs?: number;
  maxBytes?: number;
}

type Limits = Required<Omit<PageFetcherOptions, 'ca'>> & Pick<PageFetcherOptions, 'ca'>;

/** Looks up a host once; the connection then uses only the addresses that teddy checked. */
export type LookupHost = (host: string) => Promise<LookupAddress[]>;

export const systemLookup: LookupHost = (host) => lookUp(host, { all: true });

const defaults = {
  readsThroughProxy: () => Promise.resolve(false),
  lookup: systemLookup,
  isPublic: isPublicAddress,
  timeoutMs: 10_000,
  maxBytes: 1024 * 1024,
};
const maxRedirects = 5;
const headers = {
  accept: 'text/html, text/plain, text/markdown, application/json, text/*;q=0.9, application/xml;q=0.8, */*;q=0.1',
  'accept-encoding': 'gzip, br',
  'user-agent': 'teddy',
};

/**
 * Fetches `https:` only. Every address of the host must be public, before the first request and after each of up to 5
 * redirects. Sends no cookies and no credentials, and always verifies the host's certificate. A proxy looks up the name
 * itself, so checking the addresses here would prove nothing: fetching through one needs the user's permission, and
 * this looks up no name.
 */
export function pageFetcher(options: PageFetcherOptions = {}): Pages {
  const limits: Limits = { ...defaults, ...options };
  return {
    async fetch(url, signal) {
      const deadline = startDeadline(limits.timeoutMs, signal);
      try {
        return await Promise.race([followRedirects(url, limits, deadline.signal), deadline.expired]);
      } catch (error) {
        throw toPageError(url, error, { signal, deadline, timeoutMs: limits.timeoutMs });
      } finally {
        deadline.stop();
      }
    },
  };
}

interface Deadline {
  /** Aborts on timeout, when the user interrupts, and when the fetch stops. */
  signal: AbortSignal;
  /** Rejects on timeout or interruption, because not every awaited operation can be aborted. */
  expired: Promise<never>;
  isOver(): boolean;
  stop(): void;
}

function startDeadline(timeoutMs: number, user: AbortSignal): Deadline {
  const controller = new AbortController();
  let isOver = false;
  const interrupt = () => controller.abort();
  const timer = setTimeout(() => {
    isOver = true;
    controller.abort();
  }, timeoutMs);
  const expired = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason as Error), { once: true });
  });
  // Nothing awaits this anymore once the page has arrived.
  expired.catch(() => undefined);
  user.addEventListener('abort', interrupt, { once: true });
  if (user.aborted) interrupt();
  return {
    signal: controller.signal,
    expired,
    isOver: () => isOver,
    stop() {
      clearTimeout(timer);
      user.removeEventListener('abort', interrupt);
      controller.abort();
    },
  };
}

async function followRedirects(start: string, limits: Limits, signal: AbortSignal): Promise<FetchedPage> {
  let url = requirePageUrl(start);
  for (let count = 0; count <= maxRedirects; count += 1) {
    const response = await send(new URL(url), limits, signal);
    const target = requireTarget(response, url);
    if (target === null) {
      const page = await readPageText(response, limits.maxBytes, signal);
      return { url, ...page };
    }
    response.destroy();
    url = requirePageUrl(target);
  }
  throw new TeddyError('PAGE_FAILED', `it redirects more than ${maxRedirects} times`);
}

function requirePageUrl(text: string): string {
  const parsed = parsePageUrl(text);
  if ('url' in parsed) return parsed.url;
  throw new TeddyError('PAGE_REFUSED', parsed.problem);
}

/** Returns the redirect target of the response; null for a page. */
function requireTarget({ statusCode = 0, headers: { location } }: IncomingMessage, url: string): string | null {
  if (statusCode >= 200 && statusCode < 300) return null;
  if (!isRedirect(statusCode)) {
    throw new TeddyError('PAGE_FAILED', `it answered ${statusCode} ${STATUS_CODES[statusCode] ?? ''}`.trimEnd());
  }
  const target = findTarget(statusCode, location, new URL(url));
  if (target === null)
    throw new TeddyError('PAGE_FAILED', `it answered ${statusCode} without saying where the page is`);
  return target.href;
}

async function send(url: URL, limits: Limits, signal: AbortSignal): Promise<IncomingMessage> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const proxy = findProxy(url);
  if (proxy !== null && !(await limits.readsThroughProxy()))
    throw new TeddyError(
      'PAGE_REFUSED',
      `behind ${proxy.label}, it is unknown whether ${host} leads into your network`,
      'To read pages through it anyway: `git config teddy.readThroughProxy true`.',
    );
  const addresses = proxy === null ? await resolvePublic(host, limits) : [];
  const { ca } = limits;
  const lookup: LookupFunction = (_host, { all }, callback) => {
    const [first] = addresses;
    if (all || first === undefined) callback(null, addresses);
    else callback(null, first.address, first.family);
  };
  return open(url, {
    headers,
    // Keeps no connection open.
    agent: false,
    lookup,
    signal,
    // NODE_TLS_REJECT_UNAUTHORIZED would switch verification off.
    rejectUnauthorized: true,
    // An IP address cannot be sent as a server name (SNI); the server's certificate must list the address.
    servername: isIP(host) === 0 ? host.replace(/\.$/, '') : '',
    ...(ca === undefined ? {} : { ca }),
  });
}

function toPageError(
  url: string,
  error: unknown,
  { signal, deadline, timeoutMs }: { signal: AbortSignal; deadline: Deadline; timeoutMs: number },
): TeddyError {
  if (signal.aborted) return new TeddyError('INTERRUPTED', `${url} was not fetched: interrupted.`);
  if (deadline.isOver()) {
    return new TeddyError('PAGE_FAILED', `${url} could not be fetched: it took longer than ${timeoutMs / 1000} s.`);
  }
  if (!(error instanceof TeddyError)) {
    const advice = error instanceof NotSent && error.advice !== undefined ? `${error.advice}.` : undefined;
    return new TeddyError('PAGE_FAILED', `${url} could not be fetched: ${errorReason(error)}.`, advice, {
      cause: error,
    });
  }
  const said = error.code === 'PAGE_REFUSED' ? 'is not fetched' : 'could not be fetched';
  return new TeddyError(error.code, `${url} ${said}: ${error.message}.`, error.hint, { cause: error });
}

/** Returns all addresses of a host name or an IP address. Throws PAGE_REFUSED when any of them is not public. */
export async function resolvePublic(
  host: string,
  { lookup: find, isPublic }: { lookup: LookupHost; isPublic(address: string): boolean },
): Promise<LookupAddress[]> {
  const family = isIP(host);
  const addresses = family === 0 ? await find(host) : [{ address: host, family }];
  const refused = addresses.find(({ address }) => !isPublic(address));
  if (refused) {
    const what = family === 0 ? `${host} leads to ${refused.address}, which` : refused.address;
    throw new TeddyError('PAGE_REFUSED', `${what} is not a public address`);
  }
  if (addresses.length === 0) throw new TeddyError('PAGE_FAILED', `${host} has no address`);
  return addresses;
}
