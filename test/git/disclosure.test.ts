/** git itself reads the trailers in landings and in commits that the hooks have written: exactly the intended ones. */
import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  leaveOutKnown,
  renderDisclosure,
  toAssistant,
  usualDisclosure,
} from '../../src/session/entries/assisted-by.ts';
import { addDuring } from '../../src/workflow/hooks/add-during-trailer.ts';
import type { Entry } from '../../src/session/entries/entry.ts';
import { decodeLandings, encodeLanding } from '../../src/session/lines/landing.ts';
import { parseOid, type SessionId } from '../../src/names.ts';
import { runs } from '../support/runs.ts';

const from = { session: '20260124-add-login' as SessionId, tip: parseOid('a'.repeat(40)) };
const landed = `Teddy-Landed-From: 20260124-add-login@${'a'.repeat(40)}`;

function parse(message: string, ...options: string[]): string[] {
  const args = ['-c', 'core.commentChar=#', 'interpret-trailers', '--parse', ...options];
  const read = execFileSync('git', args, { input: message, encoding: 'utf8' });
  return read.split('\n').filter((line) => line !== '');
}

const disclose = (...models: string[]) =>
  renderDisclosure(
    usualDisclosure,
    models.flatMap(
      (model) => toAssistant({ kind: 'plan', agent: 'dev', provider: 'openai', model } as Entry, null) ?? [],
    ),
  );

const many = Array.from({ length: 20 }, (_, at) => `model-${at + 1}`);
const cut = '------------------------ >8 ------------------------';

