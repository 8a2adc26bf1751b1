import { describe, expect } from 'vitest';
import { parseContextLog } from '../../../src/session/context/context-log-parse.ts';
import type { RefName } from '../../../src/names.ts';
import type { KnownRecord } from '../../../src/conversation/records/record.ts';
import { appendRecords } from '../../../src/workflow/line/append-records.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { verifySession } from '../../../src/workflow/verify/session.ts';
import { given } from '../../support/given.ts';
import { withRace, type MemoryProject } from '../../support/memory-repository.ts';
import { assistant, user } from '../../support/records.ts';
import { scriptedModel } from '../../support/scripted-model.ts';
import { create, line, planOf, run, say, session, storyOfLine, turn } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const dir = `.teddy/sessions/${session}`;

/** Two complete turns; the user edits in between. */
async function twoTurns(): Promise<MemoryProject> {
  const project = await given.session({ 'README.md': '# Notes\n', 'src/a.ts': 'a\n' });
  await turn(project, 'One', create('one.txt'));
  await project.write({ 'README.md': '# Mine\n' });
  await turn(project, 'Two', create('two.txt'));
  return project;
}

const branch = (project: MemoryProject, number: string, more: { selector?: string; switch?: boolean } = {}) =>
  branchSession(project, { turn: number, switch: true, ...more });

