/** Every kind of entry, on several lines: honest, and with one change and all later commits rebuilt. */
import { beforeAll, describe, expect } from 'vitest';
import type { Commit, TreeMode } from '../../../src/ports/git.ts';
import type { Oid, RepoPath } from '../../../src/names.ts';
import { editTree } from '../../../src/session/paths/edit-tree.ts';
import { findRecorded, listRecorded, type RecordedLine } from '../../../src/workflow/line/find-recorded.ts';
import { undoTurn } from '../../../src/workflow/turn/undo.ts';
import { verifyLine } from '../../../src/workflow/verify/line.ts';
import type { VerifiedLine } from '../../../src/session/entries/violation.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { recordedSession } from '../../support/recorded-session.ts';
import { create, edit, line, session, start, turn } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

let project: MemoryProject;
let recorded: RecordedLine;
/** The commits on the main line, oldest first. */
let commits: { oid: Oid; commit: Commit }[];

beforeAll(async () => {
  project = await recordedSession();
  recorded = await findRecorded(project, line);
  commits = [];
  for await (const found of project.repository.store.firstParents(recorded.tip)) commits.unshift(found);
});

const dir = `.teddy/sessions/${session}`;

interface Forgery {
  message?: (message: string) => string;
  /** New content, or an object with its mode; null removes the file. */
  files?: Record<string, string | null | { mode: TreeMode; oid: Oid }>;
}

function find(label: string): number {
  const at = commits.findIndex(({ commit }) => commit.message.startsWith(label));
  if (at === -1) throw new Error(`No commit begins with ${label}.`);
  return at;
}

/** The number of commits after a changed one: enough to reach the next turn's log. */
const laterCommits = 10;

/** The line with that commit changed, and the same change in some commits after it. */
async function forge(label: string, { message, files = {} }: Forgery): Promise<VerifiedLine> {
  const { store } = project.repository;
  const from = find(label);
  let parent = commits[from]?.commit.parents[0] as Oid;
  for (const [at, { commit }] of commits.slice(from, from + laterCommits).entries()) {
    const batch = store.batch();
    const edits = await Promise.all(
      Object.entries(files).map(async ([path, content]) => ({
        path: path as RepoPath,
        entry: typeof content === 'string' ? { mode: '100644' as const, oid: await batch.blob(content) } : content,
      })),
    );
    const tree = edits.length === 0 ? commit.tree : await editTree(store, batch, commit.tree, edits);
    const text = at === 0 && message ? message(commit.message) : commit.message;
    parent = await batch.commit({ ...commit, tree, message: text, parents: [parent] });
    await batch.flush();
  }
  // Everything before it is unchanged.
  const known = commits[from - 1]?.oid;
  return verifyLine(project, { ...recorded, tip: parent }, known === undefined ? {} : { known: [known] });
}

const rulesOf = ({ violations }: VerifiedLine) => [...new Set(violations.map(({ rule }) => rule))];

async function textAt(label: string, path: string): Promise<string> {
  return (await project.readAt(commits[find(label)]?.oid as Oid, path)) ?? '';
}

test('an honest session has no fault on any of its lines, and its logs are reproduced', async () => {
  const lines = await listRecorded(project);
  expect(lines).toHaveLength(4);
  for (const one of lines) {
    const result = await verifyLine(project, one);
    expect(result).toMatchObject({ violations: [], notes: [] });
    expect(result.derived).toBeGreaterThan(10);
  }
});

test('no file is read twice, though each log shows the earlier entries’ files', async () => {
  const { store } = project.repository;
  const read = new Map<Oid, number>();
  const counting = {
    ...store,
    readBlob: (oid: Oid) => {
      read.set(oid, (read.get(oid) ?? 0) + 1);
      return store.readBlob(oid);
    },
  };
  const result = await verifyLine({ ...project, repository: { ...project.repository, store: counting } }, recorded);
  expect(result.violations).toEqual([]);
  expect(read.size).toBeGreaterThan(10);
  expect([...read].filter(([, times]) => times > 1)).toEqual([]);
});

