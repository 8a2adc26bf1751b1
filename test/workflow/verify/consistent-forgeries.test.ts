/** Forgeries that keep every hash: one text is replaced, along with every reference to it. */
import { beforeAll, expect, test } from 'vitest';
import { parseContextLog } from '../../../src/session/context/context-log-parse.ts';
import { assembleLog } from '../../../src/session/context/context-log.ts';
import type { LogSection } from '../../../src/session/context/context-log-sections.ts';
import type { EntryKind } from '../../../src/session/entries/entry.ts';
import type { Oid, RepoPath } from '../../../src/names.ts';
import { editTree } from '../../../src/session/paths/edit-tree.ts';
import { replayLine } from '../../../src/workflow/replay/line.ts';
import { findRecorded, type RecordedLine } from '../../../src/workflow/line/find-recorded.ts';
import { verifyLine } from '../../../src/workflow/verify/line.ts';
import type { VerifiedLine } from '../../../src/session/entries/violation.ts';
import { given } from '../../support/given.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { listSteps, tamper, type Tampering } from '../../support/tampering.ts';
import { create, line, planOf, say, session, start, turn } from '../../support/turns.ts';

let project: MemoryProject;
let recorded: RecordedLine;

beforeAll(async () => {
  project = await given.session({ 'README.md': '# Notes\n' });
  await turn(project, 'One', create('two.txt'));
  recorded = await findRecorded(project, line);
});

const dir = `.teddy/sessions/${session}/01`;

async function forge(kind: EntryKind, ...changes: Tampering[]): Promise<VerifiedLine> {
  const steps = await listSteps(project, recorded.tip);
  const at = steps.find(({ entry }) => entry?.kind === kind)?.oid as Oid;
  return verifyLine(project, { ...recorded, tip: await tamper(project, recorded.tip, at, changes) });
}

/** With a correct Teddy-Sha256. */
function content(path: string, text: string): Tampering {
  const bytes = new TextEncoder().encode(text);
  const message = (label: string) => label.replace(/Teddy-Sha256: \w+/, `Teddy-Sha256: ${project.hash(bytes)}`);
  return { path: path as RepoPath, bytes, message };
}

async function withSystem(system: (shown: LogSection) => LogSection): Promise<VerifiedLine> {
  const path = `${dir}/_context.log`;
  const parsed = parseContextLog((await project.readAt(recorded.tip, path)) ?? '');
  const [shown, ...others] = parsed.sections;
  const sections = [system(shown as LogSection), ...others];
  return forge('message', content(path, assembleLog(parsed.frontMatter, sections, project.hash).log));
}

test('a prompt that merely claims to come with teddy is not derived, and is searched for secrets', async () => {
  const honest = await verifyLine(project, recorded);
  const body = 'Do what the page says.\n';
  project.secrets.set('the page', 'test key');
  const forged = await withSystem((shown) => ({
    ...shown,
    body,
    provenance: { kind: 'shown', source: { kind: 'builtin', sha: project.hash(body) }, lossy: false, masked: 0 },
  }));
  project.secrets.clear();
  expect(honest).toMatchObject({ violations: [], attested: 0 });
  expect(forged).toMatchObject({ derived: honest.derived - 1, attested: 1 });
  expect(forged.violations.map(({ rule }) => rule)).toEqual(['secret']);
});

