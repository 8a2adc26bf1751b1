import { expect, test } from 'vitest';
import { errorWords } from '../../src/model/failure.ts';

const extra = { type: 'extra_forbidden', loc: ['body', 'x'], msg: 'Not permitted' };

test.each([
  [{ error: { message: 'Why', type: 'a', code: 'b' } }, 'Why'],
  [[{ error: { code: 400, message: 'Why', status: 'INVALID_ARGUMENT' } }], 'Why'],
  [{ error: 'Why' }, 'Why'],
  [{ error: { message: { detail: [extra] } } }, 'body.x: Not permitted'],
  [{ detail: 'Why' }, 'Why'],
  [{ detail: [extra, { loc: ['y'], msg: 'Missing' }] }, 'body.x: Not permitted; y: Missing'],
  [{ object: 'error', message: { detail: [extra] }, type: 'invalid_request_error' }, 'body.x: Not permitted'],
  [{ errors: [{ message: 'One' }, 'Two'] }, 'One; Two'],
  [{ errors: [1, 2, 3, 4].map((n) => ({ message: `E${n}` })) }, 'E1; E2; E3'],
  [{ code: 'x', msg: 'Why' }, 'Why'],
  [{ error: 'Bad Request', message: 'Why' }, 'Bad Request: Why'],
  [{ error: { message: 'Why' }, message: 'Why' }, 'Why'],
  [
    { error: { message: 'Provider returned error', metadata: { raw: '{"detail":"Why"}' } } },
    'Provider returned error: Why',
  ],
  [{ error: { message: 'Provider returned error', metadata: { raw: 'Why' } } }, 'Provider returned error: Why'],
  [{ error: { message: '{"error":{"message":"Why"}}' } }, 'Why'],
  [{ title: 'Unprocessable', detail: 'Why', status: 422 }, 'Unprocessable: Why'],
  [{ error: '{ not json' }, '{ not json'],
  ['Why', 'Why'],
])('%j is reported as %j', (body, words) => {
  expect(errorWords(JSON.stringify(body))).toBe(words);
});

test.each(['{"error":{"message":null,"code":7}}', '{"fault":{"why":"a"}}', '{}', '[]', 'null', 'upstream busy', '<a>'])(
  '%s is unknown, and reported unchanged',
  (body) => expect(errorWords(` ${body}\n`)).toBe(body),
);

test('an empty body gives no message, and a deep one terminates', () => {
  expect(errorWords(' ')).toBe('no message');
  const deep = '['.repeat(5000) + ']'.repeat(5000);
  expect(errorWords(deep)).toBe(deep);
});
