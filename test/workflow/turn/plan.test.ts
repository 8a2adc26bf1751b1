import { afterEach, describe, expect, test, vi } from 'vitest';
import { decodeTranscript } from '../../../src/conversation/history/decode-transcript.ts';
import type { TranscriptRecord } from '../../../src/conversation/records/record.ts';
import { TeddyError } from '../../../src/errors.ts';
import { decodeEntry, type Entry } from '../../../src/session/entries/entry.ts';
import { parseOid, type RefName } from '../../../src/names.ts';
import { newSession } from '../../../src/workflow/line/new-session.ts';
import { readLine } from '../../../src/view/view.ts';
import { given } from '../../support/given.ts';
import { memoryProject, withRace, type MemoryProject } from '../../support/memory-repository.ts';
import { scriptedModel } from '../../support/scripted-model.ts';
import { previewRequest } from '../../../src/workflow/turn/plan.ts';
import { create, line, planOf, run, say, session, storyOfLine, turn } from '../../support/turns.ts';

const dir = `.teddy/sessions/${session}`;
const interrupted = new TeddyError('MODEL_INTERRUPTED', 'Interrupted.');

afterEach(() => vi.restoreAllMocks());

const begin = (files?: Record<string, string>) => given.session(files);

async function entryAt(project: MemoryProject, branch = line): Promise<Entry | null> {
  return decodeEntry((await project.repository.store.readCommit(await project.tipOf(branch))).message);
}

async function recordsOf(project: MemoryProject, name = '01'): Promise<TranscriptRecord[]> {
  const text = await project.readAt(await project.tipOf(line), `${dir}/${name}/transcript.jsonl`);
  return decodeTranscript(text ?? '').records;
}

test('if the line is not checked out, the request is in an existing file', async () => {
  const project = await memoryProject();
  const other = await newSession(project, { name: 'other', switch: false });
  const opened = await say(project, 'Hello', null, { selector: other.session });
  const logPath = opened.kind === 'open' ? opened.logPath : '';
  const [[path, bytes] = ['', new Uint8Array()]] = project.scratched;
  expect(logPath).toBe(path);
  expect(Buffer.from(bytes).toString()).toContain('Hello');
});

