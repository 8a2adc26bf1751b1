/** Conversation logs for properties: intact ones, and those damaged by crashes and disks. */
import fc from 'fast-check';
import type { KnownRecord } from '../../src/conversation/records/record.ts';
import { encodeRecord } from '../../src/conversation/records/transcript.ts';
import { assistant, call, interrupted, meta, note, partial, result, user } from './conversations.ts';

// Some of these have a meaning in one of the formats; none of the formats expects the others.
const marks = [
  '\ud800',
  '\udc00',
  '\u2028',
  '\0',
  '\r',
  '```',
  '\n## User\n',
  '> ',
  '{"type":"',
  '"',
  '\\',
  '\uFEFF',
  '😀',
  ' ',
  '\n',
];
const unit = fc.oneof(
  fc.constantFrom(...marks),
  fc.constantFrom('a', 'b', 'é'),
  fc.nat(0xffff).map((code) => String.fromCharCode(code)),
);
export const anyText = fc.string({ unit, maxLength: 12 });
/** Never blank. */
const someText = anyText.map((text) => `${text}x${text}`);
const anyInput = fc.dictionary(anyText, fc.oneof(anyText, fc.integer(), fc.array(anyText, { maxLength: 2 })), {
  maxKeys: 3,
});
const anyOutput = fc.oneof(
  anyText,
  fc.constant(null),
  fc.array(fc.record({ type: fc.constant('text'), text: anyText }), { maxLength: 2 }),
  anyInput,
);

/** A message, an answer, or an exchange; `turn` makes its ids. */
type Unit = (turn: number) => KnownRecord[];

const said: fc.Arbitrary<Unit> = someText.map((text) => (turn) => [user(`u${turn}`, text)]);
const answered: fc.Arbitrary<Unit> = someText.map((text) => (turn) => [assistant(`a${turn}`, text)]);
const cutOff: fc.Arbitrary<Unit> = someText.map((text) => (turn) => [partial(`p${turn}`, text)]);
const silent: fc.Arbitrary<Unit> = fc
  .constantFrom(interrupted, meta, note)
  .map((record) => (turn) => [{ ...record, id: `s${turn}` } as KnownRecord]);

const exchanged: fc.Arbitrary<Unit> = fc
  .tuple(
    fc.option(someText),
    fc.array(fc.tuple(anyInput, anyOutput, fc.boolean(), fc.nat()), { minLength: 1, maxLength: 4 }),
  )
  .map(([text, calls]) => (turn) => {
    const made = calls.map(([input, output, isError, place], at) => ({
      id: `c${turn}.${at}`,
      input,
      output,
      isError,
      place,
    }));
    const ended = made.toSorted((one, other) => one.place - other.place);
    return [
      ...(text === null ? [] : [assistant(`t${turn}`, text)]),
      ...made.map(({ id, input }) => call(id, input)),
      ...ended.map(({ id, output, isError }) => result(id, output, { isError })),
    ];
  });

/** teddy writes logs of this form: the user begins, and calls are followed by all their results. */
export const keptLog: fc.Arbitrary<KnownRecord[]> = fc
  .tuple(said, fc.array(fc.oneof(said, answered, cutOff, silent, exchanged), { maxLength: 7 }))
  .map(([first, rest]) => [first, ...rest].flatMap((unitOf, turn) => unitOf(turn)));

type Damage = (lines: string[]) => string[];

const at = (lines: string[], place: number) => place % (lines.length + 1);
const junk = fc.oneof(
  fc.json({ maxDepth: 2 }),
  anyText.map((text) => text.replaceAll('\n', '')),
  fc.constantFrom(
    '{"type":"user"}',
    '{"type":"user","message":{"role":"user","content":"again"}}',
    '{"type":"user","id":"u0","message":{"content":[{"type":"text","text":"block"},{"type":"image"}]}}',
    '{"type":"assistant","id":"u0","message":{"content":["x",1]}}',
    '{"type":"assistant_partial","id":"","message":{"content":"par"}}',
    '{"type":"assistant_partial","message":{"content":" "}}',
    '{"type":"tool_use","tool_call_id":"c1.0"}',
    '{"type":"tool_use","tool_call_id":"c1.0","tool_input":[]}',
    '{"type":"tool_use","id":"c1.0-synthetic","tool_call_id":"","tool_name":"a b","tool_input":"{"}',
    '{"type":"tool_result","tool_call_id":"c1.0"}',
    '{"type":"tool_result","id":"c1.0-synthetic","tool_call_id":"c1.0","reason":"denied"}',
    '{"type":"tool_result","tool_call_id":"","output":7}',
    '{"type":"voice_interrupted"}',
    '[]',
    '7',
  ),
);

const damage: fc.Arbitrary<Damage> = fc.oneof(
  fc.tuple(fc.nat(), junk).map(
    ([place, line]): Damage =>
      (lines) =>
        lines.toSpliced(at(lines, place), 0, `${line}\n`),
  ),
  fc.nat().map(
    (place): Damage =>
      (lines) =>
        lines.toSpliced(at(lines, place), 1),
  ),
  fc.tuple(fc.nat(), fc.nat()).map(
    ([from, to]): Damage =>
      (lines) =>
        lines.toSpliced(at(lines, to), 0, ...lines.slice(at(lines, from)).slice(0, 2)),
  ),
  fc.tuple(fc.nat(), fc.nat()).map(
    ([from, to]): Damage =>
      (lines) =>
        lines.toSpliced(at(lines, from), 1).toSpliced(at(lines, to), 0, ...lines.slice(at(lines, from)).slice(0, 1)),
  ),
  fc.nat().map(
    (place): Damage =>
      (lines) =>
        lines.map((line, index) => (index === at(lines, place) ? line.trimEnd() : line)),
  ),
  fc.tuple(fc.nat(), fc.nat()).map(
    ([place, cut]): Damage =>
      (lines) =>
        lines.map((line, index) => (index === at(lines, place) ? line.slice(0, cut % (line.length + 1)) : line)),
  ),
  fc.tuple(fc.nat(), fc.nat(), fc.integer({ min: 1, max: 40 })).map(
    ([place, cut, length]): Damage =>
      (lines) =>
        lines.map((line, index) => {
          const start = cut % (line.length + 1);
          return index === at(lines, place)
            ? line.slice(0, start) + '\0'.repeat(length) + line.slice(start + length)
            : line;
        }),
  ),
);

const flips = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 });

/** The text of a log after a few mishaps, finally with some of its bytes changed. */
export const damagedText: fc.Arbitrary<string> = fc
  .tuple(keptLog, fc.array(damage, { maxLength: 4 }), flips)
  .map(([records, mishaps, flipped]) => {
    const text = mishaps.reduce((lines, mishap) => mishap(lines), records.map(encodeRecord)).join('');
    const bytes = new TextEncoder().encode(text);
    for (const [place, byte] of flipped) if (bytes.length > 0) bytes[place % bytes.length] = byte;
    return new TextDecoder().decode(bytes);
  });
