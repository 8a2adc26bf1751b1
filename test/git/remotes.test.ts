/** Transfers with real git: over smart http from a server that fails on command, and over paths. */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RemoteRefusedError } from '../../src/errors.ts';
import { openRepository } from '../../src/git/repository.ts';
import type { RefUpdate, Remotes, Repository, TransferProgress } from '../../src/ports/git.ts';
import type { Oid, RefName } from '../../src/names.ts';
import { startGitServer, type GitServer } from '../support/git-server.ts';
import { gitText } from '../support/git-process.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

const lineRef = (name: string) => `refs/heads/teddy/20260124-${name}` as RefName;
const quarantined = (name: string) => `refs/teddy/quarantine/${name}` as RefName;
const never = () => ({ signal: new AbortController().signal });

let server: GitServer;
let repo: ScratchRepository;
let repository: Repository;
let remotes: Remotes;
let url: string;
let first: Oid;
let second: Oid;
let other: Oid;
let count = 0;

beforeAll(async () => {
  [server, repo] = await Promise.all([startGitServer(), makeScratchRepository()]);
  first = (await repo.git('rev-parse', 'HEAD')) as Oid;
  second = (await repo.commit({ 'a.txt': 'a\n' }, 'Second')) as Oid;
  other = (await repo.git('commit-tree', '-p', first, '-m', 'Other', `${first}^{tree}`)) as Oid;
  repository = await openRepository({ cwd: repo.root, env: process.env });
  remotes = repository.remotes;
});
afterAll(async () => {
  await repository.close();
  await repo.close();
  await server.close();
});
beforeEach(async () => {
  Object.assign(server, { fault: null, delayMs: 0, account: null, requests: [] });
  count += 1;
  url = await server.create(`r${count}`);
  await repo.git('config', 'remote.origin.url', url);
  repository.reloadSettings();
});

const path = () => join(server.root, basename(url));
const create = (name: string, oid = first): RefUpdate => ({ ref: lineRef(name), old: null, new: oid });
const push = (...updates: RefUpdate[]) => remotes.push('origin', updates, never());
const there = () => gitText(path(), ['for-each-ref', '--format=%(refname) %(objectname)']);
const asked = (part: string) => server.requests.filter((request) => request.includes(part)).length;

describe('a listing', () => {
  test('has the refs below the prefixes, and distinguishes an empty remote from one without such refs', async () => {
    expect(await remotes.list('origin', ['refs/heads/teddy/'], never())).toEqual({ refs: [], isEmpty: true });
    gitText(repo.root, ['push', '--quiet', path(), `${first}:refs/heads/main`]);
    expect(await remotes.list(url, ['refs/heads/teddy/'], never())).toEqual({ refs: [], isEmpty: false });
    await push(create('a'));
    const refs = [{ ref: lineRef('a'), oid: first }];
    expect(await remotes.list(path(), ['refs/heads/teddy/', 'refs/x/'], never())).toEqual({ refs, isEmpty: false });
    expect(await remotes.list(`file://${path()}`, ['refs/heads/teddy/'], never())).toMatchObject({ refs });
  });

  test('lists the existing remotes instead of an unknown one, and takes none for an option', async () => {
    const listed = (remote: string) => remotes.list(remote, [], never());
    await expect(listed('orign')).rejects.toMatchObject({
      code: 'UNKNOWN_REMOTE',
      hint: expect.stringMatching(/^Configured remotes: origin\./),
    });
    await expect(listed('--upload-pack=touch made;')).rejects.toMatchObject({ code: 'UNKNOWN_REMOTE' });
    await expect(listed('ext::touch made')).rejects.toMatchObject({
      code: 'REMOTE_UNREACHABLE',
      message: expect.stringMatching(/transport 'ext' not allowed/),
    });
    expect(await repo.list('.')).not.toContain('made');
    expect(await remotes.names()).toEqual(['origin']);
  });

  test('resolves a path from the user’s directory, and prefers a configured name to a directory', async () => {
    const here = await openRepository({ cwd: server.root, env: { ...process.env, GIT_DIR: join(repo.root, '.git') } });
    await push(create('a'));
    expect((await here.remotes.list(basename(url), ['refs/'], never())).refs).toHaveLength(1);
    await mkdir(join(server.root, 'origin'), { recursive: true });
    expect((await here.remotes.list('origin', ['refs/'], never())).refs).toHaveLength(1);
    await here.close();
  });
});

