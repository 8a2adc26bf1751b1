/** Answers that a killed command had received. */
import { describe, expect } from 'vitest';
import { decodeTranscript } from '../../../src/conversation/history/decode-transcript.ts';
import type { TranscriptRecord } from '../../../src/conversation/records/record.ts';
import { TeddyError } from '../../../src/errors.ts';
import type { AnswerTarget } from '../../../src/ports/disk.ts';
import { decodeEntry } from '../../../src/session/entries/entry.ts';
import type { RefName, SessionId, TurnName } from '../../../src/names.ts';
import { previewRequest } from '../../../src/workflow/turn/plan.ts';
import { given } from '../../support/given.ts';
import { withRace, type MemoryProject } from '../../support/memory-repository.ts';
import { scriptedModel } from '../../support/scripted-model.ts';
import { create, line, planOf, run, say, session, storyOfLine } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const place: AnswerTarget = {
  id: '019bf000-0000-7000-8000-00000000abcd',
  session: session as SessionId,
  turn: '01' as TurnName,
  ref: `refs/heads/${line}` as RefName,
  recordCount: 1,
  provider: 'openai',
  model: 'gpt-test',
  agent: 'pathfinder',
};
const text = 'Half an ans';
const opened = ["'First commit'", 'start', 'message 01'];

/** A turn that waits for an answer. */
async function begin(): Promise<MemoryProject> {
  const project = await given.session();
  const failing = say(project, 'Do it', scriptedModel(new TeddyError('MODEL_FAILED', 'Failed.')));
  await expect(failing).rejects.toMatchObject({ code: 'MODEL_FAILED' });
  return project;
}

async function recordsOf(project: MemoryProject): Promise<TranscriptRecord[]> {
  const found = await project.readAt(await project.tipOf(line), `.teddy/sessions/${session}/01/transcript.jsonl`);
  return decodeTranscript(found ?? '').records;
}

async function anchored(project: MemoryProject): Promise<Record<string, string>> {
  const { store } = project.repository;
  const anchors = await store.listRefs('refs/teddy/keep/answers/');
  const rows = anchors.map(async ({ ref, oid }) => [
    ref.replace('refs/teddy/keep/answers/', ''),
    Buffer.from(await store.readBlob(oid)).toString(),
  ]);
  return Object.fromEntries(await Promise.all(rows)) as Record<string, string>;
}