test('the prompt at the top of every turn is proven once', async () => {
  const hashed: string[] = [];
  const hash = (text: string | Uint8Array) => {
    // The texts of whole logs begin with it as well.
    if (typeof text === 'string' && text.startsWith('# Pathfinder')) hashed.push(text);
    return project.hash(text);
  };
  expect((await verifyLine({ ...project, hash }, recorded)).violations).toEqual([]);
  expect(hashed.length).toBeGreaterThan(0);
  expect(hashed).toEqual([...new Set(hashed)]);
});

test('commits that were verified before are not checked again, and serve as the base for the rest', async () => {
  const known = commits[find('turn 02 report')]?.oid as Oid;
  const rest = await verifyLine(project, recorded, { known: [known] });
  const whole = await verifyLine(project, recorded);
  expect(rest.violations).toEqual([]);
  expect(rest.turns).toBe(whole.turns);
  expect(rest.entries).toBeLessThan(whole.entries - 5);
});

describe('one byte changed', () => {
  const published: [label: string, path: string, rule: string][] = [
    ['turn 01 plan', `${dir}/01/plan.md`, 'sha256'],
    ['turn 01 report', `${dir}/01/report.md`, 'sha256'],
    ['turn 01 message', `${dir}/01/_context.log`, 'log'],
    ['turn 04 reply', `${dir}/04/transcript.jsonl`, 'log'],
    ['turn 02 report', 'two.txt', 'report'],
  ];
  test.each(published)('in the file of %s, %s, and in everything after it, breaks %s', async (label, path, rule) => {
    const text = await textAt(label, path);
    const at = path.endsWith('.log') ? text.indexOf('src/a.ts\n') : path.endsWith('.jsonl') ? text.indexOf('Heard') : 3;
    const changed = `${text.slice(0, at)}${text[at] === 'x' ? 'y' : 'x'}${text.slice(at + 1)}`;
    expect(rulesOf(await forge(label, { files: { [path]: changed } }))).toContain(rule);
  });

  test.each([
    ['turn 02 plan', `${dir}/01/plan.md`],
    ['turn 02 plan', `${dir}/01/report.md`],
    ['turn 02 report', `${dir}/01/_context.log`],
    ['turn 04 reply', `${dir}/03/transcript.jsonl`],
    ['turn 02 report', `${dir}/02/turn.context`],
    ['A commit of my own', `${dir}/01/plan.md`],
    ['turn 02 undo', '.teddy/.gitattributes'],
  ])('by %s, in %s, which was published before it', async (label, path) => {
    const changed = `${(await textAt(label, path)).slice(0, -2)}x\n`;
    const { violations } = await forge(label, { files: { [path]: changed } });
    expect(violations).toContainEqual(expect.objectContaining({ rule: 'published', path }));
  });

  slowTest('in any section that a log derives is found, and named', async () => {
    const path = `${dir}/02/_context.log`;
    const text = await textAt('turn 02 message', path);
    const boundary = /boundary: (\S+)/.exec(text)?.[1] ?? '';
    const markers = [...text.matchAll(new RegExp(`<!-- ${boundary} (\\S+)[^\\n]* -->\\n`, 'g'))];
    expect(markers.map((found) => found[1])).toEqual([
      'system',
      'memos',
      'history',
      'tree',
      'file',
      'file',
      'file',
      'message',
    ]);
    for (const [at, marker] of markers.entries()) {
      if (/missing/.test(marker[0])) continue;
      const place = marker.index + marker[0].length + 6;
      const changed = `${text.slice(0, place)}${text[place] === 'x' ? 'y' : 'x'}${text.slice(place + 1)}`;
      const { violations } = await forge('turn 02 message', { files: { [path]: changed } });
      const said = violations.filter(({ rule }) => rule === 'log').map(({ message }) => message);
      expect(
        said.some((message) => message.startsWith(`Section ${marker[1]}`)),
        `${at} ${said.join()}`,
      ).toBe(true);
    }
  });
});

