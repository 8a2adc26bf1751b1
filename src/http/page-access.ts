/**
 * Who may look at the pages in a browser: a link with a code that works once, and for a minute, becomes a cookie that lives as long
 * as the server. A browser sends the cookie to every port of this machine, so its name has the port, and its value is this server's.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { liveSources } from '../page/live.ts';
import { pageSources } from '../page/render-page.ts';
import type { Clock, Hash } from '../ports/project.ts';

const codeMs = 60_000;

/** `person`: a person alone has had the link, so that its browser may approve plans. `program`: a program has. */
export type Visitor = 'person' | 'program';

export interface PageAccess {
  /** Makes a code that opens the path once. */
  issue(path: string, visitor: Visitor): { code: string; expiresAt: Date };
  /** Returns the path that the code opens, and for whom; null when it is unknown, used, or too old. */
  redeem(code: string): { path: string; visitor: Visitor } | null;
  /** The value of `Set-Cookie`. */
  cookie(port: number, visitor: Visitor): string;
  /** Whose cookie a request has; null: it has none. */
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

/** Digests are equally long and are compared in constant time, so the time says nothing about the secret. */
export function isSame(given: string, secret: string): boolean {
  return timingSafeEqual(Buffer.from(toDigest(given), 'hex'), Buffer.from(toDigest(secret), 'hex'));
}

function toDigest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

const pages = /^\/(?:$|sessions\/[^/]+(?:$|\/))/;
const events = /^\/api\/sessions\/[^/]+\/events$/;

/** Whether the cookie counts for a path: for the pages, and for the events that a page follows. */
export function isOfPages(method: string | undefined, path: string): boolean {
  return pages.test(path) || (method === 'GET' && events.test(path));
}

/**
 * Whether a page of another origin asks, as its browser says. A page on another port of this machine sends the cookie with what needs
 * no CORS, such as an image; it may follow a link to here.
 */
export function isAskedByOther({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  return (site === 'same-site' || site === 'cross-site') && headers['sec-fetch-mode'] !== 'navigate';
}

/** Whether a person looks at what is answered, in place of a program. */
export function isForPerson({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && (headers.accept ?? '').includes('text/html');
}

/** For every answer: no browser guesses its type, keeps it, shows it in a page of another origin, names it to one, or ties it to one. */
export const answerHeaders = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
};

/** Nothing is applied or run but our own style sheets and scripts, byte for byte. */
export function contentSecurityPolicy(hash: Hash, formAction: "'none'" | "'self'"): string {
  const { style, script } = pageSources(hash);
  const live = liveSources(hash);
  return [
    "default-src 'none'",
    `style-src '${style}' '${live.style}'`,
    `script-src '${script}' '${live.script}'`,
    "connect-src 'self'",
    "frame-ancestors 'none'",
    `form-action ${formAction}`,
    "base-uri 'none'",
  ].join('; ');
}
