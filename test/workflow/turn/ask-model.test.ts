/** Receiving, staging and keeping an answer. */
import { describe, expect, test } from 'vitest';
import { continueMessage } from '../../../src/workflow/line/receive-answer.ts';
import { decodeTranscript } from '../../../src/conversation/history/decode-transcript.ts';
import type { TranscriptRecord } from '../../../src/conversation/records/record.ts';
import { TeddyError } from '../../../src/errors.ts';
import type { Model } from '../../../src/ports/model.ts';
import { decodeEntry } from '../../../src/session/entries/entry.ts';
import type { Oid } from '../../../src/names.ts';
import { given } from '../../support/given.ts';
import { requestOf } from '../../support/ask-model.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { scriptedModel, type ScriptedAnswer } from '../../support/scripted-model.ts';
import { create, line, memos, planOf, say, session, storyOfLine } from '../../support/turns.ts';

const longLine = 'This line is long enough to be known again when it comes twice.\n';
const cut = (...texts: string[]): ScriptedAnswer => ({ texts, finish: 'length' });

async function recordsOf(project: MemoryProject): Promise<TranscriptRecord[]> {
  const text = await project.readAt(await project.tipOf(line), `.teddy/sessions/${session}/01/transcript.jsonl`);
  return decodeTranscript(text ?? '').records;
}

async function entryAt(project: MemoryProject) {
  return decodeEntry((await project.repository.store.readCommit(await project.tipOf(line))).message);
}

describe('an answer that its endpoint ended badly', () => {
  const ended = (text: string): ScriptedAnswer => ({ texts: [text], finish: 'other', said: 'content_filter' });
  const plan = planOf([create('a.txt')]);

  test.each([plan.slice(0, -6), 'Some words.'])('is kept in part, with the reason: %j', async (text) => {
    const project = await given.session();
    await expect(say(project, 'Do it', scriptedModel(ended(text)))).rejects.toMatchObject({
      code: 'MODEL_INTERRUPTED',
      message: expect.stringMatching(/ended its answer after \d+ characters with "content_filter"/),
    });
    expect(await entryAt(project)).toMatchObject({ kind: 'reply', status: 'PARTIAL' });
    expect(await recordsOf(project)).toMatchObject([
      { type: 'user' },
      { type: 'note', text: 'The endpoint ended this answer with "content_filter".' },
      { type: 'assistant_partial', message: { content: text } },
    ]);
  });

  test('and is still a complete plan waits, and is not the command’s answer', async () => {
    const project = await given.session();
    await expect(say(project, 'Do it', scriptedModel(ended(plan)))).rejects.toMatchObject({
      code: 'MODEL_INTERRUPTED',
      message: expect.stringContaining('it is pending in turn 01, and nothing was run'),
    });
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'message 01', 'plan 01']);
    expect(await project.readAt(await project.tipOf(line), `.teddy/sessions/${session}/01/plan.md`)).toBe(plan);
  });

  test('before any content names the reason', async () => {
    await expect(say(await given.session(), 'Do it', scriptedModel(ended('')))).rejects.toMatchObject({
      code: 'EMPTY_ANSWER',
      message: expect.stringContaining('returned an empty answer, and'),
    });
  });
});