describe('a push', () => {
  test('makes, moves and deletes refs, each by its lease', async () => {
    const progress: TransferProgress[] = [];
    const onProgress = (step: TransferProgress) => void progress.push(step);
    await remotes.push('origin', [create('a'), create('b')], { ...never(), onProgress });
    expect(progress).toContainEqual({ phase: 'Writing objects', done: 3, total: 3 });
    expect(await push({ ...create('a', second), old: first }, { ref: lineRef('b'), old: first, new: null })).toBe(
      'done',
    );
    expect(there()).toBe(`${lineRef('a')} ${second}`);
  });

  test('changes nothing at all if one lease does not hold', async () => {
    await push(create('a', second));
    expect(await push(create('b'), { ...create('a', second), old: first }, create('c'))).toBe('done');
    const before = there();
    expect(await push(create('d'), { ref: lineRef('a'), old: first, new: null })).toBe('moved');
    expect(await push(create('d'), create('a', other))).toBe('moved');
    expect(there()).toBe(before);
  });

  test('is refused if it would rewrite, even if the lease holds', async () => {
    await push(create('a', second));
    for (const rewritten of [first, other])
      await expect(push({ ref: lineRef('a'), old: second, new: rewritten })).rejects.toMatchObject({
        code: 'REMOTE_AHEAD',
      });
    const unknown = '1'.repeat(40) as Oid;
    await expect(push({ ref: lineRef('a'), old: unknown, new: second })).rejects.toMatchObject({
      code: 'REMOTE_AHEAD',
    });
    expect(there()).toBe(`${lineRef('a')} ${second}`);
  });

  test('pushes nothing more that the configuration adds', async () => {
    for (const [key, value] of [
      ['push.followTags', 'true'],
      ['remote.origin.mirror', 'true'],
      ['remote.origin.push', 'refs/heads/main:refs/heads/main'],
      ['push.recurseSubmodules', 'check'],
    ])
      await repo.git('config', `${key}`, `${value}`);
    await repo.git('tag', '-a', '-m', 'One', 'one', first);
    expect(await push(create('a'))).toBe('done');
    expect(there()).toBe(`${lineRef('a')} ${first}`);
    await repo.git('config', '--remove-section', 'push');
    await repo.git('config', '--unset', 'remote.origin.mirror');
    await repo.git('config', '--unset', 'remote.origin.push');
  });

  test('shows the server’s message when it is refused, and is not retried', async () => {
    const hook = join(path(), 'hooks', 'pre-receive');
    await writeFile(hook, '#!/bin/sh\necho "Only on Mondays: Connection reset." >&2\nexit 1\n');
    await chmod(hook, 0o755);
    await expect(push(create('a'))).rejects.toMatchObject({
      code: 'REMOTE_REFUSED',
      message:
        'origin refused teddy/20260124-a: pre-receive hook declined. It says: Only on Mondays: Connection reset.',
    });
    expect(asked('.git/git-receive-pack')).toBe(1);
  });

  test('names the one ref that a hook refuses, and sends none', async () => {
    const hook = join(path(), 'hooks', 'update');
    await writeFile(hook, '#!/bin/sh\ncase $1 in *-b) exit 1;; esac\n');
    await chmod(hook, 0o755);
    const refusal = await push(create('a'), create('b')).catch((error: unknown) => error as RemoteRefusedError);
    expect([...(refusal as RemoteRefusedError).refusals.keys()]).toEqual([lineRef('b')]);
    expect(there()).toBe('');
  });

  test('whose response is lost is looked up, not repeated', async () => {
    server.fault = { kind: 'lost', times: 1, path: '.git/git-receive-pack' };
    expect(await push(create('a'), create('b'))).toBe('done');
    Object.assign(server, {
      requests: [],
      fault: { kind: 'cut', afterBytes: 0, times: 1, path: '.git/git-receive-pack' },
    });
    expect(await push(create('c'), create('d'))).toBe('done');
    expect(asked('.git/git-receive-pack')).toBe(1);
    expect(there().split('\n')).toHaveLength(4);
  });

  test('that did not arrive is repeated', async () => {
    server.fault = { kind: 'status', status: 503, times: 1, path: '/git-receive-pack' };
    expect(await push(create('a'))).toBe('done');
    expect(asked('/git-receive-pack')).toBe(2);
  });
});

