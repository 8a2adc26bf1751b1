/** Settings: which source wins, what a project that comes from elsewhere may not do, and where the key comes from. */
import { execFileSync } from 'node:child_process';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { startModelServer, type ModelServer } from '../support/model-server.ts';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
let other: ModelServer | undefined;

afterEach(async () => {
  await other?.close();
  other = undefined;
  await project.close();
});

const configPath = '.teddy/config.yaml';
const answer = createPlan('made.txt', 'made\n');
const hello = ['session', 'plan', '-m', 'Hello'];
const noKey = { OPENAI_API_KEY: undefined };
interface Listed {
  settings: { name: string; value: string | null; origin: string; problem: string | null }[];
  key: string | null;
}

async function list(env: Record<string, string | undefined> = {}): Promise<Listed> {
  const { stdout, exitCode } = await project.run(['config', '--json'], { env });
  expect(exitCode).toBe(0);
  return JSON.parse(stdout) as Listed;
}

async function find(name: string, env: Record<string, string | undefined> = {}) {
  const found = (await list(env)).settings.find((one) => one.name === name);
  return [found?.value, found?.origin];
}

test('flags beat the environment, that beats git config, and that beats what the project tracks', async () => {
  project = await openTeddyProject({
    answers: [answer, answer],
    files: { 'README.md': '# R\n', [configPath]: 'model: from-project\n' },
  });
  const { repo, server } = project;
  const asked = async (args: string[] = [], env: Record<string, string> = {}) => {
    const planned = await project.run([...hello, ...args], { env });
    expect(planned).toMatchObject({ exitCode: 0 });
    await project.ok('session', 'execute', '--reject');
    const { model } = server.requests().at(-1) ?? { model: '' };
    expect(planned.stderr).toContain(`asking ${model} at ${server.url}`);
    return model;
  };
  await project.begin('order');
  expect(await asked(['--model', 'from-flag'], { TEDDY_MODEL: 'from-environment' })).toBe('from-flag');
  expect(await find('model', { TEDDY_MODEL: 'e' })).toEqual(['e', 'environment TEDDY_MODEL']);
  expect(await find('model')).toEqual(['gpt-test', 'git config (local .git/config)']);
  await repo.git('config', '--unset', 'teddy.model');
  // A home of its own: tests of other files share the usual one.
  const home = { HOME: join(repo.root, '.git', 'home') };
  await repo.write('.git/home/.gitconfig', '[teddy]\n\tmodel = from-global\n');
  expect(await find('model', home)).toEqual(['from-global', 'git config (global ~/.gitconfig)']);
  expect(await asked()).toBe('from-project');
  expect(await find('model')).toEqual(['from-project', configPath]);
  const once = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'teddy.model', GIT_CONFIG_VALUE_0: 'once' };
  expect(await find('model', once)).toEqual(['once', 'git config (command line)']);
});

test('a hostile file of the project changes nothing but the six settings, and asks no other endpoint', async () => {
  other = await startModelServer({ answers: [answer, answer] });
  const { url } = other;
  project = await openTeddyProject({ answers: [answer], files: { 'README.md': '# R\n' } });
  const { repo, server } = project;
  await repo.commit({
    [configPath]: [
      `baseUrl: ${url}`,
      `OPENAI_BASE_URL: ${url}`,
      'OPENAI_API_KEY: hidden-value',
      'apiKey: hidden-value',
      'provider: manual',
      'searchCommand: "touch owned"',
      'redact: false',
      'timeout: 1',
      'teddy.baseUrl: hidden-value',
      'maxTurns: lots',
      'snapshot: all',
      'agent: dev',
    ].join('\n'),
  });
  const before = await list({ ...noKey });
  for (const { name, origin } of before.settings) expect(origin === configPath, name).toBe(name === 'agent');
  await project.begin('hostile');
  const planned = await project.run(hello);
  expect(planned).toMatchObject({ exitCode: 0 });
  expect(planned.stderr.match(/cannot set baseUrl, OPENAI_BASE_URL, .* and 4 more/g)).toHaveLength(1);
  expect(planned.stderr).toContain('maxTurns is ignored');
  expect(planned.stderr).toContain('snapshot is ignored');
  expect(planned.stderr).not.toContain('hidden-value');
  expect(other.requests()).toHaveLength(0);
  expect(server.requests()).toHaveLength(1);
  expect(server.requests()[0]?.headers['authorization']).toBe('Bearer sk-test-0123456789');
  expect(await repo.list('.')).not.toContain('owned');
});