describe('an answer that is cut at the limit', () => {
  test('is continued: the model gets its own text and is asked to continue', async () => {
    const project = await given.session();
    const plan = planOf([create('a.txt')]);
    const model = scriptedModel(cut(plan.slice(0, 20)), cut(plan.slice(20, 30)), plan.slice(30));
    const heard: string[] = [];
    expect(await say(project, 'Do it', model, { onText: (text) => heard.push(text) })).toMatchObject({ text: plan });
    expect(heard.join('')).toBe(plan);
    const [first, second, third] = model.requests.map(({ messages }) => messages);
    const goOn = (text: string) => [
      ...(first ?? []),
      { role: 'assistant', content: text },
      { role: 'user', content: continueMessage },
    ];
    expect(second).toEqual(goOn(plan.slice(0, 20)));
    expect(third).toEqual(goOn(plan.slice(0, 30)));
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'message 01', 'plan 01']);
  });

  test('sums the usage and the cost of all its requests', async () => {
    const project = await given.session();
    const usage = (inputTokens: number, outputTokens: number, costUsd?: number) => ({
      usage: { inputTokens, outputTokens, ...(costUsd === undefined ? {} : { costUsd }) },
    });
    const told: unknown[] = [];
    const model = scriptedModel({ ...cut('One '), ...usage(10, 5, 0.25) }, { texts: ['two.'], ...usage(20, 7, 0.5) });
    const outcome = await say(project, 'Do it', model, { onUsage: (sum) => told.push(sum) });
    expect(outcome).toMatchObject({ usage: { input: 30, output: 12, costUsd: 0.75 } });
    expect(told).toEqual([
      { input: 10, output: 5, costUsd: 0.25 },
      { input: 30, output: 12, costUsd: 0.75 },
    ]);
    expect((await entryAt(project))?.tokens).toEqual({ input: 30, output: 12 });
  });

  test('sums the cached and the reasoning tokens of all its requests, in its label and in its record', async () => {
    const project = await given.session();
    const counts = { inputTokens: 10, outputTokens: 5, cachedTokens: 8, reasoningTokens: 2 };
    const [first, second] = [
      { ...cut('One '), usage: counts },
      { texts: ['two.'], usage: { ...counts, cachedTokens: 9 } },
    ];
    await say(project, 'Do it', scriptedModel(first, second));
    const tokens = { input: 20, output: 10, cached: 17, reasoning: 4 };
    expect((await entryAt(project))?.tokens).toEqual(tokens);
    expect((await recordsOf(project)).at(-1)).toMatchObject({ type: 'assistant', tokens });
  });

  test('loses its repetition at the seam, which the transcript notes beside the answer', async () => {
    const project = await given.session();
    const heard: string[] = [];
    const model = scriptedModel(cut('Start.\n', longLine), cut(longLine, 'More.\n'), { texts: ['', 'End.\n'] });
    await say(project, 'Do it', model, { onText: (text) => heard.push(text) });
    expect(heard.join('')).toBe(`Start.\n${longLine}More.\nEnd.\n`);
    const records = await recordsOf(project);
    expect(records.map(({ type }) => type)).toEqual(['user', 'note', 'note', 'assistant']);
    expect(records[1]).toMatchObject({
      text: expect.stringMatching(/^Continuation 1: .* 71 characters; 64 bytes .* dropped/),
    });
    expect(records[2]).toMatchObject({ text: expect.stringMatching(/^Continuation 2: .* 77 characters and went on/) });
    expect(records[3]).toMatchObject({ message: { content: `Start.\n${longLine}More.\nEnd.\n` } });
  });

  test('is kept in part after eight continuations, without a ninth request', async () => {
    const project = await given.session();
    const model = scriptedModel(...Array.from({ length: 12 }, (_, at) => cut(`${at}.`)));
    const error = await say(project, 'Do it', model).catch((thrown: TeddyError) => thrown);
    expect(error).toMatchObject({ code: 'MODEL_INTERRUPTED', message: expect.stringContaining('8 continuations') });
    expect(model.requests).toHaveLength(9);
    expect(await entryAt(project)).toMatchObject({ kind: 'reply', status: 'PARTIAL' });
    expect((await recordsOf(project)).at(-1)).toMatchObject({
      type: 'assistant_partial',
      message: { content: '0.1.2.3.4.5.6.7.8.' },
    });
  });

  test('is not continued after a continuation without content', async () => {
    const project = await given.session();
    const model = scriptedModel(cut('Half'), cut());
    await expect(say(project, 'Do it', model)).rejects.toMatchObject({ code: 'MODEL_INTERRUPTED' });
    expect(model.requests).toHaveLength(2);
    expect((await recordsOf(project)).map(({ type }) => type)).toEqual(['user', 'assistant_partial']);
  });

  test('that calls a tool nobody has offered is not a plan, which is reported', async () => {
    const project = await given.session();
    const call = { id: 'a', name: 'read_file', arguments: '{}' };
    const error = await say(project, 'Do it', scriptedModel({ texts: [], calls: [call] })).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: 'EMPTY_ANSWER', message: expect.stringContaining('"read_file"') as string });
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'message 01']);
  });

  test('before any content is an empty answer, and nothing is kept', async () => {
    const project = await given.session();
    const error = await say(project, 'Do it', scriptedModel(cut())).catch((thrown: TeddyError) => thrown);
    expect(error).toMatchObject({ code: 'EMPTY_ANSWER', message: expect.stringContaining('limit') });
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'message 01']);
  });

  test('and then fails keeps all received content, including text held back at the seam', async () => {
    const project = await given.session();
    const lost = new TeddyError('MODEL_INTERRUPTED', 'Lost.');
    const model = scriptedModel(cut(longLine), { texts: ['This line is'], error: lost });
    await expect(say(project, 'Do it', model)).rejects.toBe(lost);
    expect((await recordsOf(project)).at(-1)).toMatchObject({ message: { content: `${longLine}This line is` } });
  });
});