describe('an answer that an interrupted command had received', () => {
  slowTest('is kept in its open turn, flagged, by the next command, which asks the same again', async () => {
    const project = await begin();
    project.staged.push({ place, text });
    const model = scriptedModel('Whole.');
    await say(project, undefined, model);
    expect(await storyOfLine(project)).toEqual([...opened, 'reply 01', 'reply 01']);
    expect((await recordsOf(project)).map(({ type }) => type)).toEqual(['user', 'assistant_partial', 'assistant']);
    expect((await recordsOf(project))[1]).toMatchObject({ id: place.id, message: { content: text } });
    const { message } = await project.repository.store.readCommit(
      (await project.repository.store.readCommit(await project.tipOf(line))).parents[0] ?? ('' as never),
    );
    expect(decodeEntry(message)).toMatchObject({
      kind: 'reply',
      status: 'PARTIAL',
      model: 'gpt-test',
      provider: 'openai',
    });
    expect(project.staged).toEqual([]);
    expect(project.said).toContain(
      'warning: An answer that an interrupted command had received (11 characters) was saved in turn 01.',
    );
  });

  test('is also kept by execute, which then has no plan', async () => {
    const project = await begin();
    project.staged.push({ place, text });
    await expect(run(project)).rejects.toMatchObject({ code: 'NO_PENDING_PLAN' });
    expect(await storyOfLine(project)).toEqual([...opened, 'reply 01']);
  });

  test('is not touched by a preview, nor while its process is running', async () => {
    const project = await begin();
    project.staged.push({ place, text });
    const choice = { provider: 'recorded' as const, name: 'scripted', parameters: {}, model: null };
    await previewRequest(project, { message: 'Something else', choice });
    expect(project.staged).toHaveLength(1);
    const alive = { place: { ...place, id: 'other' }, text, isAlive: true };
    project.staged.splice(0, 1, alive);
    await say(project, undefined, null);
    expect(await storyOfLine(project)).toEqual(opened);
    expect(project.staged).toEqual([alive]);
  });

  test('is kept once, even if the command that kept it was killed before it cleaned up', async () => {
    const project = await begin();
    project.staged.push({ place, text });
    await say(project, undefined, null);
    project.staged.push({ place, text });
    await say(project, undefined, null);
    await say(project, undefined, 'Whole.');
    // Even if the turn has been closed since.
    project.staged.push({ place, text });
    await say(project, 'Next', null);
    expect(await storyOfLine(project)).toEqual([...opened, 'reply 01', 'reply 01', 'message 02']);
    expect(project.staged).toEqual([]);
    expect(await anchored(project)).toEqual({});
    expect(project.said.filter((notice) => notice.includes('interrupted command'))).toHaveLength(1);
  });

  slowTest('is set aside and named if its turn has continued without it, or has been answered meanwhile', async () => {
    const project = await begin();
    await say(project, undefined, planOf([create('a.txt')]));
    project.staged.push({ place, text });
    await run(project);
    expect(await storyOfLine(project)).toEqual([...opened, 'plan 01', 'report 01']);
    expect(await anchored(project)).toEqual({ [place.id]: text });
    expect(project.said.at(-1) ?? '').not.toContain('turn 01.');
    expect(project.said.join('\n')).toMatch(
      /saved separately: `git cat-file -p [0-9a-f]{40}`\. Turn 01 .* no longer waiting for it/,
    );

    // The same again, as after a crash: one anchor, no entry.
    project.staged.push({ place, text });
    await say(project, 'Next', null);
    expect(await anchored(project)).toEqual({ [place.id]: text });
  });

  test('that loses a race against another answer is set aside', async () => {
    const project = await begin();
    project.staged.push({ place, text });
    const racing = withRace(project, async () => {
      const mine = project.staged.splice(0);
      await say(project, undefined, 'Faster.');
      project.staged.push(...mine);
    });
    await say(racing, 'Next', null);
    expect(await storyOfLine(project)).toEqual([...opened, 'reply 01', 'message 02']);
    expect(await anchored(project)).toEqual({ [place.id]: text });
    expect(project.staged).toEqual([]);
  });

  test('on another line waits for that line, and on a deleted line is set aside', async () => {
    const project = await begin();
    const other = { ...place, ref: 'refs/heads/teddy/20260124-other' as RefName };
    await project.setRef(other.ref, await project.tipOf(line));
    project.staged.push({ place: other, text });
    await say(project, undefined, null);
    expect(project.staged).toHaveLength(1);
    expect(await anchored(project)).toEqual({});
    const tip = await project.tipOf('teddy/20260124-other');
    await project.repository.store.updateRefs([{ ref: other.ref, old: tip, new: null }], 'gone');
    await say(project, undefined, null);
    expect(project.staged).toEqual([]);
    expect(await anchored(project)).toEqual({ [place.id]: text });
    expect(await storyOfLine(project)).toEqual(opened);
  });

  test('that is damaged keeps its intact part in its turn, and all bytes beside it', async () => {
    const project = await begin();
    const damaged = new TextEncoder().encode(`${text}\0\0`);
    project.staged.push({ place, text, damaged, unconfirmedBytes: 3 });
    project.staged.push({ place: null, text: '', damaged });
    project.staged.push({ place: { ...place, id: 'x' }, text: '', damaged: new Uint8Array() });
    await say(project, undefined, null);
    expect(await storyOfLine(project)).toEqual([...opened, 'reply 01']);
    expect(await anchored(project)).toEqual({ [`${place.id}-damaged`]: `${text}\0\0`, nameless: `${text}\0\0` });
    expect(project.said.join('\n')).toContain('Its last 3 bytes had not been confirmed as saved.');
    expect(project.said.join('\n')).toContain('interrupted answer is gone: somebody has removed its bytes.');
    expect(project.said.join('\n')).toMatch(/damaged\. To see what was found: `git cat-file -p [0-9a-f]{40}`/);
    expect(project.staged).toEqual([]);
  });
});
