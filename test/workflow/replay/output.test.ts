import { describe, expect, test } from 'vitest';
import { compareContent } from '../../../src/workflow/replay/content.ts';
import {
  isSameOutput,
  withoutDurations,
  withoutScriptPlace,
  withoutTimes,
} from '../../../src/workflow/replay/commands.ts';

describe('two runs of a command', () => {
  test.each([
    ['ok 12ms', 'ok <duration>'],
    ['Done in 0.5 s.', 'Done in <duration>.'],
    ['took 1m 3s', 'took <duration>'],
    ['took 2h 1m 3.5s', 'took <duration>'],
    ['real\t0m0.005s', 'real\t<duration>'],
    ['(3 seconds, 12 µs)', '(<duration>, <duration>)'],
    ['# duration_ms 12.75', '# duration_ms <duration>'],
    ['  duration_ms: 0.5', '  duration_ms: <duration>'],
    ['<testcase time="0.003"/>', '<testcase time="<duration>"/>'],
  ])('may differ in %s, which is a duration', (text, expected) => expect(withoutDurations(text)).toBe(expected));

  test.each(['3 tests', 'v1.2s', '5 m', 'port 8080', 'a12ms', '12msg', '1.2.3s', '10 stones', 'time="noon"'])(
    'may not differ in %s',
    (text) => expect(withoutDurations(text)).toBe(text),
  );

  test.each([
    ['at 2026-01-24T10:00:00.123Z', 'at <time>'],
    ['2026-01-24 10:00:00 +0100 x', '<time> x'],
    ['Sat Jan 24 10:00:00 UTC 2026', '<time>'],
    ['Sat Jan 24 10:00:00 AM CET 2026', '<time>'],
    ['Date: Sat, 24 Jan 2026 10:00:00 +0000', 'Date: <time>'],
    ['[10:00:01] built on 2026-01-24.', '[<time>] built on <time>.'],
  ])('may differ in the time %s', (text, expected) => expect(withoutTimes(text)).toBe(expected));

  test.each(['ratio 10:20', '1:2:3', '2026-1-24', 'v2026-01-24', 'a:b:c', '12345', '::1'])(
    'may not differ in %s, which is not a time',
    (text) => expect(withoutTimes(text)).toBe(text),
  );

  test('may differ in the script’s own path', () => {
    expect(withoutScriptPlace('/tmp/x/teddy-run-Ab3dE9/script: line 3: foo: not found')).toBe(
      '<script>/script: line 3: foo: not found',
    );
    expect(withoutScriptPlace('teddy-run-long-name')).toBe('teddy-run-long-name');
  });

  test('may differ in the root if each path has it, and in nothing else', () => {
    const root = '/tmp/replay/app';
    expect(isSameOutput('in /home/ada/my app/src\nand /home/ada/my app\n', `in ${root}/src\nand ${root}\n`, root)).toBe(
      true,
    );
    expect(isSameOutput('in /home/ada/app/src\nand /home/bob/app\n', `in ${root}/src\nand ${root}\n`, root)).toBe(
      false,
    );
    expect(isSameOutput('in /home/ada/lib\n', `in ${root}/src\n`, root)).toBe(false);
    expect(isSameOutput('in nothing\n', `in ${root}\n`, root)).toBe(false);
    expect(isSameOutput('a 1ms\r\n', 'a 2 ms\n', root)).toBe(true);
    expect(isSameOutput('a 1\n', 'a 2\n', root)).toBe(false);
  });
});

describe('git’s form of a content', () => {
  const bytes = (text: string) => Buffer.from(text, 'latin1');

  test.each([
    ['a\r\nb\r\n', 'a\nb\n', 'normalised'],
    ['$Id: 12ab $\r\n', '$Id$\n', 'normalised'],
    ['a\r\nb\r\n', 'a\r\nb\n', 'different'],
    ['a\nb\n', 'a\r\nb\r\n', 'different'],
    ['a\u00ff', 'a\u00ff', 'same'],
    ['a\u00ff', 'a\u00fe', 'different'],
    ['a\n', 'a', 'different'],
  ])('%j as %j is %s', (replayed, recorded, verdict) =>
    expect(compareContent(bytes(replayed), bytes(recorded))).toBe(verdict),
  );
});
