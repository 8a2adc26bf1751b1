import fc from 'fast-check';
import { describe, expect } from 'vitest';
import {
  archiveRef,
  compareTurns,
  conversationBranchRef,
  isTurnName,
  mainLineRef,
  nameRef,
  parseArchiveRef,
  parseLineRef,
  parseOid,
  parseTurnName,
  runName,
  toSessionId,
  toSessionName,
  toTurnName,
  turnNumber,
  type RefName,
  type SessionId,
  type TurnName,
  isSessionId,
} from '../src/names.ts';
import { runs } from './support/runs.ts';
import { propertyTest, quickTest as test } from './support/slow-test.ts';

const date = new Date('2026-01-24T23:59:59.999Z');

/** Refuses the same as `git check-ref-format`, rule by rule from its manual. */
function isValidRef(ref: string): boolean {
  const parts = ref.split('/');
  return (
    parts.length >= 2 &&
    parts.every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock')) &&
    !ref.includes('..') &&
    !/[\p{Cc}\u007f ~^:?*[\\]/u.test(ref) &&
    !ref.endsWith('.') &&
    !ref.includes('@{')
  );
}

/** Free text in any script, and texts that git would almost refuse. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.string({
    unit: fc.constantFrom('a', 'Z', '9', '-', '.', '/', ' ', '@{', '.lock', '~', 'é', 'ß', 'İ', '--'),
    maxLength: 60,
  }),
  fc.string({ unit: fc.constantFrom('a', '-'), minLength: 60, maxLength: 80 }),
);

describe('a session name', () => {
  propertyTest('never yields an invalid ref, whatever the text', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 999 }), (text, attempt, turn) => {
        let name: string;
        try {
          name = toSessionName(text);
        } catch (error) {
          expect(error).toMatchObject({ code: 'BAD_NAME' });
          return;
        }
        expect(name).toMatch(/^[\p{L}\p{Nd}][\p{L}\p{M}\p{Nd}]*(-[\p{L}\p{Nd}][\p{L}\p{M}\p{Nd}]*)*$/u);
        expect(name.normalize('NFC').toLowerCase().normalize('NFC')).toBe(name);
        expect(toSessionName(name)).toBe(name);
        expect(name.length).toBeLessThanOrEqual(64);
        expect(Buffer.byteLength(name)).toBeLessThanOrEqual(80);
        const session = toSessionId(date, name, attempt);
        expect(session).not.toContain('--');
        const main = mainLineRef(session);
        const branch = conversationBranchRef(session, toTurnName(turn, attempt));
        expect([main, branch].filter((ref) => !isValidRef(ref))).toEqual([]);
        expect(parseLineRef(main)).toEqual({ session, branch: null });
        expect(parseLineRef(branch)).toEqual({ session, branch: toTurnName(turn, attempt) });
      }),
      runs(1000),
    );
  });

  propertyTest('stays unchanged if it is valid already', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const slug = text
          .replace(/[^a-z0-9]+/g, '-')
          .replace(/^-|-$/g, '')
          .slice(0, 64)
          .replace(/-$/, '');
        if (slug !== '') expect(toSessionName(slug)).toBe(slug);
      }),
    );
  });

  test.each([
    ['Add User Auth', 'add-user-auth'],
    ['  fix: the_login/route!  ', 'fix-the-login-route'],
    ['Über façade', 'über-façade'],
    ['U\u0308ber', 'über'],
    ['Авторизация пользователей', 'авторизация-пользователей'],
    ['ログイン 機能を追加', 'ログイン-機能を追加'],
    ['हिन्दी में', 'हिन्दी-में'],
    ['q\u0323\u0307 x', 'q\u0323\u0307-x'],
    ['a\u200Bb\uFE0Fc\u00ADd\u3164e', 'a-b-c-d-e'],
    ['\u0301abc', 'abc'],
    ['語'.repeat(40), '語'.repeat(26)],
    ['а'.repeat(39) + ' бв', 'а'.repeat(39)],
    [`${'word-'.repeat(12)}longer`, `${'word-'.repeat(12)}`.slice(0, -1)],
    ['x'.repeat(70), 'x'.repeat(64)],
    [`${'x'.repeat(64)}-y`, 'x'.repeat(64)],
  ])('is made from %j as %j', (text, name) => {
    expect(toSessionName(text)).toBe(name);
  });

  test.each(['', '---', '\u200B\uFE0F', '!?', '🚀'])('is not made from %j', (text) => {
    expect(() => toSessionName(text)).toThrow(expect.objectContaining({ code: 'BAD_NAME' }));
  });

  test('gets the UTC date in front, and a number from the second attempt on', () => {
    expect(toSessionId(date, 'x')).toBe('20260124-x');
    expect(toSessionId(date, 'x', 2)).toBe('20260124-x-2');
  });
});

describe('a session id', () => {
  test.each([
    'add-login',
    '2026-x',
    '20260124',
    '20260124-',
    '20260124-a--b',
    '20260124-A',
    '20260124-a/b',
    '20260124-Я',
    '20260124-u\u0308ber',
    '20260124-\u0301a',
    '20260124-a\u200Bb',
    '20260124-\u3164',
    '20260124-😀',
  ])('is not %j', (text) => {
    expect(isSessionId(text)).toBe(false);
    expect(parseLineRef(`refs/heads/teddy/${text}`)).toBeNull();
  });
});

describe('a run’s file name', () => {
  const session = '20260124-add-login' as SessionId;
  const turn = '01' as TurnName;
  const name = (ref: string) => runName({ session, turn, ref: ref as RefName });

  test('percent-encodes the name of a line with another name, as always', () => {
    expect(name(mainLineRef(session))).toBe('20260124-add-login-01');
    expect(name('refs/heads/вход/é')).toBe('20260124-add-login-01--%D0%B2%D1%85%D0%BE%D0%B4%2F%C3%A9');
  });

  test('keeps letters if it would be too long for a file name otherwise', () => {
    const long = name(`refs/heads/я/${'語'.repeat(30)}`);
    expect(long).toBe(`20260124-add-login-01--я%2F${'語'.repeat(30)}`);
  });
});

describe('a line’s ref', () => {
  test.each([
    'refs/heads/teddy/global',
    'refs/heads/teddy',
    'refs/remotes/origin/teddy/20260124-x',
    'refs/heads/teddy/20260124-x--02',
    'refs/heads/teddy/20260124-x--00-branch-01',
    'refs/heads/teddy/20260124-x--02-branch-1',
    'refs/heads/teddy/20260124-x/y',
    'refs/heads/20260124-x',
  ])('is not %s', (ref) => {
    expect(parseLineRef(ref)).toBeNull();
  });
});

describe('a turn name', () => {
  test.each([
    ['2', '02'],
    ['02', '02'],
    [' 120 ', '120'],
    ['2-branch-1', '02-branch-01'],
    ['0012', '12'],
  ])('%j reads as %s', (text, turn) => {
    expect(parseTurnName(text)).toBe(turn);
  });

  test.each(['', '0', '00-branch-01', 'x', '-1', '1.5', '02-branch-', '02-fork-01'])('is not %j', (text) => {
    expect(() => parseTurnName(text)).toThrow(expect.objectContaining({ code: 'UNKNOWN_TURN' }));
  });

  test('sorts by number, then by branch, past 99', () => {
    const turns = ['100', '02-branch-10', '02', '99', '02-branch-02', '01'].map(parseTurnName);
    expect(turns.toSorted(compareTurns)).toEqual(['01', '02', '02-branch-02', '02-branch-10', '99', '100']);
    expect(turns.map(turnNumber)).toEqual([100, 2, 2, 99, 2, 1]);
  });

  propertyTest('is reproduced from its number and branch', () => {
    const number = fc.integer({ min: 1, max: 100_000 });
    fc.assert(
      fc.property(number, fc.option(number, { nil: undefined }), (turn, branch) => {
        const name = toTurnName(turn, branch);
        expect(isTurnName(name)).toBe(true);
        expect(parseTurnName(name)).toBe(name);
        expect(turnNumber(name)).toBe(turn);
      }),
    );
  });
});

describe('an archive', () => {
  test('is below its session’s month, and reads back as its line', () => {
    const line = conversationBranchRef('20260124-add-login' as SessionId, '02-branch-01' as TurnName);
    expect(archiveRef(line)).toBe('refs/teddy/archive/2026-01/20260124-add-login--02-branch-01');
    expect(parseArchiveRef(archiveRef(line))).toEqual({ session: '20260124-add-login', branch: '02-branch-01', line });
    expect(nameRef(archiveRef(line))).toBe('archive/20260124-add-login--02-branch-01');
  });

  test.each([
    'refs/teddy/archive/20260124-add-login',
    'refs/teddy/archive/2026-02/20260124-add-login',
    'refs/teddy/archive/2026-01/x/20260124-add-login',
    'refs/teddy/archive/2026-01/2026-01/20260124-add-login',
    'refs/teddy/archive/2026-1/20260124-add-login',
    'refs/teddy/archive/2026-01',
    'refs/teddy/archive/2026-01/',
    'refs/teddy/archive/2026-01/20260124-Add-login',
    'refs/teddy/archive/20260124-add-login/2026-01',
    'refs/teddy/archive/x/20260124-add-login',
    'refs/teddy/archived/2026-01/20260124-add-login',
  ])('is not %s', (ref) => {
    expect(parseArchiveRef(ref)).toBeNull();
  });
});

describe('an object id', () => {
  test('is 40 or 64 lower-case hexadecimal digits', () => {
    for (const length of [40, 64]) expect(parseOid('a'.repeat(length))).toBe('a'.repeat(length));
    for (const text of ['', 'a'.repeat(39), 'A'.repeat(40), 'g'.repeat(40), `${'a'.repeat(40)}\n`, 'a'.repeat(50)]) {
      expect(() => parseOid(text)).toThrow(expect.objectContaining({ code: 'GIT_FAILED' }));
    }
  });
});
