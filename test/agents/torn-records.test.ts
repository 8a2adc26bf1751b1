import { describe, expect, test } from 'vitest';
import type { AgentLine } from '../../src/conversation/logs/agent-log.ts';
import { openLog, readAgentLogs, readSteps, unitsOf } from '../support/agent-logs.ts';
import { expectLinear } from '../support/growth.ts';
import { importLines } from '../support/import-source.ts';

const logs = readAgentLogs();

/** The contents of a log, once nothing more comes. */
function idsOf(agent: (typeof logs)[number]['agent'], lines: readonly AgentLine[]): string[] {
  const reader = openLog(agent);
  const steps = readSteps(reader, lines);
  reader.settle();
  return unitsOf([...steps, ...reader.take()]).flatMap(({ records }) => records.map(({ type }) => type));
}

/** The places where a record may be torn: all bytes of its beginning, and some of the rest. */
function cutsOf(text: string): number[] {
  const cuts = [];
  for (let cut = 1; cut < text.length; cut += cut < 60 ? 1 : Math.ceil(text.length / 20)) cuts.push(cut);
  return cuts;
}

describe.each(logs.map((log) => [log.name, log] as const))('the log %s', (_name, { agent, lines }) => {
  const texts = lines.map(({ text }) => text ?? '');
  const whole = idsOf(agent, lines);
  const short = texts.findIndex((text) => text.length > 60 && text.length < 4000);

  test('loses no record after a torn one, wherever that was cut', () => {
    const at = texts.findIndex((text, index) => index !== short && /user|message/.test(text));
    const [stub = '', behind = ''] = [texts[short], texts[at]];
    for (const cut of cutsOf(stub)) {
      const glued = lines.map((line, index) =>
        index === at ? { ...line, text: `${stub.slice(0, cut)}${behind}` } : line,
      );
      expect({ cut, said: idsOf(agent, glued) }).toEqual({ cut, said: whole });
    }
  });
});

describe('a Claude Code record', () => {
  const prompt = (uuid: string, more: object = {}) => ({
    parentUuid: null,
    uuid,
    sessionId: 's',
    type: 'user',
    timestamp: '2026-01-24T10:00:00.000Z',
    ...more,
    message: { role: 'user', content: `say ${uuid}` },
  });
  const said = (...lines: string[]) =>
    importLines('claude-code', lines).units.flatMap(({ records }) =>
      records.flatMap((record) =>
        record.type === 'user' && 'content' in record.message ? [record.message.content] : [],
      ),
    );
  const [a, b, c] = ['a', 'b', 'c'].map((uuid) => JSON.stringify(prompt(uuid))) as [string, string, string];
  const forged = { ...prompt('forged'), sessionId: 's' };
  const holder = (more: object) => JSON.stringify({ ...prompt('h'), toolUseResult: more });

  test.each([
    ['several torn ones', `{"parentUuid":nu{"uuid":"x","x{"type":"us${a}`, ['say a']],
    ['a torn one, and before another', `{"uuid":"x\\${a}${b}`, ['say a', 'say b']],
    ['a torn one, and before a torn one', `{"n":12${a}{"parentUuid":null,"uu`, ['say a']],
    ['a torn escape', `{"text":"\\u00${a}`, ['say a']],
    ['a gap of NUL characters', `{"text":"begun\0\0\0${a}`, ['say a']],
    ['a gap of NUL characters in place of a value', `{"text":\0\0\0${a}`, ['say a']],
    ['a BOM', `{"text":"begun\uFEFF${a}`, ['say a']],
    ['a BOM in place of a value', `{"text":\uFEFF${a}\r`, ['say a']],
    ['one that contains a record, torn after it', `${holder({ rec: forged }).slice(0, -2)}${a}`, ['say a']],
    ['one that contains records in a list', `${holder({ list: [forged, forged] }).slice(0, -3)},${c}`, ['say c']],
  ])('is read after %s', (_what, line, expected) => {
    expect(said(line)).toEqual(expected);
  });

  test('is not part of another record that was torn', () => {
    const parts = [
      { type: 'text', text: 'x' },
      { role: 'user', content: 'forged' },
      { type: 'user', message: { role: 'user', content: 'f' } },
    ];
    for (const part of parts) {
      const text = holder({ part });
      for (let cut = 0; cut < text.length; cut += 1) expect(said(text.slice(0, cut))).toEqual([]);
    }
  });

  test.each([
    ['{"a', 1e5],
    ['{"a":', 1e5],
    ['\\"}', 1e5],
    ['"}', 1e5],
    ['{"type":"x","a":"', 1e5],
  ])('is found after many %s in linear time', async (unit, most) => {
    await expectLinear(
      most,
      (count) => `{"x":${unit.repeat(count)}${a}`,
      (line) => expect(said(line).at(-1) ?? 'say a').toBe('say a'),
    );
  });
});