describe('staging', () => {
  test('has the answer while it arrives, with its place, and is empty afterwards', async () => {
    const project = await given.session();
    const seen: unknown[] = [];
    const look = async () => void seen.push(structuredClone(project.staged));
    await say(project, 'Do it', scriptedModel({ texts: ['Hal', 'lo.'], meanwhile: look }));
    expect(seen).toMatchObject([
      [
        {
          text: 'Hallo.',
          place: { session, turn: '01', ref: `refs/heads/${line}`, recordCount: 1, agent: 'pathfinder' },
        },
      ],
    ]);
    expect(project.staged).toEqual([]);
    const [{ place } = { place: null }] = seen[0] as { place: { id: string } }[];
    expect((await recordsOf(project)).at(-1)).toMatchObject({ id: place?.id });
  });

  test('is empty after an error, an interruption and an empty answer', async () => {
    const project = await given.session();
    const interrupted = new TeddyError('INTERRUPTED', 'Interrupted.');
    for (const answer of [interrupted, { texts: ['Hal'], error: interrupted }, ' ']) {
      await expect(say(project, 'Do it', scriptedModel(answer))).rejects.toBeInstanceOf(TeddyError);
      expect(project.staged).toEqual([]);
    }
  });

  test('keeps the answer when it cannot be put on the line', async () => {
    const project = await given.session();
    const full = new TeddyError('DISK_FULL', 'No space left.');
    const breakDown = async () => {
      project.repository.workspace.publish = () => Promise.reject(full);
    };
    await expect(say(project, 'Do it', scriptedModel({ texts: ['All of it.'], meanwhile: breakDown }))).rejects.toBe(
      full,
    );
    expect(project.staged).toMatchObject([{ text: 'All of it.', isSaved: true }]);
  });

  test('is removed if somebody else was faster, since the answer is anchored then', async () => {
    const project = await given.session();
    const meanwhile = async () => void (await say(project, undefined, 'Faster.'));
    const late = say(project, 'Do it', scriptedModel({ texts: ['Slower.'], meanwhile }));
    await expect(late).rejects.toMatchObject({ code: 'REF_MOVED' });
    expect(project.staged).toEqual([]);
    const [anchor] = await project.repository.store.listRefs('refs/teddy/keep/answers/');
    const blob = await project.repository.store.readBlob(anchor?.oid ?? ('' as Oid));
    expect(Buffer.from(blob).toString()).toBe('Slower.');
  });
});

describe('an answer on the line', () => {
  test('is the outcome even if it cannot be searched for secrets afterwards, which is reported with its commit', async () => {
    const project = await given.session();
    const plan = planOf([create('a.txt')]);
    const refused = new TeddyError('MASKING_FAILED', 'A text could not be searched.', 'Switch it off.');
    const { mask } = project.masker;
    project.masker.mask = (text) => (text === plan ? Promise.reject(refused) : mask(text));
    const outcome = await say(project, 'Do it', plan);
    const commit = await project.tipOf(line);
    expect(outcome).toMatchObject({ commit, secrets: [], actions: 1, problems: [] });
    expect(project.said.filter((text) => text.startsWith('warning: '))).toEqual([
      `warning: The answer is on its branch as ${commit.slice(0, 10)}, but it could not be searched for secrets: A text could not be searched. Switch it off.`,
    ]);
  });

  test('is the outcome even if its plan cannot be checked against the files, and its own faults are reported', async () => {
    const project = await given.session();
    project.filesOf = () => {
      throw new Error('EIO: i/o error');
    };
    const outcome = await say(project, 'Do it', planOf([create('a.txt')], memos('no mark')));
    expect(outcome).toMatchObject({ commit: await project.tipOf(line) });
    expect(outcome).toHaveProperty('problems', [expect.objectContaining({ line: expect.any(Number) })]);
    expect(project.said).toContainEqual(
      expect.stringMatching(
        /^warning: The answer is on its branch as [0-9a-f]{10}, but .* not be checked .*: EIO: i\/o error$/,
      ),
    );
  });
});

