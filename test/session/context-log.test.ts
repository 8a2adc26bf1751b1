import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ShownFile } from '../../src/session/context-files.ts';
import { parseContextLog, replaceRequest, sectionText } from '../../src/session/context-log-parse.ts';
import { type ContextLogInput, renderContextLog, type RequestInfo } from '../../src/session/context-log.ts';
import type { Oid, RepoPath, SessionId, TurnName } from '../../src/session/names.ts';

const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex');
const oid = 'a'.repeat(40) as Oid;

const info: RequestInfo = {
  session: '20260124-add-user-auth' as SessionId,
  turn: '02' as TurnName,
  agent: 'pathfinder',
  provider: 'openai',
  model: 'gpt-5',
  parameters: { temperature: 0.2 },
};

function shownFile(path: string, text: string): ShownFile {
  return { kind: 'shown', path: path as RepoPath, source: { kind: 'blob', oid }, text, lossy: false };
}

const input: ContextLogInput = {
  info,
  system: { text: 'You are an agent.', source: { kind: 'builtin', sha: 'b'.repeat(64) } },
  memos: { text: '- Use pnpm.\n', source: { kind: 'blob', oid } },
  history: '## Turn 01\n',
  tree: 'src/app.ts\n',
  files: [
    shownFile('src/app.ts', 'const fence = "```";'),
    { kind: 'not-shown', path: 'logo.png' as RepoPath, bytes: 1234, reason: 'binary' },
    { kind: 'missing', path: 'gone file.ts' as RepoPath },
  ],
  message: 'Add the login route.',
};