describe('a message', () => {
  test('is on the line before the model is asked, with exactly the sent bytes', async () => {
    const project = await begin();
    const seen: string[][] = [];
    const model = scriptedModel('Hello.');
    await say(project, 'Add a login route\n\nPlease.', model, {
      onAsk: () => seen.push(['asked']),
      onText: async () => seen.push(await storyOfLine(project)),
    });
    expect(seen[0]).toEqual(['asked']);
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'message 01', 'reply 01']);
    const log = (await project.readAt(await project.tipOf(line), `${dir}/01/_context.log`)) ?? '';
    const [system, user] = model.requests[0]?.messages ?? [];
    expect(log.endsWith(`${system?.content}${user?.content}`)).toBe(true);
    expect(user?.content.endsWith('Add a login route\n\nPlease.')).toBe(true);
    expect(model.requests[0]).toMatchObject({
      session,
      turn: '01',
      messageSha256: project.hash('Add a login route\n\nPlease.'),
    });
  });

  test('labels its commit with its first lines, agent, provider, model and the log’s hash', async () => {
    const project = await begin();
    await say(project, 'Add a login route\nTeddy-Entry: report', null);
    const { message } = await project.repository.store.readCommit(await project.tipOf(line));
    expect(message).toMatch(/^turn 01 message: Add a login route\n\n {2}Teddy-Entry: report\n\nTeddy-Session: /);
    const log = (await project.read(`${dir}/01/_context.log`)) ?? '';
    expect(await entryAt(project)).toMatchObject({
      agent: 'pathfinder',
      provider: 'none',
      model: 'none',
      sha256: project.hash(log),
    });
  });

  test('that is empty is refused, and so is none at all on a closed turn', async () => {
    const project = await begin();
    await expect(say(project, ' \n', 'x')).rejects.toMatchObject({ code: 'EMPTY_MESSAGE' });
    await expect(say(project, undefined, 'x')).rejects.toMatchObject({ code: 'EMPTY_MESSAGE' });
    await say(project, 'Hello', 'Hi.');
    await expect(say(project, undefined, 'x')).rejects.toMatchObject({ code: 'EMPTY_MESSAGE' });
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'message 01', 'reply 01']);
  });

  test('on a planned turn is refused, with nothing changed', async () => {
    const project = await begin();
    await say(project, 'Do it', planOf([create('a.txt')]));
    const tip = await project.tipOf(line);
    for (const message of ['More', undefined]) {
      await expect(say(project, message, 'x')).rejects.toMatchObject({ code: 'PLAN_PENDING' });
    }
    expect(await project.tipOf(line)).toBe(tip);
  });

  test('for an unknown agent is refused before anything is written', async () => {
    const project = await begin();
    const tip = await project.tipOf(line);
    await expect(say(project, 'x', 'x', { agent: 'nobody' })).rejects.toMatchObject({ code: 'UNKNOWN_AGENT' });
    expect(await project.tipOf(line)).toBe(tip);
  });

  test('without a session is refused', async () => {
    const project = await memoryProject();
    await expect(say(project, 'x', 'x')).rejects.toMatchObject({ code: 'UNKNOWN_SESSION' });
  });

  test('in the middle of a rebase is refused', async () => {
    const project = await begin();
    project.state.operation = 'rebase';
    await expect(say(project, 'x', 'x')).rejects.toMatchObject({ code: 'OPERATION_IN_PROGRESS' });
  });
});

describe('an answer', () => {
  test.each([
    ['a plan with an action', planOf([create('a.txt')]), 'planned'],
    ['a plan without actions', '# T\n\n## Action Plan\n', 'planned'],
    ['a plan for memos', '# T\n\n## Memos\n- [+] tabs\n\n## Message\nHi\n', 'planned'],
    ['a plan with unknown actions', '## CREATE\n- **File Path:** a.txt\n\n```\nx\n```\n', 'planned'],
    ['a plan that is only text', '# T\n\n## Message\nHi\n', 'closed'],
    ['a reply', 'Hi', 'closed'],
  ])('that is %s reports whether it waits for its execution, like the line', async (_, text, status) => {
    const project = await begin();
    const outcome = await say(project, 'Do it', text);
    expect(outcome).toMatchObject({ kind: 'answered', isPending: status === 'planned' });
    const state = await readLine(project.repository.store, await project.tipOf(line));
    expect(state.latest?.status).toBe(status);
  });

  test('that is a plan is kept byte for byte, with its actions in the label and the usage', async () => {
    const project = await begin();
    const text = planOf([create('src/a.ts', 'x\r\n')]);
    const model = scriptedModel({
      texts: [text.slice(0, 9), text.slice(9)],
      usage: { inputTokens: 7, outputTokens: 3 },
    });
    const outcome = await say(project, 'Do it', model);
    expect(outcome).toMatchObject({ kind: 'answered', entry: 'plan', turn: '01', actions: 1, problems: [], text });
    const tip = await project.tipOf(line);
    expect(await project.readAt(tip, `${dir}/01/plan.md`)).toBe(text);
    expect(await entryAt(project)).toMatchObject({
      kind: 'plan',
      title: 'Do it',
      details: ['1. CREATE src/a.ts'],
      tokens: { input: 7, output: 3 },
      sha256: project.hash(text),
    });
    expect((await recordsOf(project)).at(-1)).toMatchObject({ type: 'assistant', message: { file: 'plan.md' } });
  });

  test('that would not run is announced with its problems immediately', async () => {
    const project = await begin();
    const outcome = await say(project, 'Do it', planOf([create('README.md')]));
    expect(outcome).toMatchObject({ entry: 'plan', problems: [{ action: 1 }] });
  });

  test('that is only a message closes the turn, and the next one is 02', async () => {
    const project = await begin();
    await say(project, 'Hello', '# Hi\n\n## Message\n\nWhat do you want?\n');
    const outcome = await say(project, 'A login', 'I see.');
    expect(outcome).toMatchObject({ entry: 'reply', turn: '02' });
  });

  test('that is not a plan is a reply in the transcript', async () => {
    const project = await begin();
    await say(project, 'Hello', 'Just words.\nMore.');
    expect(await entryAt(project)).toMatchObject({ kind: 'reply', title: 'Just words.', details: ['More.'] });
    expect(await recordsOf(project)).toMatchObject([
      { type: 'user', message: { content: 'Hello' } },
      { type: 'assistant', message: { content: 'Just words.\nMore.' } },
    ]);
    expect(await project.readAt(await project.tipOf(line), `${dir}/01/plan.md`)).toBeNull();
  });

  test('that is empty is an error, and the turn stays open', async () => {
    const project = await begin();
    await expect(say(project, 'Hello', ' \n')).rejects.toMatchObject({ code: 'EMPTY_ANSWER' });
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'message 01']);
    expect(await say(project, undefined, 'Hi.')).toMatchObject({ turn: '01', entry: 'reply' });
  });

  test('that is cut at the model’s limit is kept as partial', async () => {
    const project = await begin();
    const cut = scriptedModel({ texts: ['# Half a pl'], finish: 'length' }, { texts: [], finish: 'length' });
    await expect(say(project, 'Do it', cut)).rejects.toMatchObject({ code: 'MODEL_INTERRUPTED' });
    expect(await entryAt(project)).toMatchObject({ kind: 'reply', status: 'PARTIAL' });
  });
});

