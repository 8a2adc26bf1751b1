import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { isPlan, parsePlan } from '../../src/plan/parse/parse.ts';
import type { Action } from '../../src/plan/plan.ts';

const fixtures = new URL('../../fixtures/plans/', import.meta.url);
const options = { projectRoot: '/home/dev/project' };

function read(name: string): string {
  return readFileSync(new URL(name, fixtures), 'utf8');
}

function summarise(action: Action): string {
  const at = `${action.line}: ${action.type}`;
  if (action.type === 'READ')
    return `${at} ${action.resource.kind === 'url' ? action.resource.url : action.resource.path}`;
  if (action.type === 'EDIT') return `${at} ${action.path} ${action.pairs.map(({ line }) => line).join(',')}`;
  return action.type === 'CREATE' ? `${at} ${action.path}` : at;
}

/** The actions with their lines, and the lines of the notes. */
const good: Record<string, { actions: string[]; notes?: number[] }> = {
  'headings.md': {
    actions: ['27: CREATE src/login.ts', '38: EDIT src/app.ts 43,52', '61: READ README.md', '65: EXECUTE'],
    notes: [36],
  },
  'labels.md': { actions: ['16: EDIT pkg/__init__.py 20,30', '38: EDIT __main__.py 40'] },
  'wrapped.md': { actions: ['8: CREATE notes/a b.md'], notes: [1, 3] },
  'wrapped-short.md': { actions: ['11: CREATE a.ts'], notes: [1] },
  'message.md': { actions: [] },
  'plain-memo.md': { actions: [], notes: [5] },
  'questions.md': { actions: ['5: CHAT_WITH_USER', '17: PROMPT'] },
  'nested-fences.md': { actions: ['5: CREATE docs/guide.md', '21: EDIT docs/index.md 24'] },
  'crlf.md': { actions: ['5: CREATE src/main.c'], notes: [6] },
  'next-turn.md': { actions: ['5: RESEARCH', '13: PRUNE', '16: INVOKE'] },
  'sloppy.md': { actions: ['9: CREATE src/a.ts', '20: EXECUTE'], notes: [1, 5, 11, 17, 29] },
  'paths.md': {
    actions: [
      '5: READ variables.tf',
      '8: READ home.tsx',
      '11: READ docs/my notes.md',
      '14: READ docs/my notes.md',
      '17: READ __main__.py',
      '20: READ .env.example',
      '23: READ .gitignore',
      '26: READ .github/workflows/ci.yml',
      '29: READ app/[id]/(tab)/page.tsx',
      '32: READ https://example.com/a?b=c',
      '35: READ src/app.ts',
    ],
  },
};

/** `line:column action message`, with the beginning of the message. */
const broken: Record<string, string[]> = {
  'no-sections.md': ['1:1 - The plan has neither an Action Plan nor a Message.'],
  'no-title.md': ['1:1 - Found "## Action Plan", expected the plan\'s title.'],
  'second-title.md': ['3:1 - Found "# Another"', '10:1 1 Found text that belongs to no part of READ'],
  'duplicate-section.md': ['8:1 - Found a second section "Rationale".'],
  'unknown-action.md': ['5:1 1 Unknown action "DELETE"'],
  'missing-path.md': ['5:1 1 CREATE has no File Path.'],
  'cut-off.md': ['11:1 2 The answer was cut off'],
  'short-fence.md': ['17:1 1 The answer was cut off'],
  'stray-text.md': ['5:1 - Found text before the first action', '14:1 1 Found text that belongs to no part of CREATE'],
  'empty-bodies.md': [
    '5:1 1 CREATE has no fence',
    '8:1 2 The script is empty',
    '15:1 3 PROMPT says nothing',
    '17:1 4 INVOKE has no Agent',
    '22:1 5 RESEARCH has no fence',
  ],
  'edit-pairs.md': [
    '8:1 1 FIND has no REPLACE after it.',
    '28:1 2 REPLACE has no FIND before it.',
    '36:1 3 Found a fence without a label',
    '40:1 4 EDIT has no FIND and REPLACE.',
    '46:1 5 FIND is empty.',
  ],
  'bad-values.md': [
    '7:18 1 Overwrite "maybe"',
    '15:14 2 Lines "20-10"',
    '18:12 3 cwd "../up"',
    '20:3 3 env "not a pair"',
    '21:16 3 Timeout "soon"',
    '22:13 3 Tail "0"',
    '29:18 4 Resource "https://example.com"',
  ],
  'escaping-paths.md': [
    '6:17 1 Resource "../x"',
    '9:17 2 Resource "[a](/src/%2e%2e/../../x)"',
    '12:17 3 Resource "C:\\x"',
    '15:17 4 Resource "\\\\server\\share"',
    '18:17 5 Resource ".GIT/config"',
    '21:17 6 Resource "src/git~1/x"',
    '24:17 7 Resource ".Teddy/memos.yaml"',
    '27:17 8 Resource "nul.txt"',
  ],
};

