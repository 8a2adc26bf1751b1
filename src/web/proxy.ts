/**
 * Finds the proxies that the environment names, and opens tunnels through them. The tunnel is teddy's own, because
 * measurements showed faults in packages: `https-proxy-agent` 9.1.0 passes a proxy's 407 on as the server's answer;
 * when a proxy stays silent, neither it nor `hpagent` 1.2.0 ends if the request is interrupted; and `proxy-from-env`
 * 2.1.0, unlike curl, supports neither `10.0.0.0/8` nor subdomains of `example.com` in NO_PROXY. This file can be
 * removed once a package does all of this.
 */
import type { RequestOptions } from 'node:http';
import { BlockList, isIP, type Socket } from 'node:net';
import { isLoopback } from '../session/masks/public-address.ts';

/** The request has not reached any server. */
export class NotSent extends Error {
  override readonly name = 'NotSent';
  /** Present when the same attempt would fail again. Contains the beginning of a sentence, without its end. */
  readonly advice: string | undefined;

  constructor(message: string, advice?: string) {
    super(message);
    this.advice = advice;
  }
}

type Environment = Record<string, string | undefined>;

export interface Proxy {
  url: URL;
  /** For display: the address without user name and password, and the variable that names it. */
  label: string;
  variable: string;
}

/** Returns an address's proxy, or null when the address needs none. Throws NotSent for an unusable proxy. */
export function findProxy({ protocol, hostname, port }: URL, env: Environment = process.env): Proxy | null {
  if (isLoopback(hostname)) return null;
  const names = [`${protocol.slice(0, -1)}_proxy`, 'all_proxy'].flatMap((name) => [name, name.toUpperCase()]);
  const variable = names.find((name) => env[name] !== undefined) ?? '';
  const text = env[variable]?.trim() ?? '';
  if (text === '' || isExcepted(hostname, port || defaultPort(protocol), env)) return null;
  const address = text.includes('://') ? text : `http://${text}`;
  const advice = `Set ${variable} to an address like http://proxy.example:3128, or name ${hostname} in NO_PROXY`;
  if (!URL.canParse(address)) throw new NotSent(`${variable} does not contain the address of a proxy`, advice);
  const url = new URL(address);
  if (!/^https?:$/.test(url.protocol))
    throw new NotSent(
      `${variable} names a ${url.protocol}// proxy, but only http:// and https:// are supported`,
      advice,
    );
  return { url, variable, label: `the proxy ${url.protocol}//${url.host} (${variable})` };
}

function defaultPort(protocol: string): string {
  return protocol === 'https:' ? '443' : '80';
}

/**
 * Returns true if NO_PROXY exempts the host. Follows curl: `*`, names including their subdomains, addresses, and
 * networks, each with an optional port.
 */
function isExcepted(hostname: string, port: string, env: Environment): boolean {
  const host = hostname.replace(/\.$/, '');
  const entries = (env['no_proxy'] ?? env['NO_PROXY'] ?? '').toLowerCase().split(/[\s,]+/);
  return entries.filter(Boolean).some((entry) => {
    if (entry === '*') return true;
    if (entry.includes('/')) return isInNetwork(host, entry);
    const [, name = '', ownPort = port] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(bracket(entry)) ?? [];
    const own = canonical(name.replace(/^\*?\.|\.$/g, ''));
    return ownPort === port && (host === own || host.endsWith(`.${own}`));
  });
}

const bracket = (entry: string) => (isIP(entry) === 6 ? `[${entry}]` : entry);

/** Returns the name as URLs spell it. */
function canonical(name: string): string {
  return URL.canParse(`http://${name}`) ? new URL(`http://${name}`).hostname : name;
}

function isInNetwork(hostname: string, entry: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  const [base = '', prefix] = entry.replace(/[[\]]/g, '').split('/');
  const [family, bits] = [isIP(base), Number(prefix)];
  if (family === 0 || family !== isIP(host) || !(bits >= 0 && bits <= (family === 4 ? 32 : 128))) return false;
  const kind = family === 4 ? 'ipv4' : 'ipv6';
  const networks = new BlockList();
  networks.addSubnet(base, bits, kind);
  return networks.check(host, kind);
}

/** The options for a request to the proxy itself. */
export function proxyOptions({ url: { protocol, hostname, port, username, password } }: Proxy): RequestOptions & {
  headers: Record<string, string>;
} {
  const words = [username, password].map(decode).join(':');
  const keyed = words === ':' ? {} : { 'proxy-authorization': `Basic ${Buffer.from(words).toString('base64')}` };
  return {
    protocol,
    hostname: hostname.replace(/^\[|\]$/g, ''),
    port: port || defaultPort(protocol),
    agent: false,
    headers: keyed,
  };
}

/** Uses a password with a literal percent sign unchanged. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns a connection to the server of `target` through the proxy. Throws NotSent when the proxy refuses. */
export async function openTunnel(proxy: Proxy, target: URL, signal: AbortSignal): Promise<Socket> {
  const path = `${target.hostname}:${target.port || 443}`;
  const options = proxyOptions(proxy);
  const { request } = await loadClient(proxy.url);
  return new Promise((resolve, reject) => {
    request({ ...options, method: 'CONNECT', path, signal, headers: { ...options.headers, host: path } })
      .on('connect', ({ statusCode = 0 }, socket) => {
        if (statusCode >= 200 && statusCode < 300) return resolve(socket as Socket);
        socket.destroy();
        reject(refusedBy(proxy, target, statusCode));
      })
      .on('response', (response) => {
        response.destroy();
        reject(refusedBy(proxy, target, response.statusCode ?? 0));
      })
      .on('error', reject)
      .end();
  });
}

/** Retrying helps only when the proxy could not reach the server. */
export function refusedBy({ label, variable }: Proxy, { hostname }: URL, status: number): NotSent {
  const advice =
    status === 407
      ? `Put the proxy's user name and password in ${variable}, as http://user:password@host:port`
      : status < 500
        ? `Ask the proxy's operator to allow ${hostname}, or add it to NO_PROXY`
        : undefined;
  return new NotSent(`${label} answered ${status} when asked for ${hostname}`, advice);
}

/** Loads TLS only on demand. */
export async function loadClient({ protocol }: URL): Promise<Pick<typeof import('node:http'), 'request' | 'Agent'>> {
  return protocol === 'https:' ? import('node:https') : import('node:http');
}