describe('a forged message', () => {
  const trailers: [what: string, label: string, message: (text: string) => string, rule: string][] = [
    ['with a second kind', 'turn 02 plan', (text) => `${text.trimEnd()}\nTeddy-Entry: report\n`, 'trailers'],
    [
      'with another session',
      'turn 02 plan',
      (text) => text.replace(/(Teddy-Session: ).*/, '$120260101-other'),
      'order',
    ],
    ['without its id', 'turn 02 plan', (text) => text.replace(/Teddy-Entry-Id: .*\n/, ''), 'trailers'],
    [
      'with an id from before its session',
      'turn 02 plan',
      (text) => text.replace(/(Teddy-Entry-Id: )\S+/, '$101890000-0000-7000-8000-000000000001'),
      'trailers',
    ],
    ['of another time', 'turn 02 plan', (text) => text.replace(/(Teddy-Created: )2026/, '$12025'), 'order'],
    ['of a turn that is gone by', 'turn 02 plan', (text) => text.replace('Teddy-Turn: 02', 'Teddy-Turn: 01'), 'order'],
    ['with another sha256', 'turn 02 plan', (text) => text.replace(/(Teddy-Sha256: )../, '$100'), 'sha256'],
    [
      'that claims success',
      'turn 02 report',
      (text) => text.replace('Teddy-Status: SUCCESS', 'Teddy-Status: FAILURE'),
      'report',
    ],
    ['of a landing', 'turn 02 report', (text) => `${text.trimEnd()}\nTeddy-Landed-From: x@y\n`, 'trailers'],
    [
      'of another kind',
      'turn 02 report',
      (text) => text.replace('Teddy-Entry: report', 'Teddy-Entry: undo'),
      'published',
    ],
    ['as a commit of the user’s', 'turn 02 plan', () => 'A commit\n', 'published'],
    ['as an entry', 'A commit of my own', () => 'Mine\n\nTeddy-Entry: snapshot\n', 'trailers'],
    ['as a second start', 'turn 02 undo', (text) => text.replace('Teddy-Entry: undo', 'Teddy-Entry: start'), 'order'],
  ];
  test.each(trailers)('is found: %s', async (_, label, message, rule) => {
    expect(rulesOf(await forge(label, { message }))).toContain(rule);
  });
});

test('an entry dated before its session is not a fault if the clock was ahead when the session began', async () => {
  const { store } = project.repository;
  const at = find('turn 02 plan');
  const { commit } = commits[at] as (typeof commits)[number];
  const madeMs = Date.parse('2026-01-14T10:00:00Z');
  const time = madeMs.toString(16).padStart(12, '0');
  const id = `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000001`;
  const message = commit.message.replace(/(Teddy-Entry-Id: )\S+/, `$1${id}`);
  const dated = (ident: string) => ident.replace(/\d+ \+0000$/, `${madeMs / 1000} +0000`);
  const verify = async (change: Partial<Commit>) => {
    const batch = store.batch();
    const tip = await batch.commit({ ...commit, message, ...change });
    await batch.flush();
    return verifyLine(project, { ...recorded, tip });
  };
  const word = 'The clock was set back, or had been running ahead: 1 entry is dated before what it follows.';
  expect(await verify({ author: dated(commit.author) })).toMatchObject({ violations: [], notes: [word] });
  expect(await verify({ committer: dated(commit.committer) })).toMatchObject({ violations: [], notes: [word] });
  expect(rulesOf(await verify({}))).toEqual(['trailers']);
});