describe("the fixtures' plans", () => {
  test('every fixture is in a table, and every row has a fixture', () => {
    expect(readdirSync(new URL('good', fixtures)).toSorted()).toEqual(Object.keys(good).toSorted());
    expect(readdirSync(new URL('broken', fixtures)).toSorted()).toEqual(Object.keys(broken).toSorted());
  });

  test.each(Object.entries(good))('%s is parsed without a problem', (name, expected) => {
    const { plan, problems, notes } = parsePlan(read(`good/${name}`), options);
    expect(problems).toEqual([]);
    expect(plan.actions.map(summarise)).toEqual(expected.actions);
    expect(notes.map(({ line }) => line)).toEqual(expected.notes ?? []);
    expect(isPlan(read(`good/${name}`))).toBe(true);
  });

  test.each(Object.entries(broken))('%s has exactly its problems', (name, expected) => {
    const { problems } = parsePlan(read(`broken/${name}`), options);
    const found = problems.map((it, at) => {
      const full = `${it.line}:${it.column} ${it.action ?? '-'} ${it.message}`;
      return full.slice(0, expected[at]?.length);
    });
    expect(found).toEqual(expected);
    expect(problems.filter(({ hint }) => !hint)).toEqual([]);
    expect(problems.filter(({ message }) => /[\r\n]/.test(message))).toEqual([]);
  });
});

describe('details of the good plans', () => {
  test('every section and parameter of headings.md has its value', () => {
    const { plan } = parsePlan(read('good/headings.md'), options);
    expect(plan).toMatchObject({
      title: 'Add the login route',
      metadata: { Status: 'Green', 'Plan Type': 'Implementation', Agent: 'pathfinder' },
      rationale: 'The route table has no login.\n\n    Indented lines stay.',
      contextVault: ['src/app.ts', 'src/login.ts'],
      memos: [
        { kind: 'add', fact: 'All API endpoints must be documented in OpenAPI spec.' },
        { kind: 'remove', fact: "Use 'npm' for all package management." },
      ],
      message: null,
    });
    expect(plan.actions).toMatchObject([
      { overwrite: true, content: "export const login = () => 'hello';\n", description: 'The handler.' },
      {
        matchAll: false,
        pairs: [{ find: 'const routes = {};\n' }, { replace: "import { login } from './login.ts';\n" }],
      },
      { lines: '10-20', description: null },
      {
        script: 'npm test\n',
        expectedOutcome: 'All pass. Description: none.',
        description: 'Run the tests.',
        cwd: 'packages/api',
        env: { CI: '1', NODE_ENV: 'test' },
        timeoutMs: 60_000,
        allowFailure: true,
        tail: 20,
      },
    ]);
  });

  test('a single REPLACE replaces the whole file', () => {
    expect(parsePlan(read('good/labels.md')).plan.actions[1]).toMatchObject({
      pairs: [{ find: null, replace: 'print("all of it")\n', line: 40, column: 1 }],
    });
  });

  test('free Markdown keeps headings, lists and fences, and loses the rule that separates actions', () => {
    const { plan } = parsePlan(read('good/questions.md'));
    expect(plan.actions).toMatchObject([
      { text: '- Which **database**?\n- Which port?\n\n### Details\n```\n### READ\n```' },
      { text: 'Go on?' },
    ]);
    expect(plan.message).toBe('Waiting for you.');
    const { message } = parsePlan(read('good/message.md')).plan;
    expect(message).toBe('You have two ways:\n\n## First\n1. Keep it.\n\n```sh\n### CREATE\n```\n\n# Second\nDrop it.');
  });

  test('headings, labels and fences inside a fence are content', () => {
    expect(parsePlan(read('good/nested-fences.md')).plan.actions).toMatchObject([
      { content: '# Guide\n\n## Action Plan\n\n### EDIT\n#### FIND:\n```ts\nx\n```\n~~~~~\n' },
      { pairs: [{ find: '```ts\n#### REPLACE:\n```\n', replace: '~~~~\n' }] },
    ]);
  });

  test('the rarer actions keep their parameters and body', () => {
    expect(parsePlan(read('good/next-turn.md')).plan.actions).toMatchObject([
      { description: 'Find out.', queries: ['node streams', 'backpressure'] },
      { type: 'PRUNE', resource: { kind: 'path', path: 'src/old.ts' } },
      { type: 'INVOKE', agent: 'dev', description: 'Hand over.', text: '- Build it.\n- Test it.' },
    ]);
  });

  test('CRLF stays in the content', () => {
    expect(parsePlan(read('good/crlf.md')).plan.actions).toMatchObject([{ content: 'int main(void) {\r\n}\r\n' }]);
  });
});