describe('an interrupted answer that cannot be kept', () => {
  const lost = new TeddyError('MODEL_INTERRUPTED', 'Lost.');
  const full = new TeddyError('DISK_FULL', 'No space left.', 'Make room.');

  test('keeps the first error, reports the second, and stays in staging', async () => {
    const project = await given.session();
    const meanwhile = async () => {
      project.repository.workspace.publish = () => Promise.reject(full);
    };
    await expect(say(project, 'Do it', scriptedModel({ texts: ['Hal'], error: lost, meanwhile }))).rejects.toBe(lost);
    expect(project.staged).toMatchObject([{ text: 'Hal', isSaved: true }]);
    expect(project.said).toContainEqual(
      'warning: The answer was interrupted, and the part that arrived (3 characters) could not be saved in turn 01: No space left. Make room.',
    );
  });

  test('has its part’s place reported if somebody else was faster', async () => {
    const project = await given.session();
    const meanwhile = async () => void (await say(project, undefined, 'Faster.'));
    await expect(say(project, 'Do it', scriptedModel({ texts: ['Slow'], error: lost, meanwhile }))).rejects.toBe(lost);
    const [anchor] = await project.repository.store.listRefs('refs/teddy/keep/answers/');
    expect(project.said.at(-1)).toContain(`git cat-file -p ${anchor?.oid}`);
  });
});

describe('an endless answer', () => {
  test('is stopped at 10 MiB, and the content up to there is kept', async () => {
    const project = await given.session();
    const piece = 'ä'.repeat(512 * 1024);
    const model = scriptedModel({ texts: Array.from({ length: 40 }, () => piece) });
    const error = await say(project, 'Do it', model).catch((thrown: TeddyError) => thrown);
    expect(error).toMatchObject({ code: 'MODEL_FAILED', message: expect.stringContaining('10 MiB') });
    const [, part] = await recordsOf(project);
    expect(part).toMatchObject({ type: 'assistant_partial', message: { content: piece.repeat(10) } });
  });

  test('names the command that asks again, which after a question is not the one that runs the plan', async () => {
    const project = await given.session();
    await say(project, 'Do it', planOf([create('a.txt')]));
    const asked = say(project, 'Why?', scriptedModel({ texts: ['a'.repeat(11 * 1024 * 1024)] }), { mode: 'ask' });
    await expect(asked).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      hint: 'Ask for less at a time; `teddy ask` without -m tries again; the message is kept.',
    });
  });
});

test('a continuation that ends without a reason is the end of the answer', async () => {
  const project = await given.session();
  let asked = 0;
  const model: Model = {
    ...scriptedModel(),
    async *answer() {
      asked += 1;
      if (asked === 1) yield* scriptedModel(cut('One ')).answer(requestOf());
      else yield { type: 'text', text: `${asked}.` };
    },
  };
  expect(await say(project, 'Do it', model)).toMatchObject({ text: 'One 2.' });
});

describe('the model’s thinking', () => {
  const secret = 'ghp_0123456789abcdefghijABCDEFGHIJ012345';

  test('is a note before the answer, masked, and not part of the next request', async () => {
    const project = await given.session();
    project.secrets.set(secret, 'a key');
    const heard: string[] = [];
    const model = scriptedModel({ texts: ['Words.'], thoughts: ['Hm, the key is ', secret, '.'] }, 'More.');
    const outcome = await say(project, 'Do it', model, { onText: (text) => heard.push(text) });
    expect(outcome).toMatchObject({ text: 'Words.' });
    expect(heard).toEqual(['Words.']);
    const [, note, answer] = await recordsOf(project);
    expect(note).toMatchObject({
      type: 'note',
      text: expect.stringMatching(/^The model thought:\n\nHm, the key is \[masked: .*\]\.$/),
    });
    expect(answer).toMatchObject({ type: 'assistant', message: { content: 'Words.' } });
    await say(project, 'And on', model);
    expect(JSON.stringify(model.requests.at(-1)?.messages)).not.toContain('Hm, the key');
  });

  test('is kept with the received part of an interrupted answer', async () => {
    const project = await given.session();
    const model = scriptedModel({
      texts: ['Half'],
      thoughts: ['Hm.'],
      error: new TeddyError('MODEL_INTERRUPTED', 'cut'),
    });
    await say(project, 'Do it', model).catch(() => null);
    expect((await recordsOf(project)).map(({ type }) => type)).toEqual(['user', 'note', 'assistant_partial']);
  });

  test('alone is not an answer', async () => {
    const project = await given.session();
    await expect(say(project, 'Do it', scriptedModel({ texts: [], thoughts: ['Hm.'] }))).rejects.toMatchObject({
      code: 'EMPTY_ANSWER',
    });
  });
});
