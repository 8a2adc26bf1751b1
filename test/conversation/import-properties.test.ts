import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { importFormats, type ImportFormat } from '../../src/agents/import-formats.ts';
import { maxHeldLines } from '../../src/agents/codex/lines.ts';
import { unitLimits } from '../../src/conversation/logs/import-unit.ts';
import { encodeRecord } from '../../src/conversation/records/transcript.ts';
import {
  faultsOf,
  importOptions,
  importPieces,
  importText,
  readImport,
  openImporter,
} from '../support/import-source.ts';
import { readAgentFixtures } from '../support/agent-logs.ts';
import { runs } from '../support/runs.ts';
import { propertyTest, quickTest as test, slowTest } from '../support/slow-test.ts';

const sources: [ImportFormat, string][] = [
  ['claude-code', readImport('claude-code.jsonl')],
  ['codex', readImport('codex.jsonl')],
  ['codex', readImport('codex-events.jsonl')],
  ['codex', readImport('codex-bare.jsonl')],
  ['openai', readImport('openai.json')],
  ['jsonl', readImport('seed.jsonl')],
  ...readAgentFixtures(),
];
const source = fc.constantFrom(...sources);
/** Including lone surrogates and control characters. */
const anyText = fc.array(fc.nat(0xffff), { maxLength: 20 }).map((codes) => String.fromCharCode(...codes));

/** Some lines are missing, doubled or moved, and some characters are changed. */
const mutated = fc
  .tuple(
    source,
    fc.infiniteStream(fc.nat()),
    fc.array(fc.tuple(fc.nat(), fc.constantFrom('"', '{', '}', '[', ']', ',', '0', '\n', '\0', '\\', ''))),
  )
  .map(([[format, text], numbers, edits]): [ImportFormat, string] => {
    const next = () => numbers.next().value ?? 0;
    const lines = text.split('\n').flatMap((line) => [[line, line], [], [line], [line], [line]][next() % 5] ?? []);
    if (next() % 2 === 0) lines.splice(next() % (lines.length + 1), 0, ...lines.splice(next() % (lines.length + 1), 3));
    const changed = edits.reduce((whole, [at, by]) => {
      const place = at % (whole.length + 1);
      return whole.slice(0, place) + by + whole.slice(place + 1);
    }, lines.join('\n'));
    return [format, changed];
  });

describe('an import', () => {
  propertyTest('gives the same units, report and title wherever the source is cut', () => {
    fc.assert(
      fc.property(source, fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1 }), ([format, text], lengths) => {
        const pieces: string[] = [];
        for (let at = 0, n = 0; at < text.length; n += 1) {
          pieces.push(text.slice(at, at + (lengths[n % lengths.length] ?? 1)));
          at += lengths[n % lengths.length] ?? 1;
        }
        expect(importPieces(format, pieces)).toEqual(importText(format, text));
      }),
      runs(250),
    );
  });

  test('of the same source gives the same ids at another time', () => {
    for (const [format, text] of sources) {
      const idsAt = (importedAt: string) => {
        const importer = openImporter(format, { ...importOptions, importedAt });
        return [...importer.push(text), ...importer.end()].flatMap(({ records }) => records.map(({ id }) => id));
      };
      expect(idsAt('2026-04-01T00:00:00.000Z')).toEqual(idsAt('2026-05-01T00:00:00.000Z'));
    }
  });

  propertyTest('never throws and gives only complete units, whatever damage the source has', () => {
    fc.assert(
      fc.property(mutated, ([format, text]) => {
        expect(faultsOf(importText(format, text).units)).toEqual([]);
      }),
      runs(250),
    );
  });

  propertyTest('never throws and gives only complete units, whatever the input', () => {
    const line = fc.oneof(anyText, fc.json({ maxDepth: 3 }));
    fc.assert(
      fc.property(fc.constantFrom(...importFormats), fc.array(line, { maxLength: 8 }), (format, lines) => {
        expect(faultsOf(importText(format, lines.join('\n')).units)).toEqual([]);
      }),
    );
  });

  propertyTest('never throws for values of the wrong type in any place', () => {
    const odd = fc.constantFrom<unknown>(null, 7, '', 'x', [], {}, [null], [[]], [{}], { text: 7 }, true, [
      { type: 7 },
    ]);
    fc.assert(
      fc.property(source, fc.nat(), odd, ([format, text], place, value) => {
        expect(faultsOf(importText(format, withValue(text, place, value)).units)).toEqual([]);
      }),
      runs(500),
    );
  });

  test('gives records that can be written, from a source nested arbitrarily deeply', () => {
    const deep = '['.repeat(20_000) + ']'.repeat(20_000);
    for (const [format, text] of sources) {
      const { units } = importText(format, text.replaceAll('"/home/ada/shop"', deep).replaceAll('"notes.md"', deep));
      for (const { records } of units) for (const record of records) expect(encodeRecord(record)).toContain('"id"');
    }
  });
});