describe('an interrupted answer', () => {
  test('keeps the message and the received part, flagged, and the turn stays open', async () => {
    const project = await begin();
    const model = scriptedModel({ texts: ['# Pl', 'an\n\n## Mess'], error: interrupted });
    await expect(say(project, 'Do it', model)).rejects.toBe(interrupted);
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'message 01', 'reply 01']);
    expect(await entryAt(project)).toMatchObject({ status: 'PARTIAL', title: 'interrupted answer' });
    expect((await recordsOf(project)).at(-1)).toMatchObject({
      type: 'assistant_partial',
      message: { content: '# Plan\n\n## Mess' },
    });
    expect(project.said.at(-1)).toMatch(/^warning: .*15 characters.*turn 01/);
  });

  test('without any content leaves only the message', async () => {
    const project = await begin();
    await expect(say(project, 'Do it', scriptedModel(interrupted))).rejects.toBe(interrupted);
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'message 01']);
  });

  test('asked again sends the identical request, even if files have changed, with the message once', async () => {
    const project = await begin();
    const model = scriptedModel({ texts: ['Hal'], error: interrupted }, interrupted, 'Whole.');
    await expect(say(project, 'Do it', model)).rejects.toBe(interrupted);
    await project.write({ 'README.md': '# Changed meanwhile\n' });
    await expect(say(project, undefined, model)).rejects.toBe(interrupted);
    await say(project, 'Do it', model);
    const [first, second, third] = model.requests.map(({ messages }) => messages);
    expect(second).toEqual(first);
    expect(third).toEqual(first);
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'message 01', 'reply 01', 'reply 01']);
    expect((await recordsOf(project)).map(({ type }) => type)).toEqual(['user', 'assistant_partial', 'assistant']);
  });

  test('asked again with another message replaces the log, and both messages are in the transcript', async () => {
    const project = await begin();
    await expect(say(project, 'Do it', scriptedModel(interrupted))).rejects.toBe(interrupted);
    const model = scriptedModel('Done.');
    await say(project, 'Do something else', model);
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'message 01', 'message 01', 'reply 01']);
    expect((await recordsOf(project)).map(({ type }) => type)).toEqual(['user', 'user', 'assistant']);
    const log = (await project.read(`${dir}/01/_context.log`)) ?? '';
    expect(log.endsWith(model.requests[0]?.messages[1]?.content ?? 'nothing')).toBe(true);
    expect(log.endsWith('Do something else')).toBe(true);
  });

  test('asked again with another agent changes the request, which has the message once', async () => {
    const project = await begin();
    const model = scriptedModel(interrupted, 'Done.');
    await expect(say(project, 'Do it', model)).rejects.toBe(interrupted);
    await say(project, undefined, model, { agent: 'dev' });
    expect(model.requests[1]?.messages[0]).not.toEqual(model.requests[0]?.messages[0]);
    expect((await recordsOf(project)).map(({ type }) => type)).toEqual(['user', 'assistant']);
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'message 01', 'message 01', 'reply 01']);
  });
});

