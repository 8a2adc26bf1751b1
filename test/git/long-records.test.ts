/**
 * A turn with one record, report or plan of 30 MB on real git: the shown part is cut, with a notice and git's command
 * for the rest.
 */
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import { renderReview } from '../../src/cli/render/review.ts';
import { renderTurn } from '../../src/cli/render/turn.ts';
import { openTerminal } from '../../src/cli/terminal.ts';
import { encodeRecord } from '../../src/conversation/records/transcript.ts';
import type { Project } from '../../src/ports/project.ts';
import { parseTurnName, turnDir, type SessionId } from '../../src/names.ts';
import { openReview, reviewSession } from '../../src/workflow/review/session.ts';
import { showTurn } from '../../src/workflow/review/show-turn.ts';
import { memoryContext } from '../support/cli-context.ts';
import { gitText } from '../support/git-process.ts';
import { call, result, user } from '../support/records.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { create, planOf, run, say, start } from '../support/turns.ts';

const characters = 30_000_000;
const long = 'one "line"\n'.repeat(characters / 10).slice(0, characters);

let repo: ScratchRepository;
let project: Project;
let session: SessionId;
/** Bytes that the store returned: in one piece, and the longest piece in a stream. */
let whole: number;
let piece: number;

beforeAll(async () => {
  repo = await makeScratchRepository({ 'a.txt': 'A\n' });
  project = await openProject({
    cwd: repo.root,
    env: process.env,
    notices: { info: () => undefined, warn: () => undefined },
  });
  ({ session } = await start(project));
  await say(project, 'Make it', planOf([create('b.txt')]));
  await run(project);
});
afterAll(async () => {
  await project.repository.close();
  await repo.close();
});

/** A commit on the line whose turn has this file. */
async function withFile(name: string, text: string, of = '01'): Promise<string> {
  const dir = turnDir(session, parseTurnName(of));
  const tip = await repo.git('rev-parse', `teddy/${session}`);
  const blob = gitText(repo.root, ['hash-object', '-w', '--stdin'], { input: text });
  const tree = execFileSync(
    'sh',
    [
      '-c',
      `git read-tree ${tip} && git update-index --add --cacheinfo 100644,${blob},${dir}/${name} && git write-tree`,
    ],
    { cwd: repo.root, env: { ...process.env, GIT_INDEX_FILE: `${repo.root}/.git/other-index` }, encoding: 'utf8' },
  ).trim();
  const message = await repo.git('log', '-1', '--format=%B', tip);
  return gitText(repo.root, ['commit-tree', tree, '-p', tip, '-F', '-'], { input: message });
}

function counted(): Project {
  [whole, piece] = [0, 0];
  const { store } = project.repository;
  const counting: typeof store = {
    ...store,
    readBlob: async (oid) => {
      const bytes = await store.readBlob(oid);
      whole = Math.max(whole, bytes.length);
      return bytes;
    },
    streamBlob: (oid, take) =>
      store.streamBlob(oid, (bytes) => {
        piece = Math.max(piece, bytes.length);
        take(bytes);
      }),
  };
  return { ...project, repository: { ...project.repository, store: counting } };
}

async function print(commit: string): Promise<{ shown: string; review: string }> {
  const one = counted();
  const shown = renderTurn(
    openTerminal(memoryContext(), 'never'),
    await showTurn(one, { turn: commit, bounded: true }),
  );
  const review = await renderReview(await openReview(one, commit));
  expect(whole).toBeLessThan(1_000_000);
  expect(piece).toBeLessThan(1_000_000);
  expect(shown.length).toBeLessThan(1_000_000);
  return { shown, review };
}

/** Runs the command that the text names for the rest. */
function printed(text: string): string {
  const command = /All of it: `(git show [\w./:-]+)`/.exec(text)?.[1] ?? '';
  return execFileSync('sh', ['-c', command], { cwd: repo.root, encoding: 'utf8', maxBuffer: 100_000_000 });
}

test('a message of 30 MB is cut', async () => {
  const transcript = [user('u1', long), user('u2', 'And this')].map(encodeRecord).join('');
  const commit = await withFile('transcript.jsonl', transcript);
  const { shown, review } = await print(commit);
  expect(shown).toContain(`[29,737,856 more characters are left out; \`teddy show 01 -s ${commit} --json\` has them]`);
  expect(shown).toContain('\nLeft out\n  29,737,856 characters of transcript.jsonl. All of it: `git show ');
  expect(shown).toContain('And this');
  expect(review).toContain('29,998,010 more characters: `teddy show 01 -s ');
  expect(review).toContain('Left out: 29,737,856 characters of transcript.jsonl.');
  for (const text of [shown, review]) expect(printed(text)).toBe(transcript);

  const { turns } = await reviewSession(counted(), commit);
  expect(turns[0]?.messages[0]).toMatch(/\n\[29,934,464 more characters are left out\]$/);
  expect((await showTurn(project, { turn: commit })).messages).toEqual([long, 'And this']);
  expect((await showTurn(project, { turn: commit })).cut).toEqual([]);
});

test('a result of 30 MB is cut, also if it is a list', async () => {
  const records = [
    user('u1', 'Run it'),
    call('c1', 'cat'),
    result('c1', long),
    call('c2', 'cat'),
    { ...result('c2', ''), output: Array(5_000_000).fill(1) },
  ];
  const transcript = records.map(encodeRecord).join('');
  const { shown, review } = await print(await withFile('transcript.jsonl', transcript));
  expect(shown).toContain('[29,737,856 more characters are left out;');
  expect(shown.match(/^Result/gm)).toHaveLength(2);
  for (const text of [shown, review]) expect(printed(text)).toBe(transcript);
});

test('a report with a line of 30 MB is cut, quoted or not', async () => {
  const report = await repo.git('show', `teddy/${session}:${turnDir(session, parseTurnName('01'))}/report.md`);
  for (const stdout of [JSON.stringify(long), `|-\n        ${'x'.repeat(characters)}`]) {
    const longReport = `${report.replace(/^(\s+)index: 1$/m, '$1index: 1')}\n`.replace(
      /^ {4}tree: .*$/m,
      (tree) => `${tree}\n    details:\n      stdout: ${stdout}`,
    );
    expect(longReport.length).toBeGreaterThan(characters);
    const { shown, review } = await print(await withFile('report.md', longReport));
    expect(shown).toContain('1. CREATE b.txt: SUCCESS');
    expect(review).toContain('1. CREATE');
    for (const text of [shown, review]) expect(printed(text)).toBe(longReport);
  }
});

test('a plan of 30 MB is not a plan that could be run', async () => {
  const plan = `# Do it\n\n## Message\n\n${long}\n`;
  const { shown, review } = await print(await withFile('plan.md', plan));
  expect(shown).toContain('more characters are left out;');
  for (const text of [shown, review]) expect(printed(text)).toBe(plan);
});