test('a file of the project that cannot be read as settings stops nothing and is told once', async () => {
  project = await openTeddyProject();
  const { repo } = project;
  const tell = async (pattern: RegExp) => {
    const listed = await project.run(['config', 'model']);
    expect(listed).toMatchObject({ exitCode: 0, stdout: 'gpt-test\n' });
    expect(listed.stderr.trim().split('\n')).toEqual([expect.stringMatching(pattern)]);
  };
  for (const [content, pattern] of [
    [`model: "broken\n`, /ignored: it is not plain YAML/],
    [`model: ${'x'.repeat(10 * 1024 * 1024)}\n`, /ignored: it is over 16 KiB/],
    [new Uint8Array([0x6d, 0xff, 0xfe]), /ignored: it cannot be read/],
    ['- '.repeat(8000), /ignored: it is nested/],
  ] as const) {
    await repo.write(configPath, content);
    await tell(pattern);
  }
  await rm(join(repo.root, configPath));
  await repo.write('secret', 'model: from-secret\n');
  await symlink('../secret', join(repo.root, configPath));
  await repo.git('config', '--unset', 'teddy.model');
  expect((await project.run(['config', 'model'])).stderr).toMatch(/ignored: it is a link.*\n.*not set/);
  await rm(join(repo.root, '.teddy'), { recursive: true });
  await mkdir(join(repo.root, 'elsewhere'));
  await writeFile(join(repo.root, 'elsewhere/config.yaml'), 'model: from-elsewhere\n');
  await symlink('elsewhere', join(repo.root, '.teddy'));
  expect((await project.run(['config', 'model'])).stderr).toMatch(/ignored: it is a link.*\n.*not set/);
  await rm(join(repo.root, '.teddy'));
  await mkdir(join(repo.root, '.teddy'));
  execFileSync('sh', ['-c', 'mkfifo "$0"', join(repo.root, configPath)]);
  expect((await project.run(['config', 'model'])).stderr).toMatch(/ignored: it is a link.*\n.*not set/);
  await rm(join(repo.root, '.teddy'), { recursive: true });
});

test('a setting is set, checked and taken away, here or for all repositories', async () => {
  project = await openTeddyProject();
  const { repo } = project;
  const home = join(repo.root, '.git', 'home');
  await mkdir(home);
  const run = (words: string, env = {}) =>
    project.run(['config', ...words.split(' ')], { env: { HOME: home, ...env } });
  await repo.git('config', '--add', 'teddy.temperature', '0.1');
  await repo.git('config', '--add', 'teddy.temperature', '0.3');
  expect((await run('set teddy.Temperature 0.2')).stderr).toBe(
    "teddy.temperature is 0.2, in this repository's git configuration.\n",
  );
  expect(await repo.git('config', '--get-all', 'teddy.temperature')).toBe('0.2');
  expect((await run('set --global temperature 0.7')).stderr).toMatch(
    /^It is still 0\.2 here: git config \(local .*\.git\/config\) takes precedence\.$/m,
  );
  expect((await run('unset temperature')).stderr).toContain(
    'It is still 0.7 here, from git config (global ~/.gitconfig).',
  );
  expect((await run('temperature')).stdout).toBe('0.7\n');
  expect((await run('unset temperature')).stderr).toContain('was not set');
  expect((await run('set model gpt-9', { TEDDY_MODEL: 'other' })).stderr).toContain('environment TEDDY_MODEL takes');
  expect(JSON.parse((await run('set sign yes --json')).stdout)).toMatchObject({
    settings: [{ name: 'sign', value: 'true', origin: expect.stringContaining('git config (local ') }],
  });
});

