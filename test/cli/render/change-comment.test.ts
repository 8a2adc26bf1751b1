/** The comment on a pull request: nothing that a session or a repository says becomes anything but text. */
import fc from 'fast-check';
import MarkdownIt from 'markdown-it';
import { describe, expect, test } from 'vitest';
import { renderChangeComment, type ChangeComment } from '../../../src/cli/render/change-comment.ts';
import { parseOid, type Oid, type RepoPath, type SessionId, type TurnName } from '../../../src/names.ts';
import type { ReviewedTurn } from '../../../src/workflow/review/turn.ts';
import { runs } from '../../support/runs.ts';

const oid = parseOid('a'.repeat(40));
const other = parseOid('b'.repeat(40));
const session = '20260124-add-login' as SessionId;

/** Says the text everywhere where a turn has a text. */
function turnOf(number: number, text: string): ReviewedTurn {
  const author = { name: text, email: text };
  return {
    turn: String(number).padStart(2, '0') as TurnName,
    title: text,
    messages: [text],
    planTitle: text,
    isAnswered: true,
    outcome: 'SUCCESS',
    error: text,
    actions: [
      { index: 1, type: 'EXECUTE', target: text, status: 'FAILURE', exitCode: 1, durationMs: 12, reason: text },
      { index: 2, type: text, target: text, status: 'SUCCESS', exitCode: 0, durationMs: 12, reason: null },
    ],
    answeredBy: [{ model: text, provider: text, agent: text, answers: 1 }],
    decisions: [{ decision: 'approved', by: 'user', author, actions: [1], commit: oid }],
    spent: { answers: 1, unreported: 0, inputTokens: 1234, outputTokens: 56, costUsd: 0.0123 },
    commits: [oid],
    files: [{ path: text as RepoPath, change: 'added', added: 3, removed: 0, kind: 'text' }],
    agent: text,
    provider: text,
    model: text,
    models: [text],
    undoneBy: null,
    partlyUndoneBy: null,
    verdict: 'approved',
    isAgentPlan: false,
    promise: null,
    verdicts: [
      {
        verdict: 'approved',
        turn: '01' as TurnName,
        planSha256: '',
        comments: [{ line: 1, text }],
        text,
        commit: other,
        author,
        at: '2026-01-24T10:00:00.000Z',
      },
    ],
    asides: { thoughts: 1, notes: 1 },
    cut: [],
  };
}

