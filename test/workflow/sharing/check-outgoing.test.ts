/** Secrets that would be pushed are named, once each, except those that were pushed already. */
import { beforeEach, expect } from 'vitest';
import type { Oid, RepoPath } from '../../../src/names.ts';
import { checkOutgoing } from '../../../src/workflow/sharing/check-outgoing.ts';
import { findNewSecrets } from '../../../src/workflow/sharing/check-outgoing.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

let project: MemoryProject;
let base: Oid;

beforeEach(async () => {
  project = await memoryProject({ 'README.md': '# Notes\n', 'old.txt': 'key: s3cret\nmore\n' });
  project.secrets.set('s3cret', 'token');
  base = await project.tipOf('main');
});

const commit = (files: Record<string, string>) => project.commit('Change\n', files);
const check = (tip: Oid, known = [base]) => checkOutgoing(project, [tip], known);

test('a secret is found in every commit that would be pushed, even if a later one removes it', async () => {
  const bad = await commit({ 'a.txt': 'my s3cret\n' });
  const tip = await commit({ 'a.txt': 'nothing\n' });
  expect(await check(tip)).toEqual([{ commit: bad, path: 'a.txt', kind: 'token' }]);
  expect(await check(tip, [base, bad])).toEqual([]);
  expect(await checkOutgoing(project, [tip, bad, tip], [base])).toHaveLength(1);
});

test('a secret from a merge’s other parent is found', async () => {
  const { store } = project.repository;
  const tree = (await store.readCommit(base)).tree;
  const bad = await commit({ 'a.txt': 's3cret\n' });
  const batch = store.batch();
  const ident = await store.ident();
  const cleaned = await batch.commit({ tree, parents: [bad], ...ident, message: 'Clean\n' });
  const merge = await batch.commit({ tree, parents: [base, cleaned], ...ident, message: 'Merge\n' });
  await batch.flush();
  expect(await check(merge)).toEqual([{ commit: bad, path: 'a.txt', kind: 'token' }]);
});

test('a secret in a commit message, an author or a file name is found, and never shown', async () => {
  const inMessage = await project.commit('Use s3cret\n', { 'a.txt': 'a\n' });
  const inName = await project.commit('Add\n', { 'a.txt': 'a\n', 's3cret.txt': 'b\n' });
  project.identity.text = 'Ada s3cret <ada@example.org> 1769248800 +0000';
  const inAuthor = await project.commit('More\n', { 'a.txt': 'c\n' });
  const told = [inMessage, inName, inAuthor].map((oid) => ({ commit: oid, path: null, kind: 'token' }));
  expect(await check(inAuthor)).toEqual(told);
});

test('a secret that was pushed in an earlier version, or under another name, is not reported again', async () => {
  expect(await check(await commit({ 'old.txt': 'key: s3cret\nmore\nand more\n' }))).toEqual([]);
  expect(await check(await commit({ 'new.txt': 'key: s3cret\nmore\n', 'old.txt': 'else\n' }))).toEqual([]);
  expect(await check(await commit({ 'old.txt': 'another: s3cret\n' }))).toMatchObject([{ path: 'old.txt' }]);
});

test('among binary files only teddy’s own are searched', async () => {
  const tip = await commit({ 'a.bin': '\0s3cret', '.teddy/sessions/20260124-x/01/plan.md': '\0s3cret' });
  expect(await check(tip)).toMatchObject([{ path: '.teddy/sessions/20260124-x/01/plan.md' }]);
});

test('with masking disabled, a notice says that nothing was searched', async () => {
  const tip = await commit({ 'a.txt': 's3cret\n' });
  project.configuration.set('teddy.redact', 'false');
  project.said.length = 0;
  expect(await check(tip)).toEqual([]);
  expect(project.said).toEqual([expect.stringMatching(/^warning: NOTHING was searched for secrets/)]);
});

slowTest('a large text is searched piece by piece, and a text that only grows from its old end on', async () => {
  const seen: number[] = [];
  const mask = async (text: string) => {
    seen.push(text.length);
    return {
      text,
      count: 0,
      found: text.includes('s3cret')
        ? [{ kind: 'token', line: text.slice(0, text.indexOf('s3cret')).split('\n').length }]
        : [],
    };
  };
  const find = (text: string, known: string) => findNewSecrets({ mask }, { path: 'a.txt' as RepoPath, text, known });
  const large = 'a line of it\n'.repeat(800_000);
  expect([...(await find(`${large}s3cret\n`, ''))]).toEqual(['token']);
  expect(Math.max(...seen)).toBeLessThan(5_000_000);
  seen.length = 0;
  expect([...(await find(`${large}s3cret\n`, large))]).toEqual(['token']);
  expect(seen).toHaveLength(1);
  expect(seen[0]).toBeLessThan(100_000);
});

test('a key that replaces another is reported, even if both begin with the same line', async () => {
  const key = (body: string) => `-----BEGIN ${'PRIVATE'} KEY-----\n${body}\n-----END-----\n`;
  const mask = async (text: string) => ({ text, count: 1, found: [{ kind: 'private key', line: 1 }] });
  const find = (text: string, known: string) => findNewSecrets({ mask }, { path: 'a.pem' as RepoPath, text, known });
  expect([...(await find(key('one'), key('two')))]).toEqual(['private key']);
  expect([...(await find(`${key('one')}more\n`, key('one')))]).toEqual([]);
});
