/** Only git itself can check these parts of a line: signatures, incomplete clones, missing objects, other hashes. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import type { Project } from '../../src/ports/project.ts';
import type { Oid } from '../../src/names.ts';
import { findRecorded } from '../../src/workflow/line/find-recorded.ts';
import { replayLine } from '../../src/workflow/replay/line.ts';
import { readSigningKeys } from '../../src/workflow/verify/signing-keys.ts';
import { verifyLine } from '../../src/workflow/verify/line.ts';
import { verifySession } from '../../src/workflow/verify/session.ts';
import { gitText } from '../support/git-process.ts';
import { addHostileRefs } from '../support/hostile-remote.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { create, edit, planOf, run, say, start } from '../support/turns.ts';

let repo: ScratchRepository;
let project: Project;
let outside: string;
let signers: string;
let fingerprint: string;
let session: string;
let line: string;

function open(cwd: string): Promise<Project> {
  return openProject({ cwd, env: process.env, notices: { info: () => undefined, warn: () => undefined } });
}

async function sign(value: string): Promise<void> {
  await repo.git('config', 'teddy.sign', value);
  project.repository.reloadSettings();
}

/** The last turn's entries are signed, with a key that git has been given. */
beforeAll(async () => {
  outside = await mkdtemp(join(tmpdir(), 'teddy-verify-'));
  const key = join(outside, 'key');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'ada@example.org', '-f', key]);
  const shown = execFileSync('ssh-keygen', ['-y', '-f', key], { encoding: 'utf8' });
  fingerprint = execFileSync('ssh-keygen', ['-lf', key], { encoding: 'utf8' }).split(' ')[1] ?? '';
  signers = join(outside, 'signers');
  await writeFile(signers, `ada@example.org ${shown}`);
  repo = await makeScratchRepository({ 'README.md': '# Notes\n' }, { objectFormat: 'sha256' });
  for (const [name, value] of Object.entries({
    'gpg.format': 'ssh',
    'user.signingKey': key,
    'gpg.ssh.allowedSignersFile': signers,
  }))
    await repo.git('config', name, value);
  project = await open(repo.root);
  ({ session } = await start(project));
  line = `teddy/${session}`;
  await say(project, 'One', planOf([create('a.txt')]));
  await run(project);
  await say(project, 'Two', planOf([edit('README.md', '# Notes', '# News')]));
  await run(project);
  await sign('true');
  await say(project, 'Three', 'No plan.');
  await sign('false');
});
afterAll(async () => {
  await project.repository.close();
  await rm(outside, { recursive: true, force: true });
  await repo.close();
});

/** A clone with everything on the line. */
async function clone(name: string, ...options: string[]): Promise<string> {
  const place = join(outside, name);
  await repo.git('clone', '--quiet', '--branch', line, ...options, place);
  return place;
}

async function inClone<Value>(place: string, ask: (there: Project) => Promise<Value>): Promise<Value> {
  const there = await open(place);
  try {
    return await ask(there);
  } finally {
    await there.repository.close();
  }
}

test('an entry that cannot be signed is not published', async () => {
  const tip = await repo.git('rev-parse', line);
  const key = await repo.git('config', 'user.signingKey');
  await repo.git('config', 'user.signingKey', join(outside, 'none'));
  await sign('true');
  try {
    const refused = { code: 'SIGNING_FAILED', message: expect.stringMatching(/^git could not sign: ./) };
    await expect(say(project, 'Four', 'No plan.')).rejects.toMatchObject(refused);
    expect(await repo.git('rev-parse', line)).toBe(tip);
  } finally {
    await repo.git('config', 'user.signingKey', key);
    await sign('false');
  }
});

test('a signature that git can check is merely valid; one with an unknown key is a note', async () => {
  const tip = (await repo.git('rev-parse', line)) as Oid;
  const parent = (await repo.git('rev-parse', `${line}~`)) as Oid;
  const signed = await project.repository.store.checkSignatures(tip, []);
  const good = { state: 'good', keys: [fingerprint], signer: 'ada@example.org' };
  expect(signed).toEqual(
    new Map([
      [tip, good],
      [parent, good],
    ]),
  );
  expect(await verifyLine(project, await findRecorded(project, line))).toMatchObject({ violations: [], notes: [] });
  await writeFile(signers, '');
  const { violations, notes } = await verifyLine(project, await findRecorded(project, line));
  expect(violations).toEqual([]);
  expect(notes).toEqual([expect.stringMatching(/^2 of 2 signatures could not be checked/)]);
  await writeFile(
    signers,
    `ada@example.org ${execFileSync('ssh-keygen', ['-y', '-f', join(outside, 'key')], { encoding: 'utf8' })}`,
  );
});

