/** Commands that only read run no program that a copied repository's own configuration names. */
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
let outside: string;

/** A program that notes that it was run. A filter gives what it gets. */
async function makeProgram(name: string): Promise<string> {
  const path = join(outside, name);
  await writeFile(
    path,
    `#!/bin/sh\necho ${name} >> '${join(outside, 'ran')}'\n${/filter|mine/.test(name) ? 'exec cat' : 'exit 1'}\n`,
  );
  await chmod(path, 0o755);
  return path;
}

const keys = `core.fsmonitor core.sshCommand core.askPass core.pager core.gitProxy core.alternateRefsCommand
filter.own.clean filter.own.smudge diff.own.textconv diff.own.command diff.external merge.own.driver
gpg.program gpg.openpgp.program gpg.ssh.program gpg.x509.program credential.helper remote.origin.uploadpack`.split(
  /\s+/,
);

/** The programs that have been run since the last call. */
async function takeRan(): Promise<string[]> {
  const ran = await readFile(join(outside, 'ran'), 'utf8').catch(() => '');
  await rm(join(outside, 'ran'), { force: true });
  return [...new Set(ran.split('\n').filter((name) => name !== ''))].toSorted();
}

beforeAll(async () => {
  outside = await mkdtemp(join(tmpdir(), 'teddy-hostile-'));
  const attributes = '*.txt filter=own diff=own merge=own\n';
  project = await openTeddyProject({ files: { '.gitattributes': attributes, 'b.txt': 'one\ntwo\nthree\n' } });
  const { repo } = project;
  await project.begin('look');
  await project.plan(createPlan('a.txt', 'A\n'));
  await project.ok('session', 'execute', '-y');
  await repo.commit({ 'b.txt': 'ONE\ntwo\nthree\n' }, 'By hand');
  const line = await repo.git('symbolic-ref', '--short', 'HEAD');
  await repo.git('switch', '--quiet', '--create', 'pr', 'main');
  await repo.commit({ 'b.txt': 'one\ntwo\nTHREE\n' }, 'Meanwhile');
  await repo.git('switch', '--quiet', line);
  await project.ok('session', 'land', '--onto', 'pr');
  await repo.write('a.txt', 'edited\n');
  await signTip();
  await repo.git('config', 'remote.origin.url', join(outside, 'nowhere.git'));
  for (const key of keys) await repo.git('config', key, await makeProgram(key));
  await repo.git('config', 'filter.own.required', 'true');
  await takeRan();
});
afterAll(async () => {
  for (const key of keys) await project.repo.git('config', '--unset-all', key);
  await project.close();
  await rm(outside, { recursive: true });
});
beforeEach(takeRan);

/** The signature is none, and git asks its program about it all the same. */
async function signTip(): Promise<void> {
  const { repo } = project;
  const text = await repo.git('cat-file', 'commit', 'HEAD');
  const signature = '-----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----';
  await writeFile(join(outside, 'signed'), `${text.replace('\n\n', `\ngpgsig ${signature}\n\n`)}\n`);
  const signed = await repo.git('hash-object', '-t', 'commit', '-w', join(outside, 'signed'));
  await repo.git('update-ref', 'HEAD', signed);
}

test.each([
  ['session verify'],
  ['session verify --all --fsck'],
  ['session replay'],
  ['session review'],
  ['session export --html page.html --force'],
  ['session export --jsonl page.jsonl --force'],
  ['why b.txt:1'],
  ['blame a.txt'],
  ['status'],
  ['session show 01'],
  ['session list'],
  ['session log'],
  ['session diff 01'],
  ['session search A'],
  ['session stats'],
  ['session context'],
  ['doctor'],
  ['ci verify --base main --head pr'],
])('teddy %s runs no program that the configuration of the repository names', async (words) => {
  // The next steps that it prints would be tried with these programs as well.
  const { exitCode, stderr } = await project.start(words.split(' ')).result;
  expect(await takeRan()).toEqual([]);
  expect(exitCode, stderr).not.toBe(2);
});

test('git itself runs them, and so does a filter that the user has chosen', async () => {
  const { repo } = project;
  await repo.git('status', '--porcelain');
  await repo.git('log', '-1', '--format=%G?');
  expect(await takeRan()).toEqual(['core.fsmonitor', 'filter.own.clean', 'gpg.openpgp.program']);
  const mine = await makeProgram('mine');
  await repo.write('b.txt', 'ONE\ntwo\nthree\n');
  const env = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'filter.own.clean', GIT_CONFIG_VALUE_0: mine };
  expect((await project.start(['status'], { env }).result).exitCode).toBe(0);
  expect(await takeRan()).toEqual(['mine']);
});

test('a blob that only a remote has is not fetched by a program of the configuration', async () => {
  const { repo } = project;
  await repo.git('config', 'remote.origin.promisor', 'true');
  await repo.git('config', 'core.repositoryFormatVersion', '1');
  await repo.git('config', 'extensions.partialClone', 'origin');
  const blob = await repo.git('rev-parse', 'HEAD:.teddy/memos.yaml');
  const path = join(repo.root, '.git', 'objects', blob.slice(0, 2), blob.slice(2));
  const bytes = await readFile(path);
  await rm(path);
  await takeRan();
  await project.start(['session', 'verify']).result;
  expect(await takeRan()).toEqual([]);
  await writeFile(path, bytes);
  await repo.git('config', '--unset', 'extensions.partialClone');
});
