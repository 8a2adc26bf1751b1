import { expect, test } from 'vitest';
import { TeddyError } from '../../../src/errors.ts';
import { decodeJournal } from '../../../src/plan/report/journal.ts';
import type { Remain } from '../../../src/ports/disk.ts';
import type { Oid, RefName, SessionId, TurnName } from '../../../src/names.ts';
import { examineRepository, type Examined } from '../../../src/workflow/doctor/examine-repository.ts';
import { landSession } from '../../../src/workflow/landing/land-session.ts';
import { memoryRemote } from '../../support/memory-remotes.ts';
import { newSession } from '../../../src/workflow/line/new-session.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { given } from '../../support/given.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import type { MemoryWorkTree } from '../../support/memory-work-trees.ts';
import { command, create, line, memos, planOf, run, runUntilKilled, say, session, turn } from '../../support/turns.ts';

const ref = `refs/heads/${line}` as RefName;
const place = { session: session as SessionId, turn: '01' as TurnName, ref };
const kindsOf = ({ findings }: Examined) => findings.map(({ kind, outcome }) => `${kind} ${outcome}`);
const look = (project: MemoryProject) => examineRepository(project, { fix: false });
const fix = (project: MemoryProject) => examineRepository(project, { fix: true });

const begun = () => given.session();

test('a killed run is left for a person to decide, until its report exists', async () => {
  const project = await begun();
  await say(project, 'One', planOf([create('a.txt'), command('true')]));
  await runUntilKilled(project);
  const journaled = decodeJournal([...project.left.values()][0]?.text ?? '');
  project.remains.left = [{ kind: 'run', path: '/runs/one', run: journaled }];
  const { findings } = await fix(project);
  expect(findings).toMatchObject([{ kind: 'interrupted-run', outcome: 'left', fix: null }]);
  expect(findings[0]?.meaning).toContain('in action 2');
  expect(findings[0]?.todo).toContain(`teddy execute --interrupted=resume`);
  expect(project.left.size).toBe(1);
  const journal = new Map(project.left);
  await run(project, { interrupted: 'keep' });
  for (const [name, left] of journal) project.left.set(name, left);
  expect(kindsOf(await fix(project))).toEqual(['interrupted-run fixed']);
  expect(project.left.size).toBe(0);
});

test('anything damaged, or left by a deleted line, is named with its path and kept', async () => {
  const project = await begun();
  const gone = { ...place, ref: 'refs/heads/teddy/20260101-gone' as RefName };
  const answer = { id: 'x', recordCount: 0, provider: 'p', model: 'm', agent: 'a' };
  const facts = { ...gone, root: '/project', isLinked: false, startedAt: '' };
  for (const one of [null, facts])
    project.noted.push({ kind: 'command', facts: one, isAlive: false, staged: new Uint8Array() });
  const left: Remain[] = [
    { kind: 'run', path: '/runs/damaged', run: null },
    { kind: 'answer', path: '/answers/damaged', place: { ...answer, ...place }, bytes: 3, isDamaged: true },
    { kind: 'answer', path: '/answers/gone', place: { ...answer, ...gone }, bytes: 3, isDamaged: false },
  ];
  project.remains.left = left;
  const { findings } = await fix(project);
  const notes = ['/journal/command-0.json', '/journal/command-1.json'];
  expect(findings.map(({ thing }) => thing).toSorted()).toEqual([...left.map(({ path }) => path), ...notes].toSorted());
  for (const { outcome, todo } of findings) expect([outcome, todo]).toEqual(['left', expect.stringMatching(/\S/)]);
  expect(project.remains.left).toEqual(left);
});

test('a fault that cannot be repaired now is reported with the reason and the next step', async () => {
  const project = await begun();
  await say(project, 'One', null);
  const answer = { ...place, id: 'x', recordCount: 1, provider: 'p', model: 'm', agent: 'a' };
  project.remains.left = [{ kind: 'answer', path: '/answers/x', place: answer, bytes: 3, isDamaged: false }];
  project.state.operation = 'rebase';
  const { findings } = await fix(project);
  expect(findings).toMatchObject([{ outcome: 'failed', said: expect.stringContaining('rebase') }]);
  expect(findings[0]?.todo).toMatch(/\S/);
});