describe('an importer keeps only a few answers in memory, however long the source is', () => {
  const mostHeld = (unitLimits.queuedUnits + 1) * 2 * (unitLimits.unitRecords + unitLimits.asides) + maxHeldLines;
  const claude = (n: number, content: object, id: string) =>
    JSON.stringify({ type: 'assistant', uuid: `u${n}`, message: { id, content: [content] } });
  const cases: [string, ImportFormat, (n: number) => string, number?][] = [
    [
      'of answers whose calls get no result',
      'claude-code',
      (n) => claude(n, { type: 'tool_use', id: `t${n}`, name: 'x' }, `m${n}`),
    ],
    [
      'of one answer without end',
      'claude-code',
      (n) => claude(n, { type: 'tool_use', id: `t${n}`, name: 'x' }, 'm'),
      20_000,
    ],
    [
      'of calls with one id',
      'jsonl',
      () => '{"type":"tool_use","tool_call_id":"a","tool_name":"x","tool_input":{}}',
      20_000,
    ],
    ['of texts', 'jsonl', (n) => `{"type":"assistant","message":{"role":"assistant","content":"${n}"}}`],
    ['of notes', 'jsonl', (n) => `{"type":"note","text":"${n}"}`],
    ['of events that say nothing', 'codex', () => '{"type":"event_msg","payload":{"type":"token_count"}}'],
    ['of instructions', 'openai', (n) => `{"role":"system","content":"${n}"}`],
    ['of calls without a name', 'openai', () => '{"role":"assistant","function_call":{"name":"f","arguments":""}}'],
  ];

  slowTest.each(cases)('%s', (_what, format, lineOf, count = 50_000) => {
    const importer = openImporter(format, { ...importOptions, hash: cheapHash() });
    let held = 0;
    for (let n = 0; n < count; n += 100) {
      importer.push(Array.from({ length: 100 }, (_, index) => `${lineOf(n + index)}\n`).join(''));
      held = Math.max(held, importer.held());
    }
    importer.end();
    expect(importer.report().lines).toBe(count);
    expect(held).toBeLessThanOrEqual(mostHeld);
    expect(held).toBeGreaterThan(0);
  });
});

/** Another value each time: these tests are about memory, not about ids. */
function cheapHash(): () => string {
  let made = 0;
  return () => (made += 1).toString(16).padStart(64, '0');
}

/** The line, or the document, at this place, with another value somewhere in it. */
function withValue(text: string, place: number, value: unknown): string {
  if (!text.startsWith('{"')) return JSON.stringify(changed(JSON.parse(text), place, value));
  const lines = text.trim().split('\n');
  const index = place % lines.length;
  const parsed: unknown = parseOr(lines[index] ?? '', {});
  return lines.with(index, JSON.stringify(changed(parsed, Math.floor(place / lines.length), value))).join('\n');
}

function changed(whole: unknown, place: number, value: unknown): unknown {
  let count = 0;
  const total = countValues(whole);
  return JSON.parse(JSON.stringify(whole), (_key, inner: unknown) => {
    count += 1;
    return count === (place % total) + 1 ? value : inner;
  });
}

function countValues(whole: unknown): number {
  let count = 0;
  JSON.parse(JSON.stringify(whole), (_key, inner: unknown) => {
    count += 1;
    return inner;
  });
  return count;
}

function parseOr(text: string, other: unknown): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return other;
  }
}
