/** Starts a repository's server. Only one runs at a time; clients find it by its record, which it removes when it stops. */
import { randomBytes } from 'node:crypto';
import type { ServerRecords } from '../ports/disk.ts';
import { createApi, type ApiOptions, type RunningApi } from './api.ts';
import { listen, usualPatience, type Listener, type Patience } from './listen.ts';
import { usualStreamLimits } from './event-stream.ts';
import type { PageLink } from './page-routes.ts';
import { toErrorAnswer, type Refusal } from './refusal.ts';

export interface ServerOptions
  extends Omit<ApiOptions, 'token' | 'streamLimits'>, Partial<Pick<ApiOptions, 'streamLimits'>> {
  servers: ServerRecords;
  /** The exact port, or 0 for any. Null means 5000 or the next free port. */
  port: number | null;
  pid: number;
  patience?: Patience;
}

export interface RunningServer {
  url: string;
  port: number;
  token: string;
  /**
   * Makes a link to a session's page or, without a session, to the list of all. With `mayApprove`, anybody who opens
   * the link may approve plans on the page.
   */
  issueLink(session: string | undefined, mayApprove: boolean): Promise<PageLink>;
  /** Resolves when the server has answered every request that arrived before. */
  stop(): Promise<void>;
}

/** Throws SERVER_RUNNING, and USAGE when the port is not available. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const claim = await options.servers.claim();
  try {
    const token = randomBytes(32).toString('base64url');
    const { listener, issueLink } = await openListener(options, token);
    const { port } = listener;
    const url = `http://127.0.0.1:${port}`;
    const stop = async () => {
      await listener.stop();
      await claim.release();
    };
    // Publishes the record last, so that everybody who reads it can already call the server.
    await claim.publish({ url, port, pid: options.pid, token }).catch(async (error: unknown) => {
      await listener.stop();
      throw error;
    });
    return { url, port, token, stop, issueLink: (session, mayApprove) => issueLink(url, session, mayApprove) };
  } catch (error) {
    await claim.release();
    throw error;
  }
}

async function openListener(
  options: ServerOptions,
  token: string,
): Promise<{ listener: Listener; issueLink: RunningApi['issueLink'] }> {
  const { port, clock, report, patience = usualPatience, streamLimits = usualStreamLimits } = options;
  const { fetch, issueLink, endStreams, endActs } = createApi({ ...options, streamLimits, token });
  const onBroken = (refusal: Refusal) => {
    const { status, body } = toErrorAnswer(refusal);
    report.request({ time: clock.now().toISOString(), method: null, path: null, status, ms: null, code: body.code });
  };
  const listener = await listen({ fetch, port, patience, onBroken });
  const stop = async () => {
    endStreams();
    await endActs();
    await listener.stop();
  };
  return { listener: { ...listener, stop }, issueLink };
}