function commentOf(text: string, { turns = 2, findings = 2, sessions = 1 } = {}): ChangeComment {
  const all = Array.from({ length: turns }, (_, at) => turnOf(at + 1, text));
  const [first] = all as [ReviewedTurn];
  const review = {
    session,
    line: text,
    tip: oid,
    base: other,
    baseBranch: text,
    baseSession: null,
    turns: all,
    newest: all,
    models: first.answeredBy,
    people: [{ name: text, email: text, snapshots: 1, commits: 1 }],
    commits: [{ commit: oid, subject: text, after: null }],
    spent: first.spent,
    files: first.files,
    signatures: new Map([[other, { state: 'good' as const, keys: [text], signer: text }]]),
  };
  const landing = { commit: oid, from: [{ session, tip: oid }], isUnseen: false };
  const faults = Array.from({ length: findings }, () => ({ path: text as RepoPath, message: text }));
  return {
    range: { base: other, head: oid },
    checked: {
      range: { base: other, head: oid },
      approval: null,
      verified: [],
      replayed: [],
      failed: [{ command: text, result: text }],
      landings: [
        { ...landing, faults, unproven: [text] },
        { ...landing, faults: [], unproven: [] },
      ],
      squashes: [{ commit: oid, session }],
      unrecorded: 0,
    },
    verdict: { ok: false, text, hints: [`Do \`teddy push -s ${session}\`. ${text.replaceAll('`', '')}`, 'word'] },
    sessions: Array.from({ length: sessions }, () => review),
    conclusion: text,
    pageUrl: 'https://example.org/page',
    signedBy: undefined,
  };
}

// Forges read HTML as HTML, and make a link of whatever looks like a web or mail address.
const forge = new MarkdownIt({ html: true, linkify: true });
forge.linkify.set({ fuzzyLink: false });

/** Every tag, with its attributes, and every comment. */
function tagsOf(markdown: string): string[] {
  return forge.render(markdown).match(/<!--|<\/?[a-z][^>]*>/gi) ?? [];
}

/** The text outside code, with entities as characters: where a forge looks for mentions and references. */
function textOf(markdown: string): string {
  return forge
    .render(markdown)
    .replace(/<code[^>]*>.*?<\/code>/gs, '')
    .replace(/<[^>]*>/g, '')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#8203;/g, '\u200B')
    .replace(/&amp;/g, '&');
}

const reference = /@[\w-]|[#!]\d|GH-\d|GHSA-\w|CVE-\d|:[\w+-]+:|:\/\/|\bwww\.|(?<!\w)[0-9a-f]{7,40}(?!\w)/i;
/** The same for GitLab, which also finds references behind a backslash, and commands at the beginning of a line. */
const onGitlab = /[~%$][^\s\u200B]|&\d|[a-z]\w*-\d|\w\/[\w.-]+>|[{[][+-]|\[(?:\[_)?TOC_?\]|\[\w+:[\w]/i;
const plain = tagsOf(renderChangeComment(commentOf('word')));

function expectText(text: string): void {
  const markdown = renderChangeComment(commentOf(text));
  expect(tagsOf(markdown)).toEqual(plain);
  expect(textOf(markdown)).not.toMatch(reference);
  expect(onGitlab.exec(textOf(markdown))?.[0]).toBeUndefined();
  expect(markdown).not.toMatch(/^\//m);
  // oxlint-disable-next-line no-control-regex -- there must be none
  expect(markdown).not.toMatch(/[\u202A-\u202E\u2066-\u2069\u200B\u0000-\u0008\u000B-\u001F]/);
}

describe('a text in a comment stays a text', () => {
  test.each([
    ['a mention', '@ada, please'],
    ['a team', 'cc @org/team and ada@example.org'],
    ['an issue', 'fixes #1, org/app#2, GH-3, !4'],
    ['a commit', `see ${'0123456789abcdef'.repeat(3).slice(0, 40)} and 0123abc`],
    ['an advisory', 'see GHSA-abcd-1234-efgh and CVE-2026-1234'],
    ['an image of an emoji', ':octocat: a:+1::shipit:'],
    ['an image', '![x](https://evil.example/x.png)'],
    ['a link', '[Approve](https://evil.example) [a]: https://evil.example'],
    ['an autolink', '<https://evil.example> https://evil.example www.evil.example mailto:a@b.example'],
    ['HTML', '<img src=x onerror=alert(1)><script>alert(1)</script><b>bold</b>'],
    ['the end of a fold', '</details></summary><h1>Approved</h1>'],
    ['our mark', `--> <!-- teddy ci comment ${oid} --> <!--`],
    ['a comment in HTML', '<!-- x'],
    ['CDATA and a processing instruction', '<![CDATA[ <?php ]]> <!DOCTYPE x>'],
    ['a fence', '```` ``` ~~~ ```'],
    ['code that ends early', '`a` ``b`` \\`c'],
    ['a heading', '# Approved'],
    ['a line below a heading', '==='],
    ['a rule', '---'],
    ['a list', '- [x] done'],
    ['a numbered list', '1. one'],
    ['a quote', '> [!WARNING]'],
    ['a table', '| a | b |'],
    ['emphasis', '**bold** __bold__ *i* _i_ ~~gone~~'],
    ['a footnote and mathematics', '[^1] $x$ $$y$$'],
    ['entities', '&lt;b&gt; &#64;ada &commat;ada &#x40;ada'],
    ['backslashes', '\\@ada \\<b> \\\\<b> \\[a](b)'],
    ['bidirectional controls', '\u202Egnp.exe\u2066 \u200B\u2060'],
    ['terminal controls', '\u001B[2J\u0000\u0007'],
    ['a carriage return', 'a\r# b'],
    ['a quick action of GitLab', '/merge'],
    ['labels, milestones, snippets and epics', 'x ~bug ~"a b" ~1 \\~bug %1 %"a b" %next $1 &1 g&2 &amp;3 a$1'],
    [
      'other references of GitLab',
      'GL-1 PROJ-12 my_proj-3 group/project> [issue:1] [vulnerability:2] ^alert#3 *iteration:"x"',
    ],
    ['a placeholder and attributes', '%{project_path} {{ x }} {.class} {width=100%}'],
    ['an inline difference', '{+ a +} [- b -] {- c -} [+ d +]'],
    ['a table of contents', '[[_TOC_]]'],
    ['a short table of contents', '[TOC]'],
    ['a fence of GitLab', '>>>'],
    ['a file to include', '::include{file=x.md}'],
    ['a command of the runner', '::set-output name=x::y'],
  ])('%s', (_what, text) => expectText(text));

  test('whatever it is', () => {
    const parts = fc.constantFrom(
      '@ada',
      '#1',
      'GH-7',
      ':tada:',
      '!1',
      'https://',
      'www.',
      'a@b.c',
      'deadbeef',
      '<b>',
      '</details>',
      '<!--',
      '-->',
      '|',
      '`',
      '```',
      '~~~',
      '&lt;',
      '&#64;',
      '\\',
      '[',
      ']',
      '(',
      ')',
      '!',
      '*',
      '_',
      '=',
      '---',
      '# ',
      '> ',
      '1. ',
      '- ',
      ' ',
      '\t',
      '\r',
      '\u202E',
      '\u2028',
      'x',
      '"',
      "'",
      '$',
      ':',
      '<',
      '>',
      '^',
      '~bug',
      '%1',
      '&1',
      '$1',
      'PROJ-',
      '[+',
      '{-',
      'TOC',
      'a/b',
      '/merge',
      '1',
    );
    fc.assert(
      fc.property(fc.array(parts, { minLength: 1, maxLength: 12 }), (some) => expectText(`x${some.join('')}`)),
      runs(500),
    );
  });

  test('also over several lines, in which it may add lines to a quote and nothing else', () => {
    const markdown = renderChangeComment(
      commentOf('a\n\n</details>\n# b\n```\n| c |\n| - |\n\n    @d\n<!--\n/merge\n.'),
    );
    const added = tagsOf(markdown).filter((tag) => !plain.includes(tag));
    expect([...new Set(added)]).toEqual(['<br>']);
    expect(markdown).not.toMatch(/^\//m);
    expect(textOf(markdown)).not.toMatch(reference);
  });
});

test('a comment stays below 60 lines outside its folds and 60,000 characters, and says what it leaves out', () => {
  const text = renderChangeComment(commentOf('word '.repeat(3000), { turns: 40, findings: 40, sessions: 5 }));
  expect(text.length).toBeLessThan(60_000);
  const outside = text.replace(/<details>.*?<\/details>/gs, '<fold>');
  expect(outside.trimEnd().split('\n').length).toBeLessThan(60);
  expect(outside.match(/<fold>/g)?.length).toBeGreaterThan(2);
  expect(text).toMatch(/- 3\d turns left out: `teddy log 20260124-add-login` shows all\./);
  expect(text).toMatch(/- \d+ more findings: `teddy ci verify --base bbbbbbbbbb --head aaaaaaaaaa`\./);
  expect(text).toMatch(/3 more sessions: `teddy ci verify/);
});

test('a name is followed by what its signature proves', () => {
  const approved = (signature: object | null, signedBy?: string[]) => {
    const { sessions, ...rest } = commentOf('Ada');
    const signatures = new Map(signature === null ? [] : [[oid as Oid, signature as never]]);
    const keys = signedBy === undefined ? undefined : new Set(signedBy);
    const text = renderChangeComment({
      ...rest,
      sessions: sessions.map((one) => ({ ...one, signatures })),
      signedBy: keys,
    });
    return /^- Approved: (.*)$/m.exec(text)?.[1]?.split('; ').at(-1);
  };
  const good = { state: 'good', keys: ['SHA256:a'], signer: 'Bob' };
  const turns = ' (turns 01, 02)';
  expect(approved(null)).toBe(`Ada (unsigned)${turns}`);
  expect(approved(good)).toBe(`Ada (signed by Bob)${turns}`);
  expect(approved(good, ['SHA256:a'])).toBe(`Ada (signed by Bob)${turns}`);
  expect(approved(good, ['SHA256:b'])).toBe(`Ada (signed with a key that is not known here)${turns}`);
  expect(approved({ ...good, state: 'unknown' })).toBe(`Ada (signed with a key that is not known here)${turns}`);
  expect(approved({ ...good, state: 'bad' }, ['SHA256:a'])).toBe(`Ada (bad signature)${turns}`);
});
