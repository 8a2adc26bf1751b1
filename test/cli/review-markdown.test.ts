import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { escapeHtml, escapeMarkdown, quoteMarkdown, toCode } from '../../src/cli/render/escape-markdown.ts';
import { renderReview } from '../../src/cli/render/review.ts';
import { parseOid, type RepoPath, type SessionId, type TurnName } from '../../src/names.ts';
import type { ReviewedTurn } from '../../src/workflow/review/turn.ts';
import type { ReviewedLine } from '../../src/workflow/review/review.ts';
import { runs } from '../support/runs.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

const hostile = fc.array(
  fc.constantFrom(
    '@ada',
    '#1',
    'GH-7',
    'fixes ',
    'https://',
    '<b>',
    '</details>',
    '|',
    '`',
    '\n',
    '&lt;',
    '&#64;',
    '\\',
    'x',
  ),
  { maxLength: 12 },
);

const oid = parseOid('a'.repeat(40));

function turnOf(number: number, message: string): ReviewedTurn {
  return {
    turn: String(number).padStart(2, '0') as TurnName,
    title: message,
    messages: [message],
    planTitle: 'Do it',
    isAnswered: true,
    outcome: 'SUCCESS',
    error: null,
    actions: [
      { index: 1, type: 'EXECUTE', target: 'a | b', status: 'SUCCESS', exitCode: 0, durationMs: 1200, reason: null },
    ],
    models: ['gpt-test'],
    answeredBy: [{ model: 'gpt-test', provider: 'openai', agent: null, answers: 1 }],
    decisions: [],
    spent: { answers: 1, unreported: 0, inputTokens: 1234, outputTokens: 56, costUsd: 0.0123 },
    commits: [oid],
    files: [{ path: 'a|b.txt' as RepoPath, change: 'added', added: 3, removed: 0, kind: 'text' }],
    agent: null,
    provider: 'openai',
    model: 'gpt-test',
    undoneBy: null,
    partlyUndoneBy: null,
    verdict: null,
    isAgentPlan: false,
    promise: null,
    verdicts: [],
    asides: { thoughts: 0, notes: 0 },
    cut: [],
  };
}

function reviewOf(turns: ReviewedTurn[], onRead: () => void = () => undefined): ReviewedLine {
  const [first] = turns;
  return {
    session: '20260124-add-login' as SessionId,
    line: 'teddy/20260124-add-login',
    tip: oid,
    base: oid,
    baseBranch: 'main',
    baseSession: null,
    turns,
    models: [],
    people: [],
    commits: [],
    spent: first?.spent ?? { answers: 0, unreported: 0, inputTokens: 0, outputTokens: 0, costUsd: null },
    files: first?.files ?? [],
    async *readTurns() {
      for (const turn of turns.toReversed()) {
        onRead();
        yield turn;
      }
    },
  };
}

describe('text of somebody else', () => {
  propertyTest('makes no mention, no reference, no link, no tag and no cell, whatever it is', () => {
    fc.assert(
      fc.property(hostile, (parts) => {
        const text = parts.join('');
        for (const escaped of [escapeMarkdown(text), escapeHtml(text), quoteMarkdown(text)]) {
          // A forge reads it so: entities are characters then, and a backslash keeps its character from meaning anything.
          const read = escaped.replaceAll('&#8203;', '\u200B').replaceAll('&lt;', '‹').replaceAll('&gt;', '›');
          expect(read).not.toMatch(/@\w|#\d|GH-\d|:\/\/|<|&#/i);
          expect(
            escaped.split('\n').every((line) => escaped === escapeHtml(text) || !/(?<!\\)(?:\\\\)*[|`]/.test(line)),
          ).toBe(true);
        }
        expect(escapeMarkdown(text)).not.toContain('\n');
        expect(quoteMarkdown(text)).toMatch(/^>(?:.*\n>)*.*$/);
      }),
      runs(300),
    );
  });

  test('is read as it was written', () => {
    expect(escapeMarkdown('1. a_b *c* & <d> # e')).toBe('1\\. a\\_b \\*c\\* &amp; &lt;d&gt; \\# e');
    expect(escapeHtml('a_b & "c" #2')).toBe('a_b &amp; "c" #&#8203;2');
    expect(escapeMarkdown('/merge')).toBe('\\/merge');
    expect(quoteMarkdown('a\n  b')).toBe('> a  \n> &nbsp;&nbsp;b');
    expect([toCode('a'), toCode('``'), toCode('a\u001bb')]).toEqual(['`a`', '``` `` ```', '`a␛b`']);
  });
});

describe('a review', () => {
  test('has a table of the turns, a fold for each, the files and the next commands', async () => {
    const asides = { thoughts: 2, notes: 1 };
    const text = await renderReview(reviewOf([{ ...turnOf(1, 'Add it.\n\nSoon, @ada.'), asides }]));
    expect(text).toContain('\n\nNot shown: 2 thoughts and 1 note (`teddy view 20260124-add-login`).\n\n');
    expect(text).toContain('| 01 | Add it. | Do it | SUCCESS |');
    expect(text).toContain('<details>\n<summary>Turn 01: Add it. (SUCCESS)</summary>');
    expect(text).toContain('> Soon, @&#8203;ada.');
    expect(text).toContain('1. EXECUTE `a | b`: SUCCESS, 1.2 s');
    expect(text).toContain('| `a\\|b.txt` | added | +3 -0 |');
    expect(text).toContain('1,234 tokens in, 56 out, $0.0123');
    expect(text).toContain('teddy replay teddy/20260124-add-login');
  });

  test('names another branch than the main line wherever it names a command', async () => {
    const turn = { ...turnOf(1, 'word '.repeat(30_000)), asides: { thoughts: 1, notes: 0 } };
    const text = await renderReview({ ...reviewOf([turn]), line: 'mine' });
    expect(text).toContain('more characters: `teddy show 01 -s mine`');
    expect(text).toContain('(`teddy view mine`)');
    const turns = Array.from({ length: 400 }, (_, at) => turnOf(at + 1, 'word '.repeat(300)));
    expect(await renderReview({ ...reviewOf(turns), line: 'mine' })).toMatch(/`teddy show \d+ -s mine`/);
  });

  test('of many turns stays below what a forge takes, keeps the newest and says what it left out', async () => {
    const turns = Array.from({ length: 1200 }, (_, at) => turnOf(at + 1, `Message ${at + 1}. ${'word '.repeat(300)}`));
    let read = 0;
    const text = await renderReview(reviewOf(turns, () => (read += 1)));
    expect(text.length).toBeLessThan(65_536);
    expect(text).toContain('<summary>Turn 1200: Message 1200.');
    expect(text).not.toContain('<summary>Turn 01:');
    expect(text).toMatch(/The details of turns 01 to \d+ are omitted for length\./);
    expect(text).toMatch(/[\d,]+ older rows omitted for length/);
    expect(text).toContain('## Changed files');
    const shown = text.match(/^<details>/gm)?.length ?? 0;
    expect(shown).toBeGreaterThan(10);
    expect(read).toBeLessThan(2 * shown);
  });
});
