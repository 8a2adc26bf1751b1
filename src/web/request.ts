/** Makes all of teddy's HTTP requests, over `node:http` and `node:https`, and through the proxy that the environment names. */
import type { Agent, IncomingMessage, RequestOptions } from 'node:http';
import { isIP } from 'node:net';
import { addAbortSignal } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import { findProxy, loadClient, NotSent, openTunnel, proxyOptions, refusedBy, type Proxy } from './proxy.ts';
import { encodings, toResponse, type Response } from './response.ts';

export interface WebRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string | undefined;
  signal?: AbortSignal | undefined;
  /** The number of redirects that a request without a body follows; after that, returns a redirect like any other answer. */
  redirects?: number;
}

/** Throws NotSent, the signal's reason, or a connection error. */
export async function request(address: string, options: WebRequest): Promise<Response> {
  const { redirects = 0, headers = {}, ...rest } = options;
  const url = new URL(address);
  const sent = { ...rest, headers: { 'accept-encoding': encodings, ...headers }, agent: await sharedAgent(url) };
  const response = toResponse(await open(url, sent), rest.signal);
  const target =
    redirects === 0 || rest.body !== undefined
      ? null
      : findTarget(response.status, response.headers.get('location'), url);
  if (target === null) return response;
  response.body.cancel?.();
  if (url.protocol === 'https:' && target.protocol === 'http:')
    throw new NotSent(`it redirects from https to ${target.protocol}//${target.host}, which is not followed`);
  const isSame = target.origin === url.origin;
  return request(target.href, {
    ...options,
    headers: isSame ? headers : publicOnes(headers),
    redirects: redirects - 1,
  });
}

export function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}

/** Returns the target of a redirect, or null when the answer is not one. */
export function findTarget(status: number, location: string | undefined, from: URL): URL | null {
  return isRedirect(status) && location !== undefined && URL.canParse(location, from.href)
    ? new URL(location, from)
    : null;
}

/** Removes headers that must not go to another origin, such as a key or a cookie. */
function publicOnes(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => /^(?:accept|user-agent)$/i.test(name)));
}

const agents = new Map<string, Agent>();

// How long to reuse an idle connection. The network may have silently dropped an older one.
const keptMs = 4_000;

/** Returns an agent that keeps connections for later requests without keeping the process alive. */
async function sharedAgent(url: URL): Promise<Agent> {
  const { Agent: Client } = await loadClient(url);
  const agent = agents.get(url.protocol) ?? new Client({ keepAlive: true, timeout: keptMs });
  agents.set(url.protocol, agent);
  return agent;
}

const connectMs = 10_000;
const silentMs = 300_000;

type OpenOptions = RequestOptions &
  Pick<ConnectionOptions, 'ca' | 'rejectUnauthorized' | 'servername'> & {
    body?: string | undefined;
    signal?: AbortSignal | undefined;
  };

/** Returns the answer, whose body the caller must read or destroy. Throws as `request` does. */
export async function open(url: URL, { body, signal, ...options }: OpenOptions): Promise<IncomingMessage> {
  const patience = new AbortController();
  const late = () => patience.abort(new NotSent(`no connection was made within ${connectMs / 1000} s`));
  const timer = setTimeout(late, connectMs);
  const either = AbortSignal.any([patience.signal, ...(signal === undefined ? [] : [signal])]);
  const proxy = findProxy(url);
  try {
    either.throwIfAborted();
    const route = proxy === null ? {} : await routeThrough(proxy, url, { ...options, signal: either });
    const client = await loadClient(proxy !== null && url.protocol === 'http:' ? proxy.url : url);
    const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = client.request(url, { ...options, ...route, timeout: silentMs }, resolve);
      // Does not pass the signal as an option, because a reused connection would keep its first request's signal.
      addAbortSignal(either, outgoing);
      outgoing.on('socket', (socket) => {
        if (outgoing.reusedSocket) clearTimeout(timer);
        else socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => clearTimeout(timer));
      });
      outgoing.on('timeout', () => outgoing.destroy(new Error(`nothing has arrived for ${silentMs / 1000} s`)));
      outgoing.on('error', reject).end(body);
    });
    if (proxy !== null && incoming.statusCode === 407) {
      incoming.destroy();
      throw refusedBy(proxy, url, 407);
    }
    return addAbortSignal(either, incoming);
  } catch (error) {
    throw either.aborted ? either.reason : explain(error, proxy);
  } finally {
    clearTimeout(timer);
  }
}

async function routeThrough(
  proxy: Proxy,
  url: URL,
  options: OpenOptions & { signal: AbortSignal },
): Promise<RequestOptions> {
  if (url.protocol === 'http:') {
    const { headers, ...route } = proxyOptions(proxy);
    const path = `${url.origin}${url.pathname}${url.search}`;
    return { ...route, path, headers: { ...options.headers, ...headers, host: url.host } };
  }
  const socket = await openTunnel(proxy, url, options.signal);
  const { connect } = await import('node:tls');
  const { ca, rejectUnauthorized, servername = url.hostname } = options;
  const host = servername.replace(/^\[|\]$/g, '');
  // An IP address is not a server name; Node checks it as the host.
  const named = isIP(host) === 0 ? { servername: host } : {};
  return {
    agent: undefined,
    defaultPort: 443,
    createConnection: () => connect({ socket, host, ...named, ca, rejectUnauthorized }),
  };
}

/** The errors for a certificate from an authority that this machine does not trust. */
const foreignCertificates =
  /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER_CERT(?:_LOCALLY)?|UNABLE_TO_VERIFY_LEAF_SIGNATURE|CERT_UNTRUSTED)$/;

function explain(thrown: unknown, proxy: Proxy | null): unknown {
  // An AggregateError means that every address of the host failed.
  const error: unknown = thrown instanceof AggregateError ? thrown.errors[0] : thrown;
  if (!(error instanceof Error) || error instanceof NotSent) return error;
  const { code = '' } = error as NodeJS.ErrnoException;
  if (foreignCertificates.test(code))
    return new NotSent(
      `${error.message} (${code})`,
      'If your network or the server uses its own certificate authority, set NODE_EXTRA_CA_CERTS to the file with its certificate (PEM)',
    );
  return proxy === null ? error : new Error(`by ${proxy.label}: ${error.message || code}`);
}
