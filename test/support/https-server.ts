/** An HTTPS server on this machine with a certificate of its own; `openssl` makes it, since node cannot. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Certificate {
  key: string;
  cert: string;
}

/** Null if there is no openssl. */
export function makeCertificate(...names: string[]): Certificate | null {
  const dir = mkdtempSync(join(tmpdir(), 'teddy-certificate-'));
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
  const alternatives = `subjectAltName=${names.map((name) => `DNS:${name}`).join(',')}`;
  const subject = ['-subj', '/CN=teddy test', '-addext', alternatives, '-days', '2'];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  try {
    execFileSync('openssl', ['req', '-x509', ...curve, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' });
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  } finally {
    rmSync(dir, { recursive: true });
  }
}

export interface HttpsServer {
  port: number;
  /** `GET host:port/path` of each request, in order. */
  requests: string[];
  /** The headers of the last request. */
  headers: IncomingMessage['headers'];
  close(): Promise<void>;
}

export type Respond = (request: IncomingMessage, response: ServerResponse) => void;

export async function startHttpsServer(certificate: Certificate, respond: Respond): Promise<HttpsServer> {
  const requests: string[] = [];
  const started: HttpsServer = { port: 0, requests, headers: {}, close: () => Promise.resolve() };
  const server = createServer(certificate, (request, response) => {
    requests.push(`${request.method} ${request.headers.host}${request.url}`);
    started.headers = request.headers;
    respond(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  started.port = (server.address() as AddressInfo).port;
  started.close = () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return started;
}
