/**
 * A local git failure says nothing about what somebody else has pushed: it is never treated as an attack, and nothing
 * moves.
 */
import { cp, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import type { Project } from '../../src/ports/project.ts';
import { newSession } from '../../src/workflow/line/new-session.ts';
import { pullSessions } from '../../src/workflow/sharing/pull-sessions.ts';
import { syncSessions } from '../../src/workflow/sharing/sync-sessions.ts';
import { verifySession } from '../../src/workflow/verify/session.ts';
import { gitText } from '../support/git-process.ts';
import { makeScratchRepository } from '../support/scratch-repository.ts';
import { create, planOf, run, say } from '../support/turns.ts';

const request = { all: true, signal: new AbortController().signal };
const notices = { info: () => undefined, warn: () => undefined };

let dir: string;
let line: string;
let used: string;

/** The environment with a `git` on PATH that records its commands, and exits with `exitCode` for `verb`. */
async function fail(verb: string, exitCode = 137): Promise<Record<string, string | undefined>> {
  const bin = join(dir, `bin-${verb}`);
  await mkdir(bin, { recursive: true });
  const script = `#!/bin/sh
for word; do
  if [ -n "$isValue" ]; then isValue=; continue; fi
  case "$word" in -c) isValue=1 ;; -*) ;; *) verb=$word; break ;; esac
done
echo "$verb" >> '${used}'
[ "$verb" = '${verb}' ] && exit ${exitCode}
exec '${gitText(dir, ['--exec-path']).trim()}/git' "$@"
`;
  await writeFile(join(bin, 'git'), script, { mode: 0o755 });
  return { ...process.env, PATH: `${bin}${delimiter}${process.env['PATH']}` };
}

async function openClone(name: string, env = process.env): Promise<Project> {
  const root = join(dir, name);
  return openProject({ cwd: root, env, notices });
}

/** Except for refs that wait to be checked. */
const refsOf = (name: string) =>
  gitText(join(dir, name), ['for-each-ref', 'refs/heads/', 'refs/teddy/'])
    .split('\n')
    .filter((row) => !row.includes('/quarantine/'));

beforeAll(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'teddy-failing-')));
  used = join(dir, 'used');
  const source = await makeScratchRepository();
  await source.commit({ 'a.txt': 'a\n' });
  gitText(dir, ['clone', '--quiet', '--bare', source.root, 'shared.git']);
  await source.close();
  for (const name of ['ada', 'bea']) {
    gitText(dir, ['clone', '--quiet', 'shared.git', name]);
    gitText(join(dir, name), ['config', 'user.name', 'Ada Example']);
    gitText(join(dir, name), ['config', 'user.email', 'ada@example.org']);
  }
  const [ada, bea] = [await openClone('ada'), await openClone('bea')];
  line = `teddy/${(await newSession(ada, { name: 'add-login', switch: true })).session}`;
  await say(ada, 'Make a', planOf([create('made.txt')]));
  await run(ada);
  await syncSessions(ada, request);
  await pullSessions(bea, request);
  await say(ada, 'Make b', planOf([create('more.txt')]));
  await run(ada);
  // A few commits are followed one by one; git is asked for this many.
  for (let at = 0; at < 8; at += 1) await say(ada, `Why ${at}?`, 'Words.');
  await syncSessions(ada, request);
  await Promise.all([ada.repository.close(), bea.repository.close()]);
});
afterAll(() => rm(dir, { recursive: true, force: true }));

async function syncCopy(verb: string): Promise<{ codes: (string | undefined)[]; refs: string[] }> {
  const name = `bea-${verb}`;
  await cp(join(dir, 'bea'), join(dir, name), { recursive: true });
  const codeOf = (error: { code?: string }) => [error.code];
  const project = await openClone(name, await fail(verb)).catch(codeOf);
  if (Array.isArray(project)) return { codes: project, refs: refsOf(name) };
  const codes = await syncSessions(project, request).then(
    ({ lines }) => lines.flatMap(({ problem }) => problem?.code ?? []),
    codeOf,
  );
  await project.repository.close().catch(() => undefined);
  return { codes, refs: refsOf(name) };
}

test('a sync in which git is killed again and again blames nobody, and moves no line', async () => {
  const before = refsOf('bea');
  const whole = await syncCopy('nothing');
  expect(whole.codes).toEqual([]);
  expect(whole.refs).not.toEqual(before);
  const verbs = [...new Set((await readFile(used, 'utf8')).trim().split('\n'))];
  expect(verbs).toEqual(expect.arrayContaining(['cat-file', 'diff-tree', 'fetch', 'rev-list', 'update-ref']));
  for (const verb of verbs) {
    const { codes, refs } = await syncCopy(verb);
    expect(codes, verb).not.toContain('HOSTILE_SESSION');
    // The last query may fail when everything is done.
    expect(codes.length === 0 ? before : refs, verb).toEqual(before);
    if (verb === 'rev-list' || verb === 'diff-tree') expect(codes).toEqual(['GIT_FAILED']);
  }
});

test('a git that fails silently is not treated as a detached HEAD', async () => {
  const project = await openClone('ada', await fail('symbolic-ref', 1));
  await expect(project.repository.workspace?.head()).rejects.toMatchObject({ code: 'GIT_FAILED' });
  await project.repository.close();
});

test.each(['rev-list', 'diff-tree', 'cat-file'])(
  'a verify in which git %s is killed finds nothing, and reports the failure',
  async (verb) => {
    const project = await openClone('ada', await fail(verb));
    await expect(verifySession(project, { target: line, all: false, fsck: false })).rejects.toMatchObject({
      code: 'GIT_FAILED',
    });
    await project.repository.close().catch(() => undefined);
  },
);