describe('--signed-by', () => {
  const withKeys = async (signedBy: string[]) => {
    const keys = await readSigningKeys(project, signedBy, (path) => readFile(path, 'utf8').catch(() => null));
    return verifyLine(project, await findRecorded(project, line), { signedBy: keys });
  };
  const unsigned = async (text: string) =>
    (await withKeys([text])).violations.map(({ rule, message }) => `${rule}: ${message}`);

  test('names each entry that none of the keys has signed, whether git trusts them or not', async () => {
    const entries = (await withKeys([fingerprint])).entries;
    for (const named of [fingerprint, join(outside, 'key.pub'), signers]) {
      const { signed, violations } = await withKeys([named]);
      expect(signed).toBe(2);
      expect(violations).toHaveLength(entries - 2);
      expect(new Set(violations.map(({ message }) => message))).toEqual(new Set(['It is not signed.']));
    }
    await repo.git('config', '--unset', 'gpg.ssh.allowedSignersFile');
    expect(await withKeys([fingerprint])).toMatchObject({ signed: 2, notes: [] });
    await repo.git('config', 'gpg.ssh.allowedSignersFile', signers);
  });

  test('accepts no other key', async () => {
    const other = join(outside, 'other');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', other]);
    const found = await unsigned(`${other}.pub`);
    await writeFile(signers, '');
    expect((await withKeys([`${other}.pub`])).notes).toEqual([]);
    await writeFile(signers, `ada@example.org ${await readFile(join(outside, 'key.pub'), 'utf8')}`);
    expect(found.filter((row) => row === 'signature: It is not signed by any of the named keys.')).toHaveLength(2);
  });

  test('needs a fingerprint or a file with a key', async () => {
    await expect(withKeys(['SHA256:short'])).rejects.toMatchObject({ code: 'USAGE', exitCode: 2 });
    await expect(withKeys([join(repo.root, 'README.md')])).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('contains no public SSH key') as string,
    });
  });
});

test.each([
  ['message', (text: string) => text.replace(/^turn 03 reply: /m, 'turn 03 reply: not ')],
  ['tree', (text: string, tree: string) => text.replace(/^tree .*/, `tree ${tree}`)],
])('a commit with another %s below its signature is named', async (_, change) => {
  const signed = `${await repo.git('cat-file', 'commit', line)}\n`;
  const forged = change(signed, await repo.git('rev-parse', `${line}~1^{tree}`));
  expect(forged).not.toBe(signed);
  const oid = gitText(repo.root, ['hash-object', '-w', '-t', 'commit', '--stdin'], { input: forged }) as Oid;
  const { violations } = await verifyLine(project, { ...(await findRecorded(project, line)), tip: oid });
  expect(violations).toContainEqual({
    rule: 'signature',
    commit: oid,
    turn: '03',
    path: null,
    message: 'Its signature is bad.',
  });
});

test('a shallow clone is checked as far as it goes, with a notice; a bare one is checked completely', async () => {
  const [shallow, bare] = await Promise.all([
    clone('shallow', '--depth=3', `file://${repo.root}`),
    clone('bare.git', '--bare', repo.root),
  ]);
  const few = await inClone(shallow, async (there) => verifyLine(there, await findRecorded(there, line)));
  expect(few.violations).toEqual([]);
  expect(few.entries).toBe(2);
  expect(few.notes).toContainEqual(expect.stringMatching(/^The clone is shallow/));
  const { lines, fsck } = await inClone(bare, (there) =>
    verifySession(there, { target: line, all: false, fsck: true }),
  );
  expect(lines).toMatchObject([{ entries: 9, turns: 3, violations: [] }]);
  expect(fsck).toEqual([]);
});

test('a missing file is named once, though every later log shows it, and by git fsck', async () => {
  const place = await clone('damaged.git', '--bare', repo.root);
  const path = `.teddy/sessions/${session}/01/transcript.jsonl`;
  const blob = await repo.git('rev-parse', `${line}:${path}`);
  await rm(join(place, 'objects', blob.slice(0, 2), blob.slice(2)));
  const { lines, fsck } = await inClone(place, (there) =>
    verifySession(there, { target: line, all: false, fsck: true }),
  );
  expect(lines[0]?.violations).toEqual([
    {
      rule: 'objects',
      commit: await repo.git('rev-parse', `${line}~6`),
      turn: '01',
      path,
      message: `The object ${blob} is missing.`,
    },
  ]);
  expect(fsck).toContain(`missing blob ${blob}`);
});

test('a commit that changes a trillion paths is detected before git lists one, wherever the commit is', async () => {
  const place = await clone('bomb.git', '--bare', repo.root);
  const { bomb } = addHostileRefs(place, await repo.git('rev-parse', line));
  const tip = gitText(place, ['rev-parse', bomb]) as Oid;
  const above = gitText(place, ['commit-tree', '-p', tip, '-m', 'Above', `${tip}^{tree}`]) as Oid;
  await inClone(place, async (there) => {
    const known = await findRecorded(there, line);
    const { violations } = await verifyLine(there, { ...known, tip: above });
    expect(violations.at(-1)).toMatchObject({
      rule: 'objects',
      message: expect.stringMatching(new RegExp(`${tip} changes more than 1000000 paths`)),
    });
    await expect(replayLine(there, { ...known, tip: above })).rejects.toMatchObject({ code: 'DAMAGED_SESSION' });
  });
});
