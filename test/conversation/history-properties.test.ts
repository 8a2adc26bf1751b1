import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { decodeTranscript } from '../../src/conversation/history/decode-transcript.ts';
import type { History } from '../../src/conversation/history/history.ts';
import { renderAnthropic } from '../../src/conversation/history/render-anthropic.ts';
import { renderMarkdown } from '../../src/conversation/history/render-history-markdown.ts';
import { renderJsonl } from '../../src/conversation/history/render-jsonl.ts';
import { renderOpenai } from '../../src/conversation/history/render-openai.ts';
import { encodeRecord } from '../../src/conversation/records/transcript.ts';
import { damagedText, keptLog } from '../support/conversation-logs.ts';
import { findFaults, fold, foldText } from '../support/conversations.ts';
import { runs } from '../support/runs.ts';
import { propertyTest, slowTest } from '../support/slow-test.ts';

const fixtures = new URL('../../fixtures/transcripts/', import.meta.url);

/** A model or a person can be shown this much of it. */
const shown = (text: string) => text.replace(/\p{Surrogate}/gu, '\uFFFD');
const isBlank = (text: string) => /^[\s\p{Cc}]*$/u.test(text);

/** All the words of one side in a format, as one text. */
function wordsOf(history: History, role: 'user' | 'assistant'): Record<string, string> {
  const title = role === 'user' ? '## User' : '## Assistant';
  // Without the flag m, which takes U+2028 for a line end as well.
  const parts = renderMarkdown(history)
    .replace(/(?<=\n)(`{3,})(?:json|text)\n[^]*?\n\1\n/g, '')
    .split(/(?<=^|\n)(?=## )/);
  const blocks = renderAnthropic(history).flatMap((message) => (message.role === role ? message.content : []));
  const again = decodeTranscript(renderJsonl(history)).records.flatMap((record) =>
    'message' in record && record.message.role === role && 'content' in record.message ? [record.message.content] : [],
  );
  return {
    openai: renderOpenai(history)
      .map((message) => (message.role === role ? message.content : ''))
      .join('\n'),
    anthropic: blocks.map((block) => (block.type === 'text' ? block.text : '')).join('\n'),
    jsonl: shown(again.join('\n')),
    markdown: parts
      .filter((part) => part.startsWith(title))
      .join('')
      .replace(/(?<=^|\n)> ?/g, ''),
  };
}

function expectAllSaid(text: string): void {
  const history = foldText(text);
  const spoken = { user: wordsOf(history, 'user'), assistant: wordsOf(history, 'assistant') };
  for (const record of decodeTranscript(text).records) {
    if (!('message' in record) || !('content' in record.message) || isBlank(record.message.content)) continue;
    // White space at the very end of an answer does not count as a word.
    const words = shown(
      record.type === 'user' ? record.message.content : record.message.content.replace(/[\s\p{Cc}]+$/u, ''),
    );
    for (const [format, said] of Object.entries(spoken[record.message.role])) {
      const expected = format === 'markdown' ? words.replace(/\r\n|\r/g, '\n') : words;
      if (!said.includes(expected))
        expect({ format, said }).toEqual({ format, said: expect.stringContaining(expected) });
    }
  }
}

describe('a log as teddy writes it', () => {
  propertyTest('is valid in every format after each of its records', () => {
    fc.assert(
      fc.property(keptLog, (records) => {
        for (let count = 0; count <= records.length; count += 1)
          expect(findFaults(fold(...records.slice(0, count)))).toEqual([]);
      }),
      runs(40),
    );
  });

  slowTest('is valid in every format after each of its bytes', () => {
    fc.assert(
      fc.property(keptLog, fc.array(fc.nat(), { minLength: 20, maxLength: 20 }), (records, cuts) => {
        const bytes = new TextEncoder().encode(records.map(encodeRecord).join(''));
        for (const cut of cuts)
          expect(findFaults(foldText(new TextDecoder().decode(bytes.slice(0, cut % bytes.length))))).toEqual([]);
      }),
      runs(50),
    );
  });

  propertyTest('needs no repair except for half characters, and for answers that repeat each other', () => {
    fc.assert(
      fc.property(keptLog, (records) => {
        const { repairs } = fold(...records);
        expect(repairs.filter(({ kind }) => kind !== 'lone-surrogate' && kind !== 'duplicate-record')).toEqual([]);
      }),
      runs(100),
    );
  });

  propertyTest('has each call with its own result, in the order of the calls', () => {
    fc.assert(
      fc.property(keptLog, (records) => {
        const calls = fold(...records).turns.flatMap(({ steps }) => steps.flatMap((step) => step.calls));
        const expected = records.flatMap((record) => {
          if (record.type !== 'tool_use') return [];
          const { tool_call_id: callId, tool_input: input } = record;
          const own = records.find((other) => other.type === 'tool_result' && other.tool_call_id === callId);
          return own?.type === 'tool_result' ? [{ callId, input, output: own.output, isError: own.is_error }] : [];
        });
        const found = calls.map(({ callId, input, result: { output, isError } }) => ({
          callId,
          input,
          output,
          isError,
        }));
        expect(found).toEqual(expected);
      }),
      runs(100),
    );
  });

  propertyTest('shows all messages in every format', () => {
    fc.assert(
      fc.property(keptLog, (records) => expectAllSaid(records.map(encodeRecord).join(''))),
      runs(100),
    );
  });
});

describe('a log after mishaps', () => {
  propertyTest('is valid in every format, and nothing throws', () => {
    fc.assert(
      fc.property(damagedText, (text) => {
        expect(findFaults(foldText(text))).toEqual([]);
      }),
      runs(1000),
    );
  });

  propertyTest('shows all messages in records that can still be read', () => {
    fc.assert(fc.property(damagedText, expectAllSaid), runs(1000));
  });

  propertyTest('gives the same bytes each time', () => {
    fc.assert(
      fc.property(damagedText, (text) => {
        const [one, other] = [foldText(text), foldText(text)];
        const bytes = (history: History) =>
          JSON.stringify([history.repairs, renderOpenai(history), renderAnthropic(history), renderJsonl(history)]);
        expect(bytes(one)).toBe(bytes(other));
      }),
      runs(50),
    );
  });

  propertyTest('makes messages that are well-formed UTF-8', () => {
    fc.assert(
      fc.property(damagedText, (text) => {
        const history = foldText(text);
        for (const bytes of [
          JSON.stringify([renderOpenai(history), renderAnthropic(history)]),
          renderMarkdown(history),
        ]) {
          expect(!/\p{Surrogate}/u.test(bytes)).toBe(true);
        }
        expect(JSON.stringify(renderAnthropic(history))).not.toMatch(/(?<!\\)(?:\\\\)*\\ud[89a-f]/);
      }),
      runs(100),
    );
  });
});

slowTest.each(readdirSync(fixtures))('every prefix of %s is valid in every format', (name) => {
  const bytes = readFileSync(new URL(name, fixtures));
  let before = '';
  for (let end = 0; end <= bytes.length; end += 1) {
    const history = foldText(bytes.subarray(0, end).toString());
    // Within a line the history is mostly the same as before it.
    const turns = JSON.stringify(history.turns);
    if (turns !== before) expect({ end, faults: findFaults(history) }).toEqual({ end, faults: [] });
    before = turns;
  }
  expect(before).not.toBe('[]');
});
