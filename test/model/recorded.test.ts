import { expect, test } from 'vitest';
import { recordedModel, type RecordedAnswer } from '../../src/model/recorded.ts';
import { parseTurnName } from '../../src/names.ts';
import { collect, requestOf, textOf } from '../support/ask-model.ts';

function play(answers: RecordedAnswer[]) {
  const notices: string[] = [];
  const model = recordedModel({ source: 'demo', answers, onNotice: (text) => notices.push(text) });
  async function ask(turn: string, messageSha256: string): Promise<string> {
    const events = await collect(model.answer(requestOf({ turn: parseTurnName(turn), messageSha256 })));
    expect(events.at(-1)).toEqual({ type: 'finish', reason: 'stop' });
    return textOf(events);
  }
  return { model, notices, ask };
}

const answer = (turn: string, messageSha256: string | null, text: string): RecordedAnswer => ({
  turn,
  messageSha256,
  answer: text,
});

test('the label shows that the answers are recorded, and their place', () => {
  expect(play([]).model).toMatchObject({ provider: 'recorded', label: 'recorded answers from demo' });
});

test('an answer is found by turn and message, in any order, as often as requested, without a notice', async () => {
  const { ask, notices } = play([answer('01', 'aa', 'one'), answer('02', 'aa', 'two'), answer('02', 'bb', 'three')]);
  expect([await ask('02', 'bb'), await ask('02', 'aa'), await ask('01', 'aa'), await ask('02', 'bb')]).toEqual([
    'three',
    'two',
    'one',
    'three',
  ]);
  expect(notices).toEqual([]);
});

test('a recording without messages is matched only by the turn, so that every command can start over', async () => {
  const { ask, notices } = play([answer('01', null, 'one'), answer('02', null, 'two')]);
  expect(await ask('02', 'cc')).toBe('two');
  expect(notices).toEqual([]);
});

test('another message gets the unused answer of its turn, with a notice that names both', async () => {
  const { ask, notices } = play([answer('01', 'aa', 'one'), answer('02', 'bb', 'two')]);
  expect(await ask('02', 'zz')).toBe('two');
  expect(notices).toEqual([
    'demo has no answer to this message in turn 02; using the next unused answer, from turn 02.',
  ]);
});

test('another turn gets the first unused answer, each once', async () => {
  const { ask, notices } = play([answer('01', 'aa', 'one'), answer('02', 'bb', 'two'), answer('03', 'cc', 'three')]);
  await ask('01', 'aa');
  expect([await ask('07', 'zz'), await ask('07', 'zz')]).toEqual(['two', 'three']);
  expect(notices).toHaveLength(2);
});

test('an exhausted recording is BAD_RECORDING with a hint', async () => {
  const { ask } = play([answer('01', 'aa', 'one')]);
  await ask('01', 'aa');
  await expect(ask('02', 'bb')).rejects.toMatchObject({
    code: 'BAD_RECORDING',
    message: 'demo has no answer left for turn 02.',
    hint: expect.stringContaining('--provider manual'),
  });
});