test('an answer to a question that could not be saved is not reported as kept, and is requested again as a question', async () => {
  const project = await begun();
  await say(project, 'One', null);
  const answer = {
    ...place,
    id: 'x',
    recordCount: 1,
    provider: 'p',
    model: 'm',
    agent: 'a',
    isQuestion: true as const,
  };
  project.remains.left = [{ kind: 'answer', path: '/journal/x.content', place: answer, bytes: 3, isDamaged: false }];
  const { findings } = await fix(project);
  expect(findings).toMatchObject([
    {
      outcome: 'failed',
      said: expect.stringContaining('could not be saved') as string,
      todo: expect.stringMatching(/^`teddy ask -s /) as string,
    },
  ]);
});

test('memos that are only on teddy/global are added to the line while their plan is pending', async () => {
  const project = await begun();
  await say(project, 'One', planOf([create('a.txt')], memos('[+] tabs')));
  const failing = { ...project.repository.workspace, publish: () => Promise.reject(new Error('killed')) };
  const dying = { ...project, repository: { ...project.repository, workspace: failing } };
  await expect(run(dying, { memos: { kind: 'yes' } })).rejects.toThrow('killed');
  expect(kindsOf(await look(project))).toEqual(['half-memo-pair left']);
  expect(kindsOf(await fix(project))).toEqual(['half-memo-pair fixed']);
  expect(await project.readAt(await project.tipOf(line), '.teddy/memos.yaml')).toContain('tabs');
  expect(kindsOf(await look(project))).toEqual([]);
});

test('a line that grew on one side only is a note; one that grew on both sides is not synced', async () => {
  const project = await begun();
  const before = await project.tipOf(line);
  await turn(project, 'One', create('a.txt'));
  await project.setRef(`refs/remotes/origin/${line}`, before);
  expect(await look(project)).toMatchObject({ findings: [], notes: [expect.stringContaining(line)] });
  const { tree } = await project.repository.store.readCommit(before);
  const batch = project.repository.store.batch();
  const ident = await project.repository.store.ident();
  const theirs = await batch.commit({ tree, parents: [before], ...ident, message: 'theirs\n' });
  await batch.flush();
  await project.setRef(`refs/remotes/origin/${line}`, theirs);
  const { findings } = await fix(project);
  expect(findings).toMatchObject([{ kind: 'diverged-line', outcome: 'left', thing: line }]);
  expect(findings[0]?.todo).toContain('teddy sync origin');
});

test('a dead pull’s quarantine is removed; that of a running or unknown process stays', async () => {
  const project = await begun();
  const tip = await project.tipOf(line);
  for (const name of ['own', 'dead', 'foreign']) await project.setRef(`refs/teddy/quarantine/${name}/1/0`, tip);
  expect(kindsOf(await look(project))).toEqual(['quarantine left']);
  expect(kindsOf(await fix(project))).toEqual(['quarantine fixed']);
  const left = await project.repository.store.listRefs('refs/teddy/quarantine/');
  expect(left.map((one) => one.ref.split('/')[3])).toEqual(['foreign', 'own']);
});

test('an entry counts as lost if others build on it, if a reflog has it, or if there is no reflog', async () => {
  const project = await begun();
  const before = await project.tipOf(line);
  await say(project, 'One', null);
  const opened = await project.tipOf(line);
  await project.setRef(ref, before);
  project.remains.unreachable = [opened];
  expect(kindsOf(await look(project))).toEqual(['lost-entry left']);
  project.remains.wereTips.add(before);
  expect(kindsOf(await look(project))).toEqual([]);
  project.remains.wereTips.add(opened);
  // The main line exists, so the lost branch gets its own name and takes no one's place.
  await project.setRef(`${ref}--02-branch-01`, before);
  const { findings } = await fix(project);
  expect(findings).toMatchObject([
    { kind: 'lost-entry', outcome: 'fixed', fix: `creates the branch ${line}--02-branch-02 there` },
  ]);
  expect(await project.tipOf(`${line}--02-branch-02`)).toBe(opened);
  expect(await project.tipOf(line)).toBe(before);
  expect(await project.tipOf(`${line}--02-branch-01`)).toBe(before);
});

test('a lost conversation branch gets its own name, even if the main line is lost and restored after it', async () => {
  const project = await begun();
  await say(project, 'One', 'Fine.');
  await branchSession(project, { turn: '1', switch: false });
  const other = `${line}--01-branch-01`;
  const [main, branch] = [await project.tipOf(line), await project.tipOf(other)];
  const store = project.repository.store;
  const lost = new Set<Oid>();
  for (const tip of [branch, main]) for await (const { oid } of store.firstParents(tip)) lost.add(oid);
  await store.updateRefs(
    [
      { ref: `refs/heads/${other}` as RefName, old: branch, new: null },
      { ref, old: main, new: null },
    ],
    'test: lost',
  );
  project.remains.unreachable = [...lost];
  expect(kindsOf(await fix(project))).toEqual(['lost-entry fixed', 'lost-entry fixed']);
  expect(await project.tipOf(other)).toBe(branch);
  expect(await project.tipOf(line)).toBe(main);
});

test('without an identity, or with a branch called teddy, the doctor explains what to do', async () => {
  const project = await memoryProject();
  project.identity.text = null;
  await project.setRef('refs/heads/teddy', (await project.repository.workspace.head()).oid as Oid);
  const { findings } = await fix(project);
  expect(kindsOf({ findings } as Examined)).toEqual(['identity left', 'branch-in-the-way left']);
  expect(findings[1]?.todo).toContain('git branch -m teddy');
});

test('a part that cannot be examined is reported, and the rest is examined', async () => {
  const project = await begun();
  project.repository.linkedWorkTrees = () => Promise.reject(new TeddyError('GIT_FAILED', 'git worktree failed.'));
  project.remains.left = [{ kind: 'foreign-lock', path: '/x.lock', ageMs: 90_000, heldBy: [7] }];
  const examined = await look(project);
  expect(examined.failures).toMatchObject([{ code: 'GIT_FAILED' }]);
  expect(examined.findings).toMatchObject([
    { kind: 'foreign-lock', meaning: expect.stringContaining('90 s (process 7)') },
  ]);
});

test('a missing work tree is forgotten if teddy made it; another one may be on an unmounted disk', async () => {
  const project = await memoryProject();
  await newSession(project, { name: 'add-login', switch: true, worktree: true });
  const tree = project.linked[0] as MemoryWorkTree;
  tree.isGone = true;
  tree.madeFor = null;
  expect((await fix(project)).findings).toMatchObject([
    { kind: 'gone-work-tree', outcome: 'left', todo: expect.stringContaining('`git worktree prune`') },
  ]);
  tree.madeFor = ref;
  await project.setRef(`refs/teddy/archive/2026-01/${session}`, await project.tipOf(line));
  expect(kindsOf(await look(project))).toEqual(['gone-work-tree left']);
  expect(kindsOf(await fix(project))).toEqual(['gone-work-tree fixed']);
  expect(project.linked).toEqual([]);
});

test('a work tree with ignored files, or in use, is not removed', async () => {
  const project = await memoryProject();
  await newSession(project, { name: 'add-login', switch: true, worktree: true });
  await project.setRef(`refs/teddy/archive/2026-01/${session}`, await project.tipOf(line));
  project.repository.ignoredFilesOf = async () => ['.env'];
  expect((await fix(project)).findings).toMatchObject([
    { kind: 'ended-work-tree', outcome: 'left', meaning: expect.stringContaining('git ignores') },
  ]);
  expect(project.linked).toHaveLength(1);
});

test('a remote to which a push deletes is named, with the command that changes it', async () => {
  const project = await begun();
  for (const name of ['origin', 'copy']) project.remotes.set(name, await memoryRemote());
  project.configuration.set('remote.copy.mirror', 'true');
  const { findings } = await fix(project);
  expect(findings).toMatchObject([{ kind: 'mirror-remote', thing: 'copy', outcome: 'left' }]);
  expect(findings[0]?.todo).toContain('`git config --unset remote.copy.mirror`');
});

test('the turns of a landed session that no ref keeps any more are kept again', async () => {
  const project = await begun();
  await turn(project, 'One', create('one.txt'));
  await landSession(project, {});
  const tip = await project.tipOf(line);
  await project.switchTo('main');
  const { store } = project.repository;
  const archive = `refs/teddy/archive/2026-01/${session}` as RefName;
  expect(kindsOf(await look(project))).toEqual([]);
  await store.updateRefs([{ ref, old: tip, new: null }], 'deleted');
  expect(kindsOf(await look(project))).toEqual([]);
  await store.updateRefs([{ ref: archive, old: tip, new: null }], 'pruned');
  expect(kindsOf(await look(project))).toEqual(['unkept-session left']);
  expect(kindsOf(await fix(project))).toEqual(['unkept-session fixed']);
  expect(await store.resolve(archive)).toBe(tip);
});

test('a session that landed more than 30 days ago and is still a branch is mentioned', async () => {
  const project = await begun();
  await turn(project, 'One', create('one.txt'));
  await landSession(project, {});
  expect((await look(project)).notes).toEqual([]);
  const soon = project.clock.now().getTime();
  project.clock.now = () => new Date(soon + 31 * 86_400_000);
  expect((await look(project)).notes).toEqual([
    `${line} landed more than 30 days ago. To put old sessions away: teddy archive --landed --older 30d`,
  ]);
});
