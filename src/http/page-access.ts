/**
 * Decides who may look at the pages in a browser: the browser exchanges a link, whose code works once and within a
 * minute, for a cookie that lasts as long as the server. A browser sends the cookie to every port on this machine, so
 * the cookie's name includes the port, and its value is valid only for this server.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { liveSources } from '../page/live.ts';
import { listSources } from '../page/render-list.ts';
import { pageSources } from '../page/render-page.ts';
import type { Clock, Hash } from '../ports/project.ts';

const codeMs = 60_000;

/**
 * `person`: only a person has seen the link, so the browser that opens it may approve plans. `program`: a program has
 * seen it.
 */
export type Visitor = 'person' | 'program';

export interface PageAccess {
  /** Makes a code that opens the path once. */
  issue(path: string, visitor: Visitor): { code: string; expiresAt: Date };
  /** Returns the path that the code opens, and the visitor; null when the code is unknown, used, or too old. */
  redeem(code: string): { path: string; visitor: Visitor } | null;
  /** Returns the value for `Set-Cookie`. */
  cookie(port: number, visitor: Visitor): string;
  /** Returns the visitor whose cookie a request carries, or null when it carries none. */
  visitorOf(request: IncomingMessage): Visitor | null;
}

export function pageAccess(clock: Clock): PageAccess {
  const visitors = ['person', 'program'] as const;
  const secrets = { person: randomBytes(32).toString('base64url'), program: randomBytes(32).toString('base64url') };
  const codes = new Map<string, { path: string; visitor: Visitor; expiresAt: Date }>();
  const forgetOld = () => {
    for (const [digest, { expiresAt }] of codes) if (expiresAt <= clock.now()) codes.delete(digest);
  };
  return {
    issue(path, visitor) {
      forgetOld();
      const code = randomBytes(32).toString('base64url');
      const expiresAt = new Date(clock.now().getTime() + codeMs);
      codes.set(toDigest(code), { path, visitor, expiresAt });
      return { code, expiresAt };
    },
    redeem(code) {
      forgetOld();
      const digest = toDigest(code);
      const found = codes.get(digest) ?? null;
      codes.delete(digest);
      return found;
    },
    cookie: (port, visitor) => `${cookieName(port)}=${secrets[visitor]}; Path=/; HttpOnly; SameSite=Strict`,
    visitorOf({ headers, socket }) {
      const name = `${cookieName(socket.localPort ?? 0)}=`;
      const given = (headers.cookie ?? '').split(';').map((one) => one.trim());
      const values = given.filter((one) => one.startsWith(name)).map((one) => one.slice(name.length));
      return visitors.find((visitor) => values.some((value) => isSame(value, secrets[visitor]))) ?? null;
    },
  };
}

function cookieName(port: number): string {
  return `teddy-${port}`;
}

/** Compares digests, which have equal lengths, in constant time, so that the time reveals nothing about the secret. */
export function isSame(given: string, secret: string): boolean {
  return timingSafeEqual(Buffer.from(toDigest(given), 'hex'), Buffer.from(toDigest(secret), 'hex'));
}

function toDigest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

const pages = /^\/(?:$|sessions\/[^/]+(?:$|\/))/;
const events = /^\/api\/sessions\/[^/]+\/events$/;

/** Returns true if the cookie grants access to a path: to the pages, and to a page's events. */
export function isOfPages(method: string | undefined, path: string): boolean {
  return pages.test(path) || (method === 'GET' && events.test(path));
}

/**
 * Returns true if the browser reports that another origin's page makes the request. A page on another port of this
 * machine sends the cookie with requests that need no CORS, such as for an image. Following a link to this server is
 * allowed.
 */
export function isAskedByOther({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  return (site === 'same-site' || site === 'cross-site') && headers['sec-fetch-mode'] !== 'navigate';
}

/** Returns true if a person, not a program, looks at the answer. */
export function isForPerson({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && (headers.accept ?? '').includes('text/html');
}

/**
 * The headers of every response: a browser must not guess its type, cache it, embed it in another origin's page, send
 * its URL as a referrer, or share a browsing context with another origin.
 */
export const answerHeaders = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
};

/** Lets the browser use only teddy's own style sheets and scripts, identified by their hashes. */
export function contentSecurityPolicy(hash: Hash, formAction: "'none'" | "'self'"): string {
  const { style, script } = pageSources(hash);
  // Only the list has a form that works without a script.
  const own = formAction === "'self'" ? listSources(hash) : liveSources(hash);
  return [
    "default-src 'none'",
    `style-src '${style}' '${own.style}'`,
    `script-src '${script}' '${own.script}'`,
    "connect-src 'self'",
    "frame-ancestors 'none'",
    `form-action ${formAction}`,
    "base-uri 'none'",
  ].join('; ');
}