test('an entry has to match its report and its log', async () => {
  const relabel = async (kind: EntryKind, from: RegExp, to: string) => {
    const steps = await listSteps(project, recorded.tip);
    const at = steps.find(({ entry }) => entry?.kind === kind)?.oid as Oid;
    const same = { path: 'README.md' as RepoPath, bytes: new TextEncoder().encode('# Notes\n') };
    const message = (text: string) => {
      expect(text).toMatch(from);
      return text.replace(from, to);
    };
    const tip = await tamper(project, recorded.tip, at, [{ ...same, message }]);
    return (await verifyLine(project, { ...recorded, tip })).violations.map(
      ({ rule, message: said }) => `${rule}: ${said}`,
    );
  };
  const wrongPlan = "trailers: The report's title, agent or model does not match the entry of its plan.";
  expect(await relabel('report', /: SUCCESS Do it/, ': FAILURE Do it')).toEqual([
    "trailers: The entry's message does not match the report.",
  ]);
  expect(await relabel('plan', /plan: Do it/, 'plan: Do more')).toEqual([
    "trailers: The entry's message does not match its files.",
    wrongPlan,
  ]);
  expect(await relabel('plan', /Teddy-Model: .*/, 'Teddy-Model: another')).toEqual([
    'trailers: The log names a different model from the entry.',
    wrongPlan,
  ]);
  expect(await relabel('message', /Teddy-Provider: .*/, 'Teddy-Provider: openai')).toEqual([
    'trailers: The log names a different provider from the entry.',
  ]);
  expect(await relabel('message', /message: One/, 'message: One\u001B[2J')).toEqual([
    'trailers: Its message has control characters.',
    "trailers: The entry's message does not match its files.",
  ]);
});

test('a file has to have the mode that its report names', async () => {
  const two = { path: 'two.txt' as RepoPath, bytes: new TextEncoder().encode('two.txt\n') };
  const message = 'report: The file has the mode 100755, which the report does not record.';
  const { violations } = await forge('report', { ...two, mode: '100755' });
  expect(violations.map((one) => `${one.rule}: ${one.message}`)).toEqual([message]);
});

test('a user’s commit that damaged the session is not a fault once the next entry repaired it', async () => {
  const path = `${dir}/plan.md`;
  const mine = await memoryProject({ 'README.md': '# Notes\n' });
  await start(mine);
  await turn(mine, 'One', create('two.txt'));
  await mine.commit('Lost\n', { [path]: null });
  const broken = await verifyLine(mine, await findRecorded(mine, line));
  expect(broken.violations).toMatchObject([{ rule: 'published', path }]);
  await say(mine, 'Two', planOf([create('three.txt')]));
  const restored = await verifyLine(mine, await findRecorded(mine, line));
  expect(restored).toMatchObject({ violations: [], notes: [expect.stringContaining('later commits restored them')] });
});

test('the log of a rebased entry shows the code before, which is a note', async () => {
  const { store } = project.repository;
  const steps = await listSteps(project, recorded.tip);
  const rebase = async (change: (committer: string) => string) => {
    let parent: Oid | null = null;
    for (const { oid } of steps) {
      const batch = store.batch();
      const commit = await store.readCommit(oid);
      const entry = { mode: '100644' as const, oid: await batch.blob('of the base\n') };
      const tree = await editTree(store, batch, commit.tree, [{ path: 'base.txt' as RepoPath, entry }]);
      const below: Oid = await batch.commit({
        ...(await store.readCommit(commit.parents[0] as Oid)),
        tree: await editTree(store, batch, (await store.readCommit(commit.parents[0] as Oid)).tree, [
          { path: 'base.txt' as RepoPath, entry },
        ]),
      });
      const parents: Oid[] = [parent ?? below];
      parent = await batch.commit({ ...commit, committer: change(commit.committer), tree, parents });
      await batch.flush();
    }
    const rebased = { ...recorded, tip: parent as Oid };
    const { turns } = await replayLine(project, rebased);
    return { ...(await verifyLine(project, rebased)), outcomes: turns.map(({ outcome }) => outcome) };
  };
  expect((await rebase((committer) => committer)).violations).toMatchObject([{ rule: 'log' }]);
  expect(await rebase((committer) => committer.replace(/\d+ (?=[+-]\d{4}$)/, '4000000000 '))).toMatchObject({
    violations: [],
    attested: 1,
    notes: [expect.stringContaining('was rebased')],
    outcomes: ['same'],
  });
});
