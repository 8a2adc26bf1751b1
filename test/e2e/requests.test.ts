/** How the executable speaks HTTP: without undici, through a proxy, and with an authority of the network's own. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeCertificate, startHttpsServer, type HttpsServer } from '../support/https-server.ts';
import { startProxyServer, type ProxyServer } from '../support/proxy-server.ts';
import { openTeddyProject, planOf, type TeddyProject } from '../support/teddy-project.ts';

const certificate = makeCertificate('models.dev', 'site.test', 'api.test');
const list = {
  openai: { models: { 'gpt-5': { limit: { context: 1000, output: 10 }, cost: { input: 1, output: 2 } } } },
};

let project: TeddyProject;
let dir: string;
let loaded: string;
let secure: HttpsServer;
let proxy: ProxyServer;
let listed: { status: number; location?: string };
/** A command as a process of its own, which notes at its end whether it has loaded undici. */
let noted: Record<string, string>;
let proxied: Record<string, string>;

function respond({ url = '' }: IncomingMessage, response: ServerResponse): void {
  if (url === '/page') return void response.setHeader('content-type', 'text/plain').end('a public page');
  if (url === '/api.json') {
    if (listed.location !== undefined) response.setHeader('location', listed.location);
    return void response.writeHead(listed.status, { 'content-type': 'application/json' }).end(JSON.stringify(list));
  }
  const message = { role: 'assistant', content: 'Said.' };
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }));
}

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'teddy-requests-'));
  loaded = join(dir, 'loaded');
  listed = { status: 200 };
  const note = `process.on('exit', () => require('node:fs').appendFileSync(${JSON.stringify(loaded)},
    [process.argv[2], process.moduleLoadList.includes('NativeModule internal/deps/undici/undici')].join(' ') + '\\n'));`;
  await writeFile(join(dir, 'note.cjs'), note);
  await writeFile(join(dir, 'authority.pem'), certificate?.cert ?? '');
  noted = { NODE_OPTIONS: `--require ${join(dir, 'note.cjs')}` };
  if (certificate) secure = await startHttpsServer(certificate, respond);
  proxy = await startProxyServer({ leadsTo: secure?.port });
  proxied = { HTTPS_PROXY: `http://ada:word@${proxy.host}`, NODE_EXTRA_CA_CERTS: join(dir, 'authority.pem') };
});

afterEach(async () => {
  await Promise.all([project.close(), secure?.close(), proxy.close()]);
  await rm(dir, { recursive: true });
});

const run = (args: string[], env: Record<string, string> = {}) =>
  project.run(args, { asProcess: true, env: { ...noted, ...env } });

test('no command but the servers loads undici, whatever is sent', async () => {
  const call = JSON.stringify({ intent: 'Make a', target_file: 'a.txt', operation: 'create' });
  const announced = { text: 'I begin.', toolCalls: [{ name: 'WritePlanTool_begin', arguments: call }] };
  project = await openTeddyProject({
    answers: ['Said.', 'Said.', 'Said.', 'Said.', announced, 'a\nDONE\n', 'Written.'],
  });
  await project.begin('light');
  const anthropic = { ANTHROPIC_BASE_URL: project.server.url, ANTHROPIC_API_KEY: 'sk-ant-test-0123456789' };
  const commands: [string[], Record<string, string>?][] = [
    [['session', 'list']],
    [['session', 'plan', '-m', 'Go']],
    [['session', 'plan', '-m', 'Go', '--provider', 'anthropic'], anthropic],
    [['session', 'chat', '-m', 'Hello']],
    [['session', 'chat', '-m', 'Hello', '--provider', 'anthropic'], anthropic],
    [['write', 'ask', '-y', '-m', 'Write it']],
    [['models']],
    [['models', '--provider', 'anthropic'], anthropic],
  ];
  for (const [args, env] of commands) expect(await run(args, env), args.join(' ')).toMatchObject({ exitCode: 0 });
  if (certificate) {
    expect(await run(['models', 'update'], proxied)).toMatchObject({ exitCode: 0 });
    await project.repo.git('config', 'teddy.readThroughProxy', 'true');
    await project.plan(planOf('### READ\n- **Resource:** https://site.test/page\n'));
    expect(await run(['session', 'execute', '-y'], proxied)).toMatchObject({ exitCode: 0 });
    expect(secure.requests).toEqual(['GET models.dev/api.json', 'GET site.test/page']);
  }
  const lines = (await readFile(loaded, 'utf8')).trim().split('\n');
  expect(lines.length).toBeGreaterThanOrEqual(commands.length);
  expect(lines.filter((line) => line.endsWith(' true'))).toEqual([]);
});

test.skipIf(certificate === null)(
  'a model behind a proxy answers, and an authority of the network needs its file',
  async () => {
    project = await openTeddyProject();
    await project.begin('office');
    const env = { ...proxied, OPENAI_BASE_URL: 'https://api.test/v1' };
    expect(await run(['session', 'plan', '-m', 'Go'], env)).toMatchObject({ exitCode: 0 });
    expect(proxy.asked).toEqual([`CONNECT api.test:443 Basic ${btoa('ada:word')}`]);
    const unknown = await run(['session', 'plan', '-m', 'Go'], { ...env, NODE_EXTRA_CA_CERTS: '' });
    expect(unknown).toMatchObject({ exitCode: 5 });
    expect(unknown.stderr).toMatch(/self-signed certificate .*\[MODEL_UNREACHABLE\]\nhint: .*NODE_EXTRA_CA_CERTS/);
    // The same request would fail again.
    expect(proxy.asked).toHaveLength(2);
  },
);

test.skipIf(certificate === null)('the list of models does not follow from https to http', async () => {
  project = await openTeddyProject();
  listed = { status: 302, location: 'http://site.test/api.json?token=hidden' };
  const failed = await run(['models', 'update'], { ...proxied, HTTP_PROXY: `http://${proxy.host}` });
  expect(failed.stderr).toContain('it redirects from https to http://site.test, which is not followed');
  expect(failed.stderr).not.toContain('hidden');
  expect(secure.requests).toEqual(['GET models.dev/api.json']);
});
