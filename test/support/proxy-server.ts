/** A local proxy: it makes tunnels and passes plain requests on, or refuses both. */
import { createServer, request as ask } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';

export interface ProxyServer {
  /** `127.0.0.1:port`. */
  host: string;
  /** `CONNECT host:port`, or `GET http://host/path`, with its `Proxy-Authorization`. */
  asked: string[];
  close(): Promise<void>;
}

interface ProxyOptions {
  /** Answers everything with this instead of passing it on. */
  refuses?: number;
  /** Answers nothing at all. */
  isSilent?: boolean;
  /** The target of every name. */
  leadsTo?: number;
}

export async function startProxyServer({ refuses, isSilent, leadsTo }: ProxyOptions = {}): Promise<ProxyServer> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const note = (what: string, words: string | undefined) => asked.push(words === undefined ? what : `${what} ${words}`);
  const server = createServer((request, response) => {
    note(`${request.method} ${request.url}`, request.headers['proxy-authorization']);
    if (isSilent) return;
    if (refuses !== undefined) return void response.writeHead(refuses).end('refused');
    const { port, pathname, search } = new URL(request.url ?? '');
    const { method, headers } = request;
    const passed = ask({ host: '127.0.0.1', port: leadsTo ?? port, path: `${pathname}${search}`, method, headers });
    passed.on('response', (answer) => answer.pipe(response.writeHead(answer.statusCode ?? 0, answer.headers)));
    request.pipe(passed);
  });
  server.on('connect', ({ url = '', headers }, socket: Socket) => {
    note(`CONNECT ${url}`, headers['proxy-authorization']);
    if (isSilent) return;
    if (refuses !== undefined) return void socket.end(`HTTP/1.1 ${refuses} No\r\ncontent-length: 7\r\n\r\nrefused`);
    const target = connect(leadsTo ?? Number(url.split(':').at(-1)), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      target.pipe(socket).pipe(target);
    });
    for (const end of [target, socket]) end.on('error', () => [target, socket].forEach((each) => each.destroy()));
  });
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