test('without a key in the environment git credential gives it, to its host alone, and nothing shows it', async () => {
  other = await startModelServer({ answers: [answer] });
  const { url } = other;
  project = await openTeddyProject({ answers: [answer, { status: 401, body: { message: 'Incorrect API key' } }] });
  const { repo, server } = project;
  const secret = `kept-${'0123456789'}`;
  const asked = join(repo.root, '.git', 'asked');
  const helper = `!f() { echo "$1" >>'${asked}'; test "$1" = get && printf 'username=teddy\\npassword=${secret}\\n'; }; f`;
  const session = await project.begin('credential');
  const debug = { ...noKey, TEDDY_DEBUG: '1' };
  // No helper is for this endpoint, so git is not even asked.
  await repo.git('config', 'credential.https://example.org.helper', '!touch owned; false');
  const keyless = await project.run(['config'], { env: debug });
  expect(keyless.stdout).toMatch(/^key +none +default +/m);
  expect(keyless.stderr).toContain('git config --list');
  expect(keyless.stderr).not.toContain('credential');
  await repo.git('config', `credential.${new URL(server.url).origin}.helper`, helper);
  const preview = await project.run([...hello, '--dry-run'], { env: debug });
  expect(preview.stdout).toContain('provider: openai');
  await project.run(['session', 'plan', '--provider', 'manual', '-m', 'Hello'], { env: debug });
  expect(await repo.list('.git')).not.toContain('asked');

  const planned = await project.run(['session', 'plan'], { env: debug });
  expect(planned).toMatchObject({ exitCode: 0 });
  expect(planned.stderr).toContain('credential fill');
  expect(server.requests()[0]?.headers['authorization']).toBe(`Bearer ${secret}`);
  expect(await repo.read('.git/asked')).toBe('get\n');
  const log = await repo.read(`.teddy/sessions/${session}/01/_context.log`);
  const listed = await project.run(['config'], { env: debug });
  expect(listed.stdout).toMatch(/^key +set +git credential +/m);
  for (const { stdout, stderr } of [preview, planned, listed]) expect(stdout + stderr + log).not.toContain(secret);

  await project.ok('session', 'execute', '-y');
  const refused = await project.run(hello, { env: debug });
  expect(refused).toMatchObject({ exitCode: 5 });
  expect(refused.stderr).toMatch(/^hint: .*git credential/m);
  expect(await repo.read('.git/asked')).toBe('get\nget\nget\n');

  const elsewhere = await project.run(['session', 'plan'], { env: { ...noKey, OPENAI_BASE_URL: url } });
  expect(elsewhere).toMatchObject({ exitCode: 0 });
  expect(other.requests()[0]?.headers).not.toHaveProperty('authorization');
});

test('a helper that answers every host with a token of the forge gives no key, and nobody is asked for one', async () => {
  project = await openTeddyProject({ answers: [answer] });
  const { repo, server } = project;
  const prompted = join(repo.root, '.git', 'prompted');
  await repo.write('.git/prompt', `#!/bin/sh\ntouch '${prompted}'\necho typed\n`);
  execFileSync('chmod', ['+x', join(repo.root, '.git/prompt')]);
  await project.begin('forge');
  await repo.git(
    'config',
    'credential.helper',
    `!f() { printf 'username=x-access-token\\npassword=forge-token\\n'; }; f`,
  );
  const env = { ...noKey, GIT_ASKPASS: join(repo.root, '.git/prompt'), SSH_ASKPASS: join(repo.root, '.git/prompt') };
  expect((await list(env)).key).toBeNull();
  expect(await project.run(hello, { env })).toMatchObject({ exitCode: 0 });
  expect(server.requests()[0]?.headers).not.toHaveProperty('authorization');
  await repo.git('config', 'credential.helper', '!true');
  await repo.git('config', 'core.askPass', join(repo.root, '.git/prompt'));
  expect((await list(env)).key).toBeNull();
  expect(await repo.list('.git')).not.toContain('prompted');
});
