import { expect, test } from 'vitest';
import { manualModel } from '../../src/model/keyed-model.ts';
import { collect, requestOf } from '../support/ask-model.ts';

test('the manual model returns the text that the person brought, byte for byte', async () => {
  const model = manualModel({ readAnswer: async () => '## Action Plan\r\n🧸' });
  expect(model).toMatchObject({ provider: 'manual', label: 'manual' });
  expect(await collect(model.answer(requestOf()))).toEqual([
    { type: 'text', text: '## Action Plan\r\n🧸' },
    { type: 'finish', reason: 'stop' },
  ]);
});

test('the manual model asks for the text only when it has to answer, and passes errors on', async () => {
  let asked = 0;
  const model = manualModel({
    readAnswer: async () => {
      asked++;
      throw new Error('the editor was closed');
    },
  });
  expect(asked).toBe(0);
  await expect(collect(model.answer(requestOf()))).rejects.toThrow('the editor was closed');
  expect(asked).toBe(1);
});