describe('git reads from a landing', () => {
  test.each<[what: string, text: string, models: string[], expected: string[]]>([
    ['with a subject alone', 'Add it', ['gpt-5'], ['Assisted-by: teddy:gpt-5']],
    ['with twenty models', 'Add it', many, many.map((model) => `Assisted-by: teddy:${model}`)],
    ['without a model', 'Add it\n\nBody', [], []],
    [
      'with trailers at its end',
      'Add it\n\nBody\n\nRefs:1\nSigned-off-by: Ada <a@b.c>',
      ['m'],
      ['Refs: 1', 'Signed-off-by: Ada <a@b.c>', 'Assisted-by: teddy:m'],
    ],
    [
      'with a trailer that is continued',
      'Add it\n\nFixes: abc ("the\n  subject")',
      ['m'],
      ['Fixes: abc ("the subject")', 'Assisted-by: teddy:m'],
    ],
    [
      'with CRLF',
      'Add it\r\n\r\nBody\r\n\r\nSigned-off-by: Ada <a@b.c>\r\n',
      ['m'],
      ['Signed-off-by: Ada <a@b.c>', 'Assisted-by: teddy:m'],
    ],
    ['with dividers', '---\n\nAdd it\n\n---\nBody\n--- \n\n----\n---x\n---', ['m'], ['Assisted-by: teddy:m']],
    ['with scissors and comments', `Add it\n\n# A heading\n# ${cut}\n\n#1\n; ${cut}`, ['m'], ['Assisted-by: teddy:m']],
    [
      'with a line that git has written',
      'Add it\n\nwords\n(cherry picked from commit abc)',
      ['m'],
      ['Assisted-by: teddy:m'],
    ],
    ['with a sign-off in prose', 'Add it\n\na\nb\nc\nd\nSigned-off-by: Ada', ['m'], ['Assisted-by: teddy:m']],
    [
      'with a sign-off below some prose',
      'Add it\n\na\nb\nc\nSigned-off-by: Ada',
      ['m'],
      ['Signed-off-by: Ada', 'Assisted-by: teddy:m'],
    ],
    ['with teddy’s trailers', 'Teddy-Entry: plan\n\n  indented\nRefs: 1', ['m'], ['Assisted-by: teddy:m']],
    ['with only its own trailers', 'Signed-off-by: Ada <a@b.c>', ['m'], ['Assisted-by: teddy:m']],
    [
      'with a trailer that exists already',
      'Add it\n\nassisted-by : teddy:m sparse\nCc: x',
      ['m', 'n'],
      ['assisted-by: teddy:m sparse', 'Cc: x', 'Assisted-by: teddy:n'],
    ],
    ['with one that is only in the body', 'Add it\n\nAssisted-by: teddy:m\n\nMore.', ['m'], ['Assisted-by: teddy:m']],
    ['with non-Latin letters', 'Schön\n\n日本語\n\nRéf: x', ['モデル-é'], ['Assisted-by: teddy:モデル-é']],
  ])('%s', (_what, text, models, expected) => {
    const message = encodeLanding(text, [from], disclose(...models));
    expect(parse(message)).toEqual([...expected, landed]);
    expect(decodeLandings(message)).toEqual([from]);
  });

  test.each([
    ['llama3:8b', 'llama3:8b'],
    ['anthropic/claude-opus@20260101', 'anthropic/claude-opus@20260101'],
    ['a  b\u00A0c', 'a-b-c'],
    ['x\nSigned-off-by: Eve <e@b.c>', 'x-Signed-off-by:-Eve-<e@b.c>'],
    ['\u202Egpt\u200B-5\u0007', 'gpt-5'],
    ['e\u0301', 'é'],
    ['/home/ada/models/q.gguf', 'q.gguf'],
    ['C:\\models\\q.gguf', 'q.gguf'],
    ['@ada #1', '-ada--1'],
    ['{tool}', '{tool}'],
    [' \t', 'unknown'],
    ['m'.repeat(101), `${'m'.repeat(99)}…`],
  ])('the model %j as one word', (model, word) => {
    expect(parse(encodeLanding('Add it', [from], disclose(model)))).toEqual([`Assisted-by: teddy:${word}`, landed]);
  });

  test('for any message and models: one trailer per model, and only sign-offs in the message', () => {
    const line = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom(
        '',
        '',
        ' ',
        '---',
        '--- a',
        '#',
        `# ${cut}`,
        '  on',
        'Refs: 1',
        'Refs:',
        'a b: c',
        '\t',
        '\r',
        '\f',
        'Signed-off-by: Ada <a@b.c>',
        'Signed-off-by:x',
        '(cherry picked from commit abc)',
        'Conflicts:',
        'words',
        'Assisted-by: teddy:gpt-5',
        'assisted-by: teddy:m x',
        landed,
        'Teddy-Entry: plan',
        'diff --git a b',
      ),
    );
    const model = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        'gpt-5',
        'm',
        'llama3:8b',
        'a b',
        'x\nSigned-off-by: Eve <e@b.c>',
        '\r\n\n',
        '---',
        '#1',
        '{tool}',
      ),
      fc.constantFrom('/home/ada/x.gguf', '\u202Egpt', 'é', 'e\u0301', '@ada', ': ', '\u2028Cc: x'),
    );
    const text = fc.array(line, { maxLength: 8 }).map((lines) => `x${lines.join('\n')}`);
    fc.assert(
      fc.property(text, fc.array(model, { maxLength: 5 }), (body, models) => {
        const trailers = disclose(...models);
        const read = parse(encodeLanding(body, [from], trailers));
        const values = read.filter((one) => /^assisted-by: teddy:/i.test(one)).map((one) => one.split(' ')[1]);
        for (const trailer of trailers) expect(values).toContain(trailer.split(' ')[1]);
        const written = body.split(/[\r\n]+/).filter((one) => /^assisted-by:/i.test(one));
        expect(values.length).toBeLessThanOrEqual(trailers.length + written.length);
        expect(leaveOutKnown(encodeLanding(body, [from], trailers), trailers)).toEqual([]);
        expect(read.filter((one) => one.startsWith('Teddy-'))).toEqual([landed]);
        const signed = body.split(/[\r\n]+/).filter((one) => one.startsWith('Signed-off-by:'));
        expect(read.filter((one) => /^signed-off-by/i.test(one)).length).toBeLessThanOrEqual(signed.length);
      }),
      runs(300),
    );
  });
});

describe('git reads from a user’s commit', () => {
  const during = 'Teddy-During: 20260124-add-login 02';
  const strip = (text: string) =>
    execFileSync('git', ['-c', 'core.commentChar=#', 'stripspace', '-s'], { input: text, encoding: 'utf8' });

  test.each<[what: string, text: string, expected: string[]]>([
    ['with a subject alone', 'Fix it\n', []],
    ['with trailers', 'Fix it\n\nRefs: 1\n', ['Refs: 1']],
    ['with comments among its trailers', 'Fix it\n\nRefs: 1\n# No\nCc: x\n\n# Please\n', ['Refs: 1', 'Cc: x']],
    ['with an indented line above them', 'Fix it\n\n  on\nRefs: 1\n', []],
    ['with CRLF', 'Fix it\r\n\r\nRefs: 1\r\n', ['Refs: 1']],
    ['with a divider', 'Fix it\n\n---\n\nwords\n', []],
    ['with scissors below', `Fix it\n\nRefs: 1\n# ${cut}\ndiff\n`, ['Refs: 1']],
  ])('%s', (_what, text, expected) => {
    const added = addDuring(text, [during, ...disclose('m', 'n')], { hasComments: true, comment: '#' });
    const [message = ''] = added.split(`# ${cut}`);
    expect(parse(strip(message), '--no-divider')).toEqual([
      ...expected,
      during,
      'Assisted-by: teddy:m',
      'Assisted-by: teddy:n',
    ]);
  });
});