describe('a conversation branch', () => {
  slowTest('forks before the turn was opened, where the code is what that turn saw', async () => {
    const project = await twoTurns();
    const branched = await branch(project, '2');
    expect(branched).toMatchObject({ ref: `refs/heads/${line}--02-branch-01`, turn: '02-branch-01', switched: true });
    expect(await storyOfLine(project, `${line}--02-branch-01`)).toEqual([
      "'First commit'",
      'start',
      'message 01',
      'plan 01',
      'report 01',
      'snapshot',
      'branch 02-branch-01',
    ]);
    expect(await project.read('README.md')).toBe('# Mine\n');
    expect(await project.read('one.txt')).toBe('one.txt\n');
    expect(await project.read('two.txt')).toBeNull();
    for (const name of ['turn.context', '_context.log']) {
      const original = await project.readAt(await project.tipOf(line), `${dir}/02/${name}`);
      expect(await project.read(`${dir}/02-branch-01/${name}`)).toBe(original);
      expect(original).not.toBeNull();
    }
    expect((await project.repository.workspace.status({ untracked: true })).edits).toEqual([]);
  });

  slowTest('is answered on the exact same context: only the agent, the prompt and the message are new', async () => {
    const project = await twoTurns();
    await branch(project, '02');
    // Whoever builds the context anew shows this.
    await project.write({ 'README.md': '# Later\n', 'src/a.ts': 'changed\n' });
    const model = scriptedModel(planOf([create('other.txt')]));
    expect(await say(project, 'Two, differently', model, { agent: 'dev' })).toMatchObject({ turn: '02-branch-01' });
    const before = parseContextLog((await project.readAt(await project.tipOf(line), `${dir}/02/_context.log`)) ?? '');
    const after = parseContextLog((await project.read(`${dir}/02-branch-01/_context.log`)) ?? '');
    const context = (log: typeof before) => {
      const { boundary } = log.frontMatter;
      const [, user] = log.messages;
      return user.content.slice(0, user.content.indexOf(`<!-- ${boundary} message`)).replaceAll(boundary, 'boundary');
    };
    expect(context(after)).toBe(context(before));
    expect(context(after)).toContain('file README.md');
    expect(after.messages).toEqual(model.requests[0]?.messages);
    expect(after.messages[1].content.endsWith('Two, differently')).toBe(true);
    expect(after.messages[0]).not.toEqual(before.messages[0]);
    expect(after.frontMatter).toMatchObject({ turn: '02-branch-01', agent: 'dev' });
  });

  slowTest('of a turn without a request, such as in an imported session, is an independent turn', async () => {
    const project = await given.session();
    for (const id of ['one', 'two']) {
      await appendRecords(project, { records: [user(`${id}-said`, id)] });
      await appendRecords(project, { records: [assistant(`${id}-answered`, id)] });
    }
    await branch(project, '2');
    expect(await project.read(`${dir}/02-branch-01/turn.context`)).toBe('');
    expect(await say(project, 'Two, differently', 'Fine.')).toMatchObject({ turn: '02-branch-01' });
    expect(await say(project, 'Three', 'Fine.')).toMatchObject({ turn: '03' });
    const { lines } = await verifySession(project, { all: true, fsck: false });
    expect(lines).toHaveLength(2);
    expect(lines.flatMap(({ violations }) => violations)).toEqual([]);
  });

  slowTest('continues with turn 03 after its own first turn', async () => {
    const project = await twoTurns();
    await branch(project, '02');
    await turn(project, 'Two again', create('other.txt'));
    expect(await say(project, 'Three', 'Fine.')).toMatchObject({ turn: '03' });
    expect((await storyOfLine(project, `${line}--02-branch-01`)).slice(-6)).toEqual([
      'branch 02-branch-01',
      'message 02-branch-01',
      'plan 02-branch-01',
      'report 02-branch-01',
      'message 03',
      'reply 03',
    ]);
  });

  slowTest('from a branch is numbered by turn and the first free number, not nested', async () => {
    const project = await twoTurns();
    await branch(project, '02');
    await turn(project, 'Two again', create('other.txt'));
    await say(project, 'Three', 'Fine.');
    expect(await branch(project, '02')).toMatchObject({ turn: '02-branch-02' });
    await say(project, 'Two, thirdly', 'Fine.');
    expect(await branch(project, '02-branch-02')).toMatchObject({ turn: '02-branch-03' });
    await project.switchTo(`${line}--02-branch-01`);
    expect(await branch(project, '3')).toMatchObject({ turn: '03-branch-01' });
    const leave = await storyOfLine(project, `${line}--03-branch-01`);
    expect(leave.slice(-3)).toEqual(['plan 02-branch-01', 'report 02-branch-01', 'branch 03-branch-01']);
  });

  test('takes a number that is used neither by a local or remote branch, nor by a faster process', async () => {
    const project = await twoTurns();
    const tip = await project.tipOf(line);
    await project.setRef(`refs/heads/${line}--02-branch-01`, tip);
    await project.setRef(`refs/remotes/origin/${line}--02-branch-02`, tip);
    const third = `refs/heads/${line}--02-branch-03` as RefName;
    const racing = withRace(project, () =>
      project.repository.store.updateRefs([{ ref: third, old: null, new: tip }], 'faster'),
    );
    expect(await branch(racing, '02', { switch: false })).toMatchObject({ turn: '02-branch-04', switched: false });
    expect(await project.tipOf(`${line}--02-branch-03`)).toBe(tip);
    expect((await project.repository.workspace.head()).ref).toBe(`refs/heads/${line}`);
  });

  test('keeps the agent of the turn that it forks from', async () => {
    const project = await given.session();
    await say(project, 'One', 'x', { agent: 'dev' });
    await say(project, 'Two', 'x', { agent: 'pathfinder' });
    await branch(project, '01');
    await say(project, 'One again', 'x');
    const { message } = await project.repository.store.readCommit(await project.tipOf(`${line}--01-branch-01`));
    expect(message).toContain('\nTeddy-Agent: dev\n');
  });

  test('of a turn that was asked several times forks before its first message', async () => {
    const project = await given.session();
    await say(project, 'One', null);
    await say(project, 'One, better', null);
    await branch(project, '01');
    expect(await storyOfLine(project, `${line}--01-branch-01`)).toEqual([
      "'First commit'",
      'start',
      'branch 01-branch-01',
    ]);
  });

  test('has no message yet, so planning without one is refused', async () => {
    const project = await twoTurns();
    await branch(project, '02');
    await expect(say(project, undefined, 'x')).rejects.toMatchObject({ code: 'EMPTY_MESSAGE' });
    await expect(run(project)).rejects.toMatchObject({ code: 'NO_PENDING_PLAN' });
  });

  test('of a turn that the assistant opened, and that was added to later, forks at its beginning', async () => {
    const project = await given.session();
    const append = (record: KnownRecord) => appendRecords(project, { records: [record] });
    await append(assistant('a', 'Hello.'));
    await append(assistant('b', 'Are you there?'));
    await append(user('c', 'Yes.'));
    await branch(project, '1');
    expect(await storyOfLine(project, `${line}--01-branch-01`)).toEqual([
      "'First commit'",
      'start',
      'branch 01-branch-01',
    ]);
  });

  test('of a missing turn is UNKNOWN_TURN', async () => {
    const project = await twoTurns();
    for (const number of ['3', '02-branch-01', 'x', '0']) {
      await expect(branch(project, number)).rejects.toMatchObject({ code: 'UNKNOWN_TURN' });
    }
    expect((await project.repository.store.listRefs('refs/heads/teddy/')).length).toBe(2);
  });

  test('is removed again if edits prevent the switch to it', async () => {
    const project = await twoTurns();
    await project.write({ 'two.txt': 'edited\n' });
    await expect(branch(project, '02')).rejects.toMatchObject({ code: 'FILES_IN_THE_WAY' });
    expect(await project.repository.store.resolve(`refs/heads/${line}--02-branch-01`)).toBeNull();
    expect((await project.repository.workspace.head()).ref).toBe(`refs/heads/${line}`);
    expect(await project.read('two.txt')).toBe('edited\n');
  });

  test('leaves the other line unchanged', async () => {
    const project = await twoTurns();
    const tip = await project.tipOf(line);
    await branch(project, '01');
    await turn(project, 'One again', create('x.txt'));
    expect(await project.tipOf(line)).toBe(tip);
  });
});

describe('an ordinary git branch', () => {
  slowTest('from a commit in the middle is a separate line, whatever its name', async () => {
    const project = await twoTurns();
    const walked = [];
    for await (const { oid } of project.repository.store.firstParents(await project.tipOf(line))) walked.push(oid);
    const reportOne = walked[4];
    await project.switchTo('try-again', reportOne);
    expect(await project.read('two.txt')).toBeNull();
    expect(await say(project, 'Two, on my own branch', planOf([create('three.txt')]))).toMatchObject({ turn: '02' });
    await run(project);
    expect((await storyOfLine(project, 'try-again')).slice(-4)).toEqual([
      'report 01',
      'message 02',
      'plan 02',
      'report 02',
    ]);
  });
});
