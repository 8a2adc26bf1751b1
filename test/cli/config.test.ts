/** Settings: which source wins, what a project that comes from elsewhere may not do, and where the key comes from. */
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';
import { afterEach, expect } from 'vitest';
import { type ModelServer } from '../support/model-server.ts';
import { quickTest as test, slowTest } from '../support/slow-test.ts';

let project: MemoryTeddy;
let other: ModelServer | undefined;

afterEach(async () => {
  await other?.close();
  other = undefined;
  await project.close();
});

const hello = ['session', 'plan', '-m', 'Hello'];
const noKey = { OPENAI_API_KEY: undefined };

test('a wrong value stops what needs it with its origin, and the list shows it all the same', async () => {
  project = await openMemoryTeddy();
  await project.begin('wrong');
  await project.repo.git('config', 'teddy.temperature', 'warm');
  const said = await project.refuses('BAD_SETTING', 2, hello);
  expect(said).toContain('teddy.temperature is "warm" (git config (local .git/config))');
  await project.refuses('BAD_SETTING', 2, hello, { env: { TEDDY_PROVIDER: 'oracle' } });
  await project.refuses('BAD_SETTING', 2, ['config', 'temperature']);
  expect(await project.refuses('BAD_SETTING', 2, ['config', 'modle'])).toContain('Is it model?');
  const listed = await project.run(['config']);
  expect(listed).toMatchObject({ exitCode: 0 });
  expect(listed.stdout).toMatch(/^temperature +warm +git config \(local \.git\/config\) +sent with every request$/m);
  expect(listed.stderr).toContain('teddy.temperature cannot be used: it takes a number.');
});

test('on a terminal that is too narrow for it, what a setting is for has a line of its own', async () => {
  project = await openMemoryTeddy();
  const run = project.inTerminal(['config']);
  expect(await run.exitCode).toBe(0);
  expect(run.text()).toMatch(/^model +gpt-test +git config \(local \.git\/config\)\n {2}the model to ask$/m);
  expect(
    run
      .text()
      .split('\n')
      .filter((line) => line.length > 100),
  ).toEqual([]);
});

slowTest('a key that would travel unencrypted to another machine is warned about before it does', async () => {
  project = await openMemoryTeddy();
  await project.begin('plain');
  // Reserved for documentation: it resolves nowhere.
  const env = { OPENAI_BASE_URL: 'http://model.invalid/v1' };
  const plain = await project.run(hello, { env });
  expect(plain).toMatchObject({ exitCode: 5 });
  expect(plain.stderr).toContain('warning: The API key is sent unencrypted to http://model.invalid/v1.');
  const keyless = await project.run(['session', 'plan'], { env: { ...env, ...noKey } });
  expect(keyless.stderr).not.toContain('unencrypted');
});

test('what a setting does not take is refused with the way out, and the key is never shown', async () => {
  project = await openMemoryTeddy();
  for (const [words, code, text] of [
    ['set temperature warm', 'BAD_SETTING', 'it takes a number'],
    ['set baseUrl http://u:secret@h/', 'BAD_SETTING', 'without user name, password'],
    ['set modle x', 'BAD_SETTING', 'Is it model?'],
    ['set key sk-1', 'BAD_SETTING', 'no setting stores it'],
    ['set model', 'USAGE', 'teddy config set <name> <value>'],
    ['unset model x', 'USAGE', 'teddy config unset <name>'],
    ['set sessionsRemote nosuch', 'UNKNOWN_REMOTE', 'Add it: `git remote add nosuch <url>`; or name another one:'],
    ['model x', 'USAGE', 'To set one: `teddy config set model x`.'],
  ] as const)
    expect(await project.refuses(code, 2, ['config', ...words.split(' ')]), words).toContain(text);
  await project.refuses('BAD_SETTING', 2, ['config', 'set', 'model', '']);
  expect(await project.refuses('BAD_SETTING', 2, ['config', 'key'])).toContain(
    'The key is never printed, and no setting stores it.',
  );
  const before = await project.repo.fingerprint();
  const shown = await project.run(['config']);
  expect(shown.stdout).toMatch(/^key +set +environment OPENAI_API_KEY +/m);
  expect(shown.stdout + shown.stderr).not.toContain('sk-test-0123456789');
  expect(await project.ok('config', 'teddy.MODEL')).toBe('gpt-test\n');
  expect(await project.run(['config', 'maxTurns'])).toMatchObject({ exitCode: 0, stdout: '' });
  expect(await project.repo.fingerprint()).toEqual(before);
});
