import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { addDuring, duringTrailer, type MessageForm } from '../../../src/workflow/hooks/add-during-trailer.ts';
import { isTurnName, type SessionId } from '../../../src/names.ts';
import { propertyTest, quickTest as test } from '../../support/slow-test.ts';

const trailer = 'Teddy-During: 20260124-add-login 02';
const plain: MessageForm = { hasComments: false, comment: '#' };
const edited: MessageForm = { hasComments: true, comment: '#' };
const cut = '------------------------ >8 ------------------------';

test('the trailer names the session, and the turn if there is one', () => {
  const session = '20260124-add-login' as SessionId;
  const turn = ['02'].find(isTurnName) ?? null;
  expect(duringTrailer(session, turn)).toBe(trailer);
  expect(duringTrailer(session, null)).toBe('Teddy-During: 20260124-add-login');
});

describe('the trailer is added', () => {
  test.each([
    ['below a subject alone', plain, 'Fix it\n', `Fix it\n\n${trailer}\n`],
    ['below a last line that does not end', plain, 'Fix it', `Fix it\n\n${trailer}\n`],
    ['below a subject that reads like a trailer', plain, 'fix: it\n', `fix: it\n\n${trailer}\n`],
    ['below a body', plain, 'Fix it\n\nBecause.\n', `Fix it\n\nBecause.\n\n${trailer}\n`],
    ['among trailers', plain, 'Fix\n\nRefs: 1\n', `Fix\n\nRefs: 1\n${trailer}\n`],
    ['below a body that has a colon', plain, 'Fix\n\nNote: it\nwas so.\n', `Fix\n\nNote: it\nwas so.\n\n${trailer}\n`],
    [
      'among git’s trailers with other lines between them',
      plain,
      'Fix\n\nnot one\nSigned-off-by: A <a@b.c>\n',
      `Fix\n\nnot one\nSigned-off-by: A <a@b.c>\n${trailer}\n`,
    ],
    ['before the blank lines at the end', plain, 'Fix\n\n\n\n', `Fix\n\n${trailer}\n\n\n\n`],
    ['below a heading, where nothing is a comment', plain, 'Fix\n\n# How\n', `Fix\n\n# How\n\n${trailer}\n`],
    ['before git’s comments', edited, 'Fix\n\n# Please\n#\n', `Fix\n\n${trailer}\n\n# Please\n#\n`],
    [
      'before the diff of --verbose',
      edited,
      `Fix\n# Please\n# ${cut}\n# Do not\ndiff\n+x: y\n`,
      `Fix\n\n${trailer}\n# Please\n# ${cut}\n# Do not\ndiff\n+x: y\n`,
    ],
    [
      'before comments with another comment character',
      { hasComments: true, comment: ';' },
      'Fix\n\n# 1\n\n; Please\n',
      `Fix\n\n# 1\n\n${trailer}\n\n; Please\n`,
    ],
    [
      'before comments whose comment character git has chosen',
      { hasComments: true, comment: 'auto' },
      '# 1\n\n@ Please\n@\n',
      `# 1\n\n${trailer}\n\n@ Please\n@\n`,
    ],
    [
      'before a diff whose comment character git has chosen',
      { hasComments: true, comment: 'auto' },
      `Fix\n; Please\n; ${cut}\n+a\n`,
      `Fix\n\n${trailer}\n; Please\n; ${cut}\n+a\n`,
    ],
  ])('%s', (_where, form, text, expected) => {
    expect(addDuring(text, [trailer], form)).toBe(expected);
  });
});

test.each([
  ['an empty message', edited, '\n\n# Please enter the message\n#\n'],
  ['nothing', plain, ''],
  ['an empty message with a diff', edited, `\n# Please\n# ${cut}\ndiff\n`],
  ['a message that has a trailer', plain, `Fix\n\n${trailer}\n`],
  ['a message that has a trailer for another turn', plain, 'Fix\n\nTeddy-During: 20260124-other 07\nRefs: 1\n'],
  ['the message of an entry', plain, 'turn 02 plan: x\n\nTeddy-Session: 20260124-add-login\nTeddy-Entry: plan\n'],
  ['a landing', plain, 'Land\n\nTeddy-Landed-From: 20260124-add-login@abc\n'],
  ['a fixup', plain, 'fixup! Fix it\n'],
  ['a squash', edited, '# a comment\nsquash! Fix it\n\nmore\n# Please\n'],
])('nothing is added to %s', (_what, form, text) => {
  expect(addDuring(text, [trailer], form)).toBe(text);
});

propertyTest('a message keeps all its bytes, and gets no second trailer', () => {
  const line = fc.oneof(
    fc.string(),
    fc.constantFrom('', 'Fix it', '# x', '; y', 'Refs: 1', 'Signed-off-by: A', `# ${cut}`, ' more', '\r'),
  );
  const message = fc.array(line, { maxLength: 8 }).map((lines) => lines.join('\n'));
  const form = fc.record({ hasComments: fc.boolean(), comment: fc.constantFrom('#', ';', 'auto') });
  fc.assert(
    fc.property(message, form, (text, wanted) => {
      const once = addDuring(text, [trailer], wanted);
      if (once !== text) {
        const at = once.indexOf(trailer);
        const before = once.slice(0, at).replace(/\n{1,2}$/, '');
        const after = once.slice(at + trailer.length);
        expect([`${before}${after}`, `${before}${after.slice(0, -1)}`]).toContain(text);
      }
      expect(addDuring(once, [trailer], wanted)).toBe(once);
    }),
  );
});
