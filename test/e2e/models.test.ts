/** Asking a model: what leaves the machine, what is kept when it fails, and the ways to do without one. */
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;

afterEach(() => project.close());

const answer = createPlan('made.txt', 'made: ü €\n');

test('session plan --dry-run asks no endpoint how much its models take, and saves nothing', async () => {
  project = await openTeddyProject();
  await project.begin('dry');
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(String(request.url));
    response.setHeader('content-type', 'application/json').end('{"data":[{"id":"gpt-test","max_model_len":9000}]}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await project.repo.git('config', 'teddy.baseUrl', `http://127.0.0.1:${port}/v1`);
  const kept = join(project.repo.root, '.git/teddy/served-models.json');
  for (const name of ['vllm', 'ollama']) {
    await project.repo.git('config', 'teddy.provider', name);
    expect(await project.ok('session', 'plan', '--dry-run', '-m', 'Hello')).toContain('Hello');
  }
  expect([asked, existsSync(kept)]).toEqual([[], false]);
  await project.repo.git('config', 'teddy.provider', 'vllm');
  await project.run(['session', 'plan', '-m', 'Hello']);
  expect([asked[0], existsSync(kept)]).toEqual(['/v1/models', true]);
  server.close().closeAllConnections();
});

test('recorded answers come from a directory, a branch or a bundle, and are labelled', async () => {
  project = await openTeddyProject();
  const { repo } = project;
  const tapes = join(repo.root, '.git', 'tapes');
  await mkdir(tapes);
  await writeFile(join(tapes, '01.md'), answer);
  const bundle = join(tapes, 'one.bundle');
  const plan = ['session', 'plan', '-m', 'Hello', '--recording'];
  for (const [name, ...recording] of [
    ['directory', tapes],
    ['branch', 'teddy/global'],
    ['bundle', bundle, '--provider=recorded'],
  ]) {
    const last = await repo.git('branch', '--show-current');
    if (name === 'branch') recording[0] = last;
    if (name === 'bundle') await repo.git('bundle', 'create', '--quiet', bundle, last);
    await repo.git('switch', '--quiet', 'main');
    await project.begin(`from-${name}`);
    const planned = await project.run([...plan, ...recording]);
    expect(planned, name).toMatchObject({ exitCode: 0, stdout: answer });
    expect(planned.stderr, name).toMatch(/recorded/i);
  }
  expect(await repo.git('log', '-1', '--format=%(trailers:key=Teddy-Provider,valueonly)')).toContain('recorded');
  await project.ok('session', 'execute', '-y');
  await project.refuses('BAD_RECORDING', 2, [...plan, 'no-such-thing']);
  await project.refuses('USAGE', 2, [...plan, tapes, '--from', '-']);
  await repo.write('.git/tapes/02.md', 'As recorded.\n');
  expect(await project.ok('session', 'chat', '-m', 'Hello', '--recording', tapes)).toBe('As recorded.\n');
});