describe('a tree', () => {
  test.each([
    ['a link below .teddy/', `${dir}/01/x`, '120000' as const, 'path'],
    ['an executable file there', `${dir}/02/plan.md`, '100755' as const, 'path'],
    ['a submodule there', `${dir}/x`, '160000' as const, 'path'],
    ['a file from another session', '.teddy/sessions/20260101-other/session.context', '100644' as const, 'published'],
    ['code from a plan', 'forged.txt', '100644' as const, 'published'],
  ])('with %s is named', async (_, path, mode, rule) => {
    const oid = await project.repository.store.batch().blob('x\n');
    const batch = project.repository.store.batch();
    await batch.blob('x\n');
    await batch.flush();
    const { violations } = await forge('turn 02 plan', { files: { [path]: { mode, oid } } });
    expect(violations).toContainEqual(expect.objectContaining({ rule, path, turn: '02' }));
  });

  test('with a missing blob is named, and nothing is thrown', async () => {
    const path = `${dir}/02/plan.md`;
    const oid = 'a'.repeat(40) as Oid;
    const { violations } = await forge('turn 02 plan', { files: { [path]: { mode: '100644', oid } } });
    expect(violations).toContainEqual(expect.objectContaining({ rule: 'objects', path, turn: '02' }));
  });

  test('with an oversized file is named, and the file is not read', async () => {
    const { violations } = await verifyLine(project, recorded, { maxFileBytes: 100 });
    expect(rulesOf({ violations } as VerifiedLine)).toContain('path');
    expect(violations).toContainEqual(expect.objectContaining({ rule: 'path', path: `${dir}/01/_context.log` }));
  });
});

test('a secret is named by file and kind, and never shown', async () => {
  project.secrets.set('two.txt', 'test key');
  const { violations } = await verifyLine(project, recorded);
  project.secrets.clear();
  expect(violations).toContainEqual(
    expect.objectContaining({
      rule: 'secret',
      turn: '02',
      path: `${dir}/02/plan.md`,
      message: expect.stringMatching(/test key/),
    }),
  );
  expect(violations.every(({ message }) => !message.includes('two.txt'))).toBe(true);
});

test('a secret in the message of a commit, an entry or the user is named', async () => {
  project.secrets.set('hush', 'test key');
  const { violations } = await forge('turn 02 plan', { message: (text) => text.replace(/\n/, ' hush\n') });
  project.secrets.clear();
  expect(violations).toContainEqual(
    expect.objectContaining({ rule: 'secret', path: null, message: 'A secret is in the message: test key.' }),
  );
});

test('commits that a merge brought into a known line were not checked with it', async () => {
  const { store } = project.repository;
  const spoilt = await forge('turn 02 report', { files: { [`${dir}/01/plan.md`]: '# Another\n' } });
  const batch = store.batch();
  const { tree } = await store.readCommit(recorded.tip);
  const parents = [recorded.tip, spoilt.tip];
  const known = await batch.commit({ tree, parents, ...(await store.ident()), message: 'Merge\n' });
  await batch.flush();
  const verify = (tip: Oid) => verifyLine(project, { ...recorded, tip }, { known: [known] });
  expect(await verify(recorded.tip)).toMatchObject({ entries: 0, violations: [] });
  expect((await verify(spoilt.tip)).violations).toContainEqual(
    expect.objectContaining({ path: `${dir}/01/plan.md`, rule: 'published' }),
  );
});

test('an abort ends it', async () => {
  const signal = AbortSignal.abort();
  await expect(verifyLine(project, recorded, { signal })).rejects.toMatchObject({ code: 'INTERRUPTED' });
});

test('an undo of a turn that changed one file and made another has no fault', async () => {
  const own = await memoryProject({ 'a.txt': 'one\n' });
  await start(own);
  await turn(own, 'Both', edit('a.txt', 'one', 'uno'), create('b.txt'));
  await undoTurn(own, {});
  expect((await verifyLine(own, await findRecorded(own, line))).violations).toEqual([]);
});