describe('a fetch', () => {
  const fetchOne = (name: string, remote = 'origin') =>
    remotes.fetch(remote, [{ from: lineRef(name), to: quarantined(name) }], never());

  test('moves only refs in the quarantine, even backwards', async () => {
    await push(create('a', second), create('b', second));
    gitText(path(), ['tag', 'v1', second]);
    await repo.git('config', 'remote.origin.fetch', '+refs/heads/*:refs/remotes/origin/*');
    await repo.git('config', 'remote.origin.tagOpt', '--tags');
    await repo.git('config', 'fetch.prune', 'true');
    await repo.git('update-ref', quarantined('a'), other);
    await repo.git('update-ref', quarantined('kept'), other);
    const before = await repo.fingerprint();
    await fetchOne('a');
    const after = await repo.fingerprint();
    const withoutOne = (refs: string[]) => refs.filter((ref) => !ref.startsWith(quarantined('a')));
    expect({ ...after, refs: withoutOne(after.refs) }).toEqual({ ...before, refs: withoutOne(before.refs) });
    expect(after.refs).toContain(`${quarantined('a')} ${second}`);
    expect(await repo.list('.git')).not.toContain('FETCH_HEAD');
  });

  test('writes nowhere else, and asks for no invalid names', async () => {
    const refs = (from: string, to: string) => [{ from: from as RefName, to: to as RefName }];
    const fetch = (from: string, to: string) => remotes.fetch('origin', refs(from, to), never());
    await expect(fetch(lineRef('a'), lineRef('a'))).rejects.toMatchObject({ code: 'GIT_FAILED' });
    const traversing = `${quarantined('a')}/../../../heads/main`;
    await expect(fetch(lineRef('a'), traversing)).rejects.toMatchObject({ code: 'HOSTILE_SESSION' });
    await expect(fetch(`${lineRef('a')}\n+refs/heads/x:refs/heads/y`, quarantined('a'))).rejects.toMatchObject({
      code: 'HOSTILE_SESSION',
    });
    expect(server.requests).toEqual([]);
  });

  test('is retried after a 503 and a broken connection, and not forever', async () => {
    await push(create('a', second));
    server.fault = { kind: 'status', status: 503, times: 2, path: 'info/refs' };
    await fetchOne('a');
    await repo.git('update-ref', '-d', quarantined('a'));
    await repo.git('prune', '--expire=now');
    const large = gitText(repo.root, ['hash-object', '-w', '--stdin'], { input: randomBytes(40_000) });
    const tree = gitText(repo.root, ['mktree'], { input: `100644 blob ${large}\tlarge.bin\n` });
    const commit = (await repo.git('commit-tree', '-m', 'Large', tree)) as Oid;
    await push(create('large', commit));
    await repo.git('prune', '--expire=now');
    server.fault = { kind: 'cut', afterBytes: 20_000, times: 1, path: '/git-upload-pack' };
    await fetchOne('large');
    expect(await repo.git('rev-parse', quarantined('large'))).toBe(commit);

    Object.assign(server, { requests: [], fault: { kind: 'status', status: 503, times: 100 } });
    await expect(fetchOne('a')).rejects.toMatchObject({
      code: 'REMOTE_UNREACHABLE',
      message: expect.stringMatching(/^origin cannot be reached: .*returned error: 503$/),
    });
    expect(server.requests).toHaveLength(3);
  });

  test('asks only the helpers for a password, and only once', async () => {
    await push(create('a'));
    server.account = { user: 'ada', password: 'p-a-s-s' };
    server.requests = [];
    await expect(fetchOne('a')).rejects.toMatchObject({
      code: 'REMOTE_UNREACHABLE',
      hint: expect.stringMatching(/password/),
    });
    const withWrong = url.replace('http://', 'http://ada:wr-ong@');
    const error = await fetchOne('a', withWrong).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'REMOTE_UNREACHABLE',
      message: expect.stringMatching(/Authentication failed/),
    });
    expect(JSON.stringify([error, (error as Error).message])).not.toContain('wr-ong');
    expect(server.requests.length).toBeLessThan(5);
    await repo.git('config', 'credential.helper', '!f() { echo username=ada; echo password=p-a-s-s; }; f');
    await fetchOne('a');
    await repo.git('config', '--unset', 'credential.helper');
  });

  test('that is interrupted leaves no process and no ref behind', async () => {
    await push(create('a'));
    server.delayMs = 30_000;
    const controller = new AbortController();
    const fetching = remotes.fetch('origin', [{ from: lineRef('a'), to: quarantined('late') }], {
      signal: controller.signal,
    });
    const end = expect(fetching).rejects.toMatchObject({ code: 'INTERRUPTED' });
    const ofOurs = () => processesWith(url);
    await expect.poll(ofOurs, { timeout: 5000 }).not.toEqual([]);
    controller.abort();
    await end;
    expect(ofOurs()).toEqual([]);
    expect(await repo.gitSucceeds('rev-parse', '--verify', quarantined('late'))).toBe(false);
  });

  test('accepts nothing if git refuses an object', async () => {
    const blob = gitText(path(), ['hash-object', '-w', '--stdin'], { input: 'x\n' });
    const tree = gitText(path(), ['mktree'], { input: `100644 blob ${blob}\t.git\n` });
    const commit = gitText(path(), ['commit-tree', '-m', 'Bad', tree]);
    gitText(path(), ['update-ref', lineRef('bad'), commit]);
    await expect(fetchOne('bad')).rejects.toMatchObject({
      code: 'HOSTILE_SESSION',
      message: expect.stringMatching(/hasDotgit/),
    });
    expect(await repo.gitSucceeds('cat-file', '-e', tree)).toBe(false);
    expect(await repo.gitSucceeds('rev-parse', '--verify', quarantined('bad'))).toBe(false);
    await expect(fetchOne('gone')).rejects.toMatchObject({ code: 'REMOTE_CHANGED' });
  });
});

describe('an incomplete clone', () => {
  test('fetches and pushes, shallow or partial', async () => {
    gitText(repo.root, ['push', '--quiet', path(), `${second}:refs/heads/main`]);
    gitText(path(), ['config', 'uploadpack.allowFilter', 'true']);
    await push(create('a', other));
    for (const option of ['--depth=1', '--filter=blob:none']) {
      const root = join(server.root, `clone${option}`);
      await repo.git('clone', '--quiet', option, url, root);
      const clone = await openRepository({ cwd: root, env: process.env });
      await clone.remotes.fetch('origin', [{ from: lineRef('a'), to: quarantined('a') }], never());
      const next = gitText(root, ['commit-tree', '-p', other, '-m', 'Next', `${other}^{tree}`]) as Oid;
      const update = { ref: lineRef(`of${option.replaceAll(/[^a-z]/g, '')}`), old: null, new: next };
      expect(await clone.remotes.push('origin', [update], never())).toBe('done');
      await clone.close();
    }
    expect(there().split('\n')).toHaveLength(4);
  });
});

/** Finds this user's processes whose arguments contain the text. */
function processesWith(text: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(text);
      } catch {
        return false;
      }
    });
}