describe('without a model', () => {
  test('the message is committed, and an answer by hand later closes that turn', async () => {
    const project = await begin();
    expect(await say(project, 'Do it', null)).toMatchObject({
      kind: 'open',
      turn: '01',
      logPath: `${dir}/01/_context.log`,
    });
    const manual = { ...scriptedModel(planOf([create('a.txt')])), provider: 'manual' as const };
    const choice = { provider: 'manual' as const, name: 'manual', parameters: {}, model: manual };
    expect(await say(project, undefined, null, { choice })).toMatchObject({
      kind: 'answered',
      entry: 'plan',
      turn: '01',
    });
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'message 01', 'plan 01']);
  });
});

describe('the agent', () => {
  test('is the previous turn’s, unless another is chosen; the setting counts before the first turn', async () => {
    const project = await begin();
    project.configuration.set('teddy.agent', 'dev');
    await say(project, 'one', 'x');
    expect((await entryAt(project))?.agent).toBe('dev');
    await say(project, 'two', 'x', { agent: 'pathfinder' });
    await project.commit('Mine\n', { 'own.txt': 'x\n' });
    await project.write({ 'own.txt': 'y\n' });
    await say(project, 'three', 'x');
    expect((await entryAt(project))?.agent).toBe('pathfinder');
  });
});

describe('the model’s context', () => {
  test('has the memos, the history, the tree and the listed files', async () => {
    const project = await begin({ 'README.md': '# Notes\n', 'src/a.ts': 'const a = 1;\n' });
    await turn(project, 'First things first', create('src/b.ts', 'const b = 2;\n'));
    await project.write({ [`${dir}/session.context`]: 'src/a.ts\n', '.teddy/memos.yaml': '- tabs, not spaces\n' });
    const model = scriptedModel('Fine.');
    await say(project, 'Second', model);
    const user = model.requests[0]?.messages[1]?.content ?? '';
    for (const part of [
      '- tabs, not spaces',
      'First things first',
      '# Notes',
      'const a = 1;',
      'const b = 2;',
      'status: SUCCESS',
    ]) {
      expect(user).toContain(part);
    }
    expect(await project.read(`${dir}/02/turn.context`)).toBe('README.md\nsrc/a.ts\nsrc/b.ts\n');
  });

  test('is printed by a preview, byte for byte, without writing anything', async () => {
    const project = await begin();
    const refs = await project.repository.store.listRefs('refs/');
    const choice = { provider: 'recorded' as const, name: 'scripted', parameters: {}, model: null };
    const log = await previewRequest(project, { message: 'Do it', choice });
    expect(await project.repository.store.listRefs('refs/')).toEqual(refs);
    await say(project, 'Do it', scriptedModel('x'), {});
    expect(await project.read(`${dir}/01/_context.log`)).toBe(log);
  });
});

