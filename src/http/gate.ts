/**
 * Who may call at all. A page in a browser reaches the loopback address too: without CORS it cannot read the answers, but it
 * can send requests, and with a name that resolves to 127.0.0.1 it can even read. Hence Host, Origin and a token, in this order.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { Refusal } from './refusal.ts';

export interface Knock {
  /** All that were sent. */
  hosts: string[];
  origin: string | undefined;
  authorization: string | undefined;
  /** That the connection came in on. */
  port: number;
}

/** Throws HOST_REFUSED, ORIGIN_REFUSED, TOKEN_REFUSED. */
export function admit({ hosts, origin, authorization, port }: Knock, token: string): void {
  const [host = ''] = hosts.map((name) => name.toLowerCase());
  if (hosts.length !== 1 || !ownHosts(port).includes(host)) {
    throw new Refusal(
      'HOST_REFUSED',
      `This server answers only as 127.0.0.1:${port}, localhost:${port} or [::1]:${port}.`,
    );
  }
  if (origin !== undefined && origin !== `http://${host}`) {
    throw new Refusal('ORIGIN_REFUSED', 'Pages of other origins may not call this server.');
  }
  if (!isSame(toBearer(authorization), token)) {
    const challenge = { 'WWW-Authenticate': 'Bearer' };
    throw new Refusal('TOKEN_REFUSED', 'Send the token of server.json: Authorization: Bearer <token>.', challenge);
  }
}

function ownHosts(port: number): string[] {
  const names = ['127.0.0.1', 'localhost', '[::1]'];
  // Nobody sends the port that is meant anyway.
  return [...names.map((name) => `${name}:${port}`), ...(port === 80 ? names : [])];
}

function toBearer(authorization = ''): string {
  return /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? '';
}

/** In the same time whatever differs: digests are equally long, and tell nothing about how far two texts agree. */
function isSame(given: string, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}