/** Texts that look like what stands around them. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(
      fc.constantFrom(
        '---\n',
        '---',
        '```',
        '````\n',
        '\n',
        '\r\n',
        '<!-- teddy-7f3a91c2 message -->\n',
        '<!-- ',
        ' -->\n',
        'a',
        ': ',
        '# ',
        '\\ No newline at end of file\n',
      ),
    )
    .map((parts) => parts.join('')),
);
const path = fc
  .oneof(text, fc.constantFrom('a b', 'a\n-->', '"', '-->', '\u2028', 'x\u202e'))
  .map((found) => found as RepoPath);
const source = fc.constantFrom({ kind: 'blob' as const, oid }, { kind: 'stored' as const });
const file: fc.Arbitrary<ShownFile> = fc.oneof(
  fc.record({ kind: fc.constant('shown' as const), path, source, text, lossy: fc.boolean() }),
  fc.record({ kind: fc.constant('missing' as const), path }),
);
const anyInput: fc.Arbitrary<ContextLogInput> = fc.record({
  info: fc.record({
    session: fc.constant(info.session),
    turn: fc.constantFrom('01', '02-branch-01').map((turn) => turn as TurnName),
    agent: text,
    provider: text,
    model: text,
    parameters: fc.dictionary(text, fc.oneof(text, fc.boolean(), fc.integer())),
  }),
  system: fc.record({ text, source }),
  memos: fc.option(fc.record({ text, source })),
  history: fc.option(text),
  tree: fc.option(text),
  files: fc.array(file, { maxLength: 4 }),
  message: text,
});

describe('_context.log', () => {
  test('is laid out as the specification says', () => {
    const { log, messages } = renderContextLog(input, () => '7f3a91c2ffff');
    expect(log).toBe(
      [
        '---',
        'teddy-context: 1',
        'session: 20260124-add-user-auth',
        'turn: "02"',
        'agent: pathfinder',
        'provider: openai',
        'model: gpt-5',
        'parameters: { temperature: 0.2 }',
        `tokens: ${Math.ceil((messages[0].content.length + messages[1].content.length) / 4)} # estimate`,
        'boundary: teddy-7f3a91c2',
        '---',
        `<!-- teddy-7f3a91c2 system builtin ${'b'.repeat(64)} -->`,
        'You are an agent.',
        `<!-- teddy-7f3a91c2 memos blob ${oid} -->`,
        '```yaml',
        '- Use pnpm.',
        '```',
        '<!-- teddy-7f3a91c2 history -->',
        '## Turn 01',
        '<!-- teddy-7f3a91c2 tree -->',
        '```',
        'src/app.ts',
        '```',
        `<!-- teddy-7f3a91c2 file src/app.ts blob ${oid} -->`,
        '````ts',
        'const fence = "```";',
        '````',
        '\\ No newline at end of file',
        '<!-- teddy-7f3a91c2 file logo.png not-shown 1234 bytes -->',
        'Not shown: it is binary.',
        '<!-- teddy-7f3a91c2 file "gone file.ts" missing -->',
        'Missing: the project has no such file.',
        '<!-- teddy-7f3a91c2 message -->',
        'Add the login route.',
      ].join('\n'),
    );
  });

  test('the messages are the bytes after the system marker line, cut before the next one', () => {
    const { log, messages } = renderContextLog(input, sha256);
    expect(messages[0]).toEqual({ role: 'system', content: 'You are an agent.\n' });
    expect(messages[1].content).toMatch(/^<!-- teddy-[0-9a-f]{8} memos /);
    expect(log.endsWith(messages[0].content + messages[1].content)).toBe(true);
  });

  test('the boundary is the hash of all bodies', () => {
    const { log } = renderContextLog(input, sha256);
    const { frontMatter, sections } = parseContextLog(log);
    expect(frontMatter.boundary).toBe(`teddy-${sha256(sections.map(({ body }) => body).join('')).slice(0, 8)}`);
  });

  test('the boundary counts on while it occurs in a body', () => {
    const message = '<!-- teddy-00000000 message -->\nteddy-00000000-2\n';
    const { log, messages } = renderContextLog({ ...input, message }, () => '0'.repeat(64));
    expect(parseContextLog(log)).toMatchObject({ frontMatter: { boundary: 'teddy-00000000-3' }, messages });
    expect(parseContextLog(log).sections.at(-1)?.body).toBe(message);
  });

  test('tokens are bytes, not characters, by four', () => {
    const tokens = (message: string) =>
      parseContextLog(renderContextLog({ ...input, message }, sha256).log).frontMatter.tokens;
    expect(tokens('é'.repeat(400)) - tokens('e'.repeat(400))).toBe(100);
  });

  test('text that is not UTF-8 and bytes kept nowhere else are said in the marker line', () => {
    const files: ShownFile[] = [
      { kind: 'shown', path: 'x' as RepoPath, source: { kind: 'stored' }, text: '', lossy: true },
    ];
    expect(renderContextLog({ ...input, files }, sha256).log).toContain(' file x stored not-utf8 -->\n```\n```\n<!--');
  });
});

describe('reading it back', () => {
  test('gives exactly what was sent, whatever the contents', () => {
    fc.assert(
      fc.property(anyInput, (any) => {
        const { log, messages } = renderContextLog(any, sha256);
        const parsed = parseContextLog(log);
        expect(parsed.messages).toEqual(messages);
        expect(parsed.frontMatter).toMatchObject(any.info);
        expect(parsed.sections.at(-1)?.body).toBe(any.message);
        const files = parsed.sections.filter(({ name }) => name === 'file');
        expect(files.map((section) => section.path)).toEqual(any.files.map((shown) => shown.path));
        expect(files.map(sectionText)).toEqual(any.files.map((shown) => (shown.kind === 'shown' ? shown.text : null)));
      }),
      { numRuns: 500 },
    );
  });

  test('a marker line stays one line, and one comment, for every path', () => {
    fc.assert(
      fc.property(path, (any) => {
        const { log } = renderContextLog({ ...input, files: [shownFile(any, '')] }, sha256);
        const marker = /^<!-- teddy-[0-9a-f]{8} file (.*) -->$/m.exec(log)?.[1] ?? '-->';
        expect(marker).not.toMatch(/[<>\r\n\u2028\u2029]/);
      }),
    );
  });

  test.each([
    ['an empty file', () => ''],
    ['a log without its end', (log: string) => log.slice(0, log.lastIndexOf('<!--'))],
    ['a log of another format', (log: string) => log.replace('teddy-context: 1', 'teddy-context: 2')],
    ['a log without a boundary', (log: string) => log.replace(/boundary: .*/, 'boundary: 12')],
    ['front matter that is not YAML', (log: string) => log.replace('agent: ', 'agent: [')],
    ['a log with another section first', (log: string) => log.replace(' system ', ' tree ')],
    ['text before the first section', (log: string) => log.replace('\n---\n', '\n---\nx\n')],
  ])('%s is damaged', (_, damage) => {
    const { log } = renderContextLog(input, sha256);
    expect(() => parseContextLog(damage(log))).toThrow(expect.objectContaining({ code: 'DAMAGED_SESSION' }));
  });
});

describe('another request on the same context', () => {
  const request = {
    info: { turn: '02-branch-01' as TurnName, agent: 'dev' },
    system: { text: 'New.', source: { kind: 'stored' as const } },
    message: 'Other',
  };

  test('takes the sections between system and message over byte for byte', () => {
    fc.assert(
      fc.property(anyInput, (any) => {
        const before = parseContextLog(renderContextLog(any, sha256).log);
        const replaced = replaceRequest(renderContextLog(any, sha256).log, request, sha256);
        const after = parseContextLog(replaced.log);
        expect(after.sections.slice(1, -1)).toEqual(before.sections.slice(1, -1));
        expect(after.messages).toEqual(replaced.messages);
      }),
    );
  });

  test('has new front matter, boundary, prompt and message', () => {
    const { log } = renderContextLog(input, sha256);
    const after = parseContextLog(replaceRequest(log, request, sha256).log);
    expect(after.frontMatter).toMatchObject({ ...info, ...request.info });
    expect(after.frontMatter.boundary).not.toBe(parseContextLog(log).frontMatter.boundary);
    expect(after.messages[0].content).toBe('New.\n');
    expect(after.sections.at(-1)?.body).toBe('Other');
  });

  test('with nothing changed gives the same bytes', () => {
    const { log } = renderContextLog(input, sha256);
    expect(replaceRequest(log, { info: {}, system: input.system, message: input.message }, sha256).log).toBe(log);
  });
});