describe('a lost race', () => {
  test('with a user’s commit is decided again on top of it, with its changes in the request', async () => {
    const project = await begin();
    const racing = withRace(project, () => project.commit('Mine\n', { 'README.md': '# Faster\n' }));
    const model = scriptedModel('Fine.');
    await say(racing, 'Do it', model);
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', "'Mine'", 'message 01', 'reply 01']);
    expect(model.requests[0]?.messages[1]?.content).toContain('# Faster');
  });

  test('with another message is REF_MOVED, and with a plan PLAN_PENDING', async () => {
    const project = await begin();
    const racing = withRace(project, () => say(project, 'Mine first', null));
    await expect(say(racing, 'Do it', 'x')).rejects.toMatchObject({ code: 'REF_MOVED' });
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'message 01']);
    const slow = withRace(project, () => say(project, undefined, planOf([create('a.txt')])));
    await expect(say(slow, 'Something else', 'x')).rejects.toMatchObject({ code: 'PLAN_PENDING' });
  });

  test('that never ends is REF_MOVED after ten attempts', async () => {
    const project = await begin();
    const { repository } = project;
    let attempts = 0;
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const workspace = { ...repository.workspace, publish: async () => ((attempts += 1), 'moved' as const) };
    const unlucky = { ...project, repository: { ...repository, workspace } };
    await expect(say(unlucky, 'Do it', 'x')).rejects.toMatchObject({ code: 'REF_MOVED' });
    expect(attempts).toBe(10);
  });

  test('for the answer keeps it as a blob that the error names, and the faster answer wins', async () => {
    const project = await begin();
    const meanwhile = async () => void (await say(project, undefined, 'Faster.'));
    const late = scriptedModel({ texts: ['Slower.'], meanwhile });
    const error = await say(project, 'Do it', late).catch((thrown: TeddyError) => thrown);
    expect(error).toMatchObject({ code: 'REF_MOVED' });
    const oid = /cat-file -p ([0-9a-f]{40})/.exec((error as TeddyError).hint ?? '')?.[1];
    const blob = await project.repository.store.readBlob(parseOid(oid ?? ''));
    expect(Buffer.from(blob).toString()).toBe('Slower.');
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'message 01', 'reply 01']);
  });

  test('for the answer, with a user’s commit, keeps both', async () => {
    const project = await begin();
    const meanwhile = async () => void (await project.commit('Mine\n', { 'own.txt': 'x\n' }));
    await say(project, 'Do it', scriptedModel({ texts: [planOf([create('a.txt')])], meanwhile }));
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'message 01', "'Mine'", 'plan 01']);
    expect(await project.readAt(await project.tipOf(line), 'own.txt')).toBe('x\n');
  });
});

describe('a line that is not checked out', () => {
  test('is planned on without a work tree, and HEAD and files stay', async () => {
    const project = await begin();
    await project.switchTo('main');
    await say(project, 'Do it', planOf([create('a.txt')]), { selector: 'login' });
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'message 01', 'plan 01']);
    expect((await project.repository.workspace.head()).ref).toBe('refs/heads/main');
    expect(await project.read('.teddy/memos.yaml')).toBeNull();
    await expect(run(project, { selector: 'login' })).rejects.toMatchObject({ code: 'NOT_ON_LINE' });
  });

  test('that only a remote has is made local', async () => {
    const project = await begin();
    const tip = await project.tipOf(line);
    await project.switchTo('main');
    await project.setRef(`refs/remotes/origin/${line}`, tip);
    await project.repository.store.updateRefs([{ ref: `refs/heads/${line}` as RefName, old: tip, new: null }], 'x');
    await expect(say(project, 'Go on', 'Fine.')).rejects.toMatchObject({ code: 'NO_OPEN_SESSION' });
    await say(project, 'Go on', 'Fine.', { selector: session });
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'message 01', 'reply 01']);
    expect(project.said).toContain(`Created the local branch ${line}.`);
  });
});
