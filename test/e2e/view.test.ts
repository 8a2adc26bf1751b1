import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningTeddy } from '../support/run-teddy.ts';
import { openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
let running: RunningTeddy[];

beforeEach(async () => {
  project = await openTeddyProject();
  running = [];
});

afterEach(async () => {
  for (const { kill } of running) kill('SIGINT');
  await Promise.all(running.map(({ result }) => result));
  await project.close();
});

async function view(args: string[], options: Parameters<TeddyProject['start']>[1] = {}): Promise<RunningTeddy> {
  const run = project.start(['view', ...args], { timeoutMs: 170_000, ...options });
  running.push(run);
  await run.waitForOutput(/The link works once/);
  return run;
}

test('the browser of BROWSER is given the link, in the place of %s or as the last word', async () => {
  await project.begin('look');
  const browser = join(project.repo.root, '.git', 'browser.sh');
  await writeFile(browser, `echo "$@" > "$(dirname "$0")/opened"\n`);
  const opened = () => readFile(join(project.repo.root, '.git', 'opened'), 'utf8').catch(() => '');
  const first = await view([], { env: { BROWSER: `/nothing/there:sh ${browser} --new %s tab` } });
  const link = /^http:\S+/m.exec(first.output())?.[0];
  await expect.poll(opened).toBe(`--new ${link} tab\n`);
  const second = await project.run(['view', '--list'], { env: { BROWSER: `sh ${browser}` } });
  expect(second).toMatchObject({ exitCode: 0 });
  await expect.poll(opened).toBe(second.stdout);
});

test('with --json it is one document, and nothing is opened', async () => {
  const session = await project.begin('look');
  const run = await view(['--json', '--no-open']);
  expect(JSON.parse(run.output().split('The link')[0] ?? '')).toMatchObject({
    schema: 'teddy.view/1',
    link: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/open\?code=[\w-]{43}$/),
    isOwnServer: true,
  });
  const { stdout } = await project.run(['session', 'view', session, '--json'], { env: { BROWSER: 'false' } });
  expect(JSON.parse(stdout)).toMatchObject({ isOwnServer: false });
});

test('a server that makes no links is named, with the way out', async () => {
  await project.begin('look');
  const other = createServer((_, response) => response.writeHead(404).end('{}')).listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const run = await view(['--no-open']);
  const path = join(project.repo.root, '.git', 'teddy', 'server.json');
  const record = JSON.parse(await readFile(path, 'utf8')) as object;
  await writeFile(
    path,
    JSON.stringify({ ...record, url: `http://127.0.0.1:${(other.address() as AddressInfo).port}` }),
  );
  const { exitCode, stderr } = await project.run(['view']);
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 5, stderr: expect.stringContaining('[SERVER_UNREACHABLE]') });
  expect(stderr).toContain('answers with status 404');
  other.close();
  expect(run.output()).toContain('until Ctrl-C');
});

test('a bare repository can be looked at', async () => {
  const session = await project.begin('look');
  const bare = join(project.repo.root, '.git', 'bare.git');
  await project.repo.git('clone', '-q', '--bare', '.', bare);
  const run = await view(['--no-open', session], { cwd: bare });
  const link = /^http:\S+/m.exec(run.output())?.[0] ?? '';
  const opened = await fetch(link, { redirect: 'manual' });
  const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
  const page = await fetch(new URL(opened.headers.get('location') ?? '', link), { headers: { Cookie: cookie } });
  expect(await page.text()).toContain('This session has no turns yet');
});
