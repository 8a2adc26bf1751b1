import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { isPlan, maxPlanBytes, parsePlan } from '../../src/plan/parse/parse.ts';
import { examplePlan } from '../../src/plan/protocol.ts';
import type { Action } from '../../src/plan/plan.ts';
import { expectLinear } from '../support/growth.ts';
import { runs } from '../support/runs.ts';
import { propertyTest, quickTest as test, slowTest } from '../support/slow-test.ts';

function actionsOf(body: string): Action[] {
  const { plan, problems } = parsePlan(`# T\n\n## Action Plan\n\n${body}`);
  expect(problems).toEqual([]);
  return plan.actions;
}

function messagesOf(text: string): string[] {
  return parsePlan(text).problems.map(({ line, message }) => `${line}: ${message}`);
}

describe('action names', () => {
  test.each(['CREATE', '`CREATE`', 'create', '**Create**:', '1. CREATE', 'Action 3: `CREATE`', '✅ CREATE ###'])(
    'include %j for CREATE',
    (name) => {
      expect(actionsOf(`### ${name}\n- **File Path:** a\n\n\`\`\`\n\`\`\`\n`)).toMatchObject([
        { type: 'CREATE', content: '' },
      ]);
    },
  );

  test.each(['CHAT_WITH_USER', 'Chat with user', 'chat-with-user', 'CHAT\\_WITH\\_USER'])(
    'include %j for CHAT_WITH_USER',
    (name) => {
      expect(actionsOf(`### ${name}\nHello`)).toMatchObject([{ type: 'CHAT_WITH_USER', text: 'Hello' }]);
    },
  );

  test('do not include a name with more words', () => {
    expect(messagesOf('# T\n## Action Plan\n### READ src/a.ts\n')[0]).toMatch(/^3: Unknown action "READ src\/a.ts"/);
  });

  test('are found in free Markdown in back-ticks, even if they are unknown', () => {
    expect(messagesOf('# T\n## Action Plan\n### PROMPT\nHi\n### TODO\nx\n### `DELETE`\n')).toEqual([
      expect.stringMatching(/^7: Unknown action "`DELETE`"/),
    ]);
  });
});

describe('parameters', () => {
  test.each([
    '- **Timeout:** 5',
    '- **Timeout**: 5',
    '- Timeout: 5',
    '* `timeout`: `5`',
    '+ __TIMEOUT:__ **5**',
    '- timeout: 5s',
  ])('%j is five seconds', (bullet) => {
    expect(actionsOf(`### EXECUTE\n${bullet}\n\n\`\`\`\nls\n\`\`\`\n`)).toMatchObject([{ timeoutMs: 5000 }]);
  });

  test.each(['10-20', '-20', '50-', '5', '`10-20`'])('Lines may be %j', (lines) => {
    expect(actionsOf(`### READ\n- File: a\n- Lines: ${lines}\n`)).toMatchObject([{ lines: lines.replaceAll('`', '') }]);
  });

  test.each(['-', '0', '0-3', '3-2', 'a-b', '1,2', '1-2-3'])('Lines may not be %j', (lines) => {
    expect(messagesOf(`# T\n## Action Plan\n### READ\n- File: a\n- Lines: ${lines}\n`)).toHaveLength(1);
  });

  test('values continue over lines, and nested bullets under a text stay in it', () => {
    const body = '### EXECUTE\n- **Expected Outcome:** one\n  two\n  - Description: three\n- cwd: .\n\n```\nls\n```\n';
    expect(actionsOf(body)).toMatchObject([
      { expectedOutcome: 'one two\n- Description: three', description: null, cwd: '.' },
    ]);
  });

  test('env takes nested pairs in any notation, and no name can reach a prototype', () => {
    const env =
      '- **env:**\n    - A: 1\n    - `B=x y`\n    - **C:** `z`\n    - __proto__: p\n    - `D`: a`b`\n    - E:\n';
    const [action] = actionsOf(`### EXECUTE\n${env}\n\`\`\`\nls\n\`\`\`\n`);
    const entries = action?.type === 'EXECUTE' ? Object.entries(action.env) : [];
    expect(entries).toEqual([
      ['A', '1'],
      ['B', 'x y'],
      ['C', 'z'],
      ['__proto__', 'p'],
      ['D', 'a`b`'],
      ['E', ''],
    ]);
  });

  test('a repeated parameter is a problem, an unknown one a note', () => {
    const { problems, notes } = parsePlan('# T\n## Action Plan\n### READ\n- File: a\n- Path: b\n- Colour: red\n');
    expect(problems).toMatchObject([{ line: 5, message: '"Resource" is given twice.', action: 1 }]);
    expect(notes).toMatchObject([{ line: 6, action: 1 }]);
  });

  test('a bullet without a key is a problem', () => {
    expect(messagesOf('# T\n## Action Plan\n### READ\n- src/a.ts\n')).toEqual([
      '4: Found "src/a.ts", expected a parameter of READ.',
    ]);
  });

  test('a URL is a resource, with or without marks around it', () => {
    const urls = ['https://a.b/c', '<https://a.b/c>', '`https://a.b/c`', '[c](https://a.b/c)'];
    const found = actionsOf(urls.map((url) => `### READ\n- Resource: ${url}\n\n`).join(''));
    expect(found.map((it) => it.type === 'READ' && it.resource)).toEqual(
      urls.map(() => ({ kind: 'url', url: 'https://a.b/c' })),
    );
  });
});

describe('lines below a parameter', () => {
  test.each(['one\ntwo', 'one\n  two', 'one\n\n  two'])('belong to its value: %j', (value) => {
    expect(actionsOf(`### READ\n- File: a\n- Description: ${value}\n`)).toMatchObject([{ description: 'one two' }]);
  });

  test('are stray if they follow a blank line without indentation', () => {
    expect(messagesOf('# T\n## Action Plan\n### READ\n- File: a\n\ntwo\n')).toHaveLength(1);
  });
});

describe("an EDIT's labels", () => {
  const labels = [
    '#### FIND:',
    '##### `find`',
    '### FIND',
    '`FIND:`',
    'FIND:',
    '**FIND:**',
    '**`Find`**:',
    '- **FIND:**',
  ];
  test.each(labels)('include %j, with and without blank lines around it', (label) => {
    const pair = `\`\`\`\na\n\`\`\`\n${label.replace(/find/i, 'REPLACE')}\n\`\`\`\nb\n\`\`\`\n`;
    for (const blank of ['', '\n']) {
      const [action] = actionsOf(`### EDIT\n- **File Path:** a\n${blank}${label}\n${blank}${pair}`);
      expect(action).toMatchObject({ pairs: [{ find: 'a\n', replace: 'b\n' }] });
    }
  });
});

describe('skipped text', () => {
  test('is noted if it is an empty fence or a separator between actions', () => {
    const { plan, problems, notes } = parsePlan(
      '# T\n## Action Plan\n---\n```\n```\n### READ\n- File: a\n\n```\nx\n```\n***\n### READ\n- File: b\n',
    );
    expect(problems).toEqual([]);
    expect(plan.actions).toHaveLength(2);
    expect(notes.map(({ line }) => line)).toEqual([3, 4, 9, 12]);
  });

  test('is a problem if it is a second fence, since one of the two would be lost', () => {
    const text = '# T\n## Action Plan\n### CREATE\n- File: a\n\n```\nx\n```\n```\ny\n```\n';
    expect(messagesOf(text)).toEqual(['9: CREATE has a second fence, expected one.']);
  });
});

describe('sections', () => {
  test('may come in any order, with a Message after the actions', () => {
    const { plan, problems } = parsePlan('# T\n## Message\nBye\n## Memos\n- none\n## Action Plan\n## Rationale\nWhy\n');
    expect(problems).toEqual([]);
    expect(plan).toMatchObject({
      title: 'T',
      message: 'Bye',
      memos: [],
      actions: [],
      rationale: 'Why',
      contextVault: null,
    });
  });

  test('may have fences, lists, links and plain lines in the Context Vault', () => {
    const { plan } = parsePlan(
      '# T\n## Context Vault\n```\na b.ts\n\n- c.ts\n```\n- [d](/d%20e.ts)\n- `f.ts`\ng/\nh/**\n## Message\n',
    );
    expect(plan.contextVault).toEqual(['a b.ts', 'c.ts', '/d e.ts', 'f.ts', 'g/', 'h/**']);
    expect(parsePlan('# T\n## Context Vault\na\nb/**\n## Message\n').plan.contextVault).toEqual(['a', 'b/**']);
  });

  test('a memo over two lines in a list is one fact', () => {
    expect(parsePlan('# T\n## Memos\n- [+] one\n  two\n* [-] three\n## Message\nx').plan.memos).toEqual([
      { kind: 'add', fact: 'one two' },
      { kind: 'remove', fact: 'three' },
    ]);
  });

  test('a plain fact after a bullet is a memo to add, which is noted', () => {
    const text = '# T\n## Memos\n- Tabs,\n  not blanks.\n- [-] old\n```\n- fenced\n```\n## Message\nx';
    const { plan, problems, notes } = parsePlan(text);
    expect(problems).toEqual([]);
    expect(plan.memos).toEqual([
      { kind: 'add', fact: 'Tabs, not blanks.' },
      { kind: 'remove', fact: 'old' },
      { kind: 'add', fact: 'fenced' },
    ]);
    expect(notes.map(({ line, message }) => [line, message])).toEqual([
      [3, expect.stringContaining('is taken for a memo to add: [+] Tabs,')],
      [7, '"fenced" is taken for a memo to add: [+] fenced'],
    ]);
    expect(parsePlan(text, { grammar: 2 }).problems).toHaveLength(2);
  });

  test.each(['No sign.', '- [ ] task', '- [*] star', '- [x] done', '- + plus', '- [+] one\n  - nested'])(
    'a memo that may not be a fact is a problem: %j',
    (memos) => expect(parsePlan(`# T\n## Memos\n${memos}\n## Message\nx`).problems).toHaveLength(1),
  );

  test.each(['- No new memos.', '- Nothing to add', '- *None needed*', '- Nothing may import src/git.'])(
    'only a fact is a memo: %s',
    (memos) => {
      const { plan, problems } = parsePlan(`# T\n## Memos\n${memos}\n## Message\nx`);
      expect([problems.length, plan.memos.length]).toEqual([0, memos.includes('src') ? 1 : 0]);
    },
  );

  test.each([
    ['src/app.ts - the routes', '- the routes'],
    ['src/app.ts \u2014 see src/routes.', '\u2014 see src/routes.'],
    ['src/app.ts: the routes, and/or more', ': the routes, and/or more'],
    ['src/app.ts (new, in v1.2)', '(new, in v1.2)'],
    ['docs/my notes.md \u2013 why', '\u2013 why'],
    ['!src/app.ts - no more', '- no more'],
  ])('%j in a list is a problem that names the remark', (line, remark) => {
    const text = `# T\n## Context Vault\n- README.md\n- ${line}\n## Message\nx`;
    const { plan, problems } = parsePlan(text);
    expect(plan.contextVault).toEqual(['README.md']);
    const message = `Found "${line}" in a list: it has the remark "${remark}" behind the path.`;
    expect(problems).toMatchObject([{ line: 4, message, hint: expect.stringContaining('Give the path alone.') }]);
    expect(parsePlan(text, { grammar: 2 }).plan.contextVault).toEqual(['README.md', line]);
  });

  test.each([
    'a - b.txt',
    'My v1.b - notes.md',
    'v1.x - final/',
    'src/*.ts',
    'a.ts # why',
    '"a.ts - b"',
    'docs/a (copy).md',
  ])('%j is a literal name', (line) => {
    const { plan, problems } = parsePlan(`# T\n## Context Vault\n- ${line}\n## Message\nx`);
    expect([problems, plan.contextVault]).toEqual([[], [line]]);
  });

  const readNotes = (path: string, grammar: 2 | 3 = 3) => {
    const text = `# T\n## Action Plan\n### READ\n- Resource: ${path}\n`;
    const { problems, notes } = parsePlan(text, { projectRoot: '/home/dev/project', grammar });
    return [...problems, ...notes].map(({ message }) => message.replace(/^.*?": /, ''));
  };

  test.each([
    ['[a.txt](/dir/x.txt)', 'the link shows "a.txt" and leads to "dir/x.txt", which counts.'],
    ['src\\app.ts', 'its backslashes are read as slashes.'],
    ['[x](/a%5Cb.txt)', 'its backslashes are read as slashes.'],
    ['[x](/new.txt%20)', expect.stringContaining('its name would begin or end with a blank')],
    ['[x](%20new.txt)', expect.stringContaining('its name would begin or end with a blank')],
  ])('a path whose text differs from its meaning is reported: %s', (path, said) => {
    expect(readNotes(path)).toEqual([said]);
    expect(readNotes(path, 2)).toEqual([]);
  });

  test.each(['[app.ts](/src/app.ts)', '[src/app.ts](src/app.ts)', '[the app](/src/app.ts)', '[my%20a.ts](/my%20a.ts)'])(
    "a link whose text is its path, the path's end or words is read without a note: %s",
    (path) => expect(readNotes(path)).toEqual([]),
  );
  test('a link may show the absolute path', () => expect(readNotes('[/home/dev/project/a.ts](/a.ts)')).toEqual([]));

  test('metadata cannot reach a prototype', () => {
    const { plan } = parsePlan('# T\n- **__proto__:** x\n- **A b**: y\n## Message\nx');
    expect(Object.entries(plan.metadata)).toEqual([
      ['__proto__', 'x'],
      ['A b', 'y'],
    ]);
  });

  test('a byte order mark does not count as text before the title', () => {
    expect(parsePlan('\ufeff# T\n## Message\nx')).toMatchObject({ plan: { title: 'T' }, problems: [], notes: [] });
  });
});

describe('a fence around the answer', () => {
  test('does not include a sample in a fence before the plan', () => {
    const sample = '```md\n# Sample\n## Message\n```\n';
    const { plan, problems } = parsePlan(`${sample}# T\n## Action Plan\n### CREATE\n- File: a\n\n\`\`\`\nx\n\`\`\`\n`);
    expect(problems).toEqual([]);
    expect(plan).toMatchObject({ title: 'T', actions: [{ content: 'x\n' }] });
  });

  test('keeps positions relative to the complete answer', () => {
    expect(messagesOf('Here:\n\n````\n# T\n## Action Plan\n### NOPE\n````\n')[0]).toMatch(/^6: Unknown action/);
  });
});

describe('answers that are cut off', () => {
  test('there is one problem, whatever is missing after the fence', () => {
    expect(messagesOf('# T\n## Rationale\n```\nwhy')).toEqual([expect.stringMatching(/^3: The answer was cut off/)]);
    expect(messagesOf('# T\n## Action Plan\n### EDIT\n- File: a\n`FIND:`\n```\nx')).toEqual([
      expect.stringMatching(/^6: The answer was cut off/),
    ]);
  });

  test('half a list in a fence is not read', () => {
    expect(messagesOf('# T\n## Memos\n```\n[+] one\n[')).toEqual([expect.stringMatching(/^3: The answer was cut off/)]);
  });

  test('an outer fence without its end counts as one, too', () => {
    expect(messagesOf('````md\n# T\n## Message\nx')).toEqual([expect.stringMatching(/^1: The answer was cut off/)]);
  });

  test.each([
    ['````', '```` Done', 'Done'],
    ['````', '````</file>', '</file>'],
    ['````', '`````` and more  ', 'and more'],
    ['~~~~', '  ~~~~ x', 'x'],
    ['````', '````ts', 'ts'],
    ['```', '``` Done.', 'Done.'],
    ['```', '```, as above', ', as above'],
  ])('text after the end of %s is named as such', (marker, line, behind) => {
    const { problems } = parsePlan(`# T\n## Rationale\n${marker}\nwhy\n${line}\n\n## Message\nHello\n`);
    expect(problems).toMatchObject([
      {
        line: 3,
        message: `The fence "${marker}" that opens here is not closed on line 5, where text stands behind it.`,
        hint: `End that line after ${marker}, and put ${JSON.stringify(behind)} on the next one.`,
      },
    ]);
  });

  test.each(['```ts', '```c++ {1}', '``', ' ```` '])('a line %j within it is not its end', (line) => {
    expect(messagesOf(`# T\n## Rationale\n\`\`\`\nwhy\n${line}\n`)).not.toContainEqual(
      expect.stringContaining('text stands behind it'),
    );
  });

  test('every prefix of a plan that ends inside a fence is a problem', () => {
    const end = examplePlan.indexOf('const routes');
    expect(messagesOf(examplePlan.slice(0, end))).toEqual([expect.stringContaining('The answer was cut off')]);
  });
});

describe('detecting a plan', () => {
  test.each([
    ['## Action Plan', true],
    ['text\n\n## `Message`:\nx', true],
    ['```md\n# T\n## Message\n```', true],
    ['```sh\n# install\n## Message\n```\n\nThat is how.', false],
    ['See this:\n\n    ## Message', false],
    ['### Action Plan', false],
    ['The ## Action Plan', false],
    ['', false],
  ])('%j: %s', (text, expected) => {
    expect(isPlan(text)).toBe(expected);
  });
});

describe('any text', () => {
  const piece = fc.constantFrom(
    '#',
    '##',
    '###',
    '# T',
    '## Action Plan',
    '## Message',
    '### EDIT',
    '### CREATE',
    '#### FIND:',
    '`REPLACE:`',
    '```',
    '````',
    '~~~',
    '- ',
    '- **env:**',
    '  - A: 1',
    '- File Path: a',
    '1. File Path: "a" (b)',
    'File Path: `a`:1',
    '#T',
    '##Message',
    '###READ',
    '## EXECUTE',
    '<plan>',
    '</plan>',
    '<think>',
    '</think>',
    ' ',
    '    ',
    '\t',
    '\n',
    '\n',
    '\n',
    '\r\n',
    '\r',
    ':',
    '**',
    '[',
    '](',
    ')',
    '\0',
    '\ud800',
    'x',
  );

  function checkAll(text: string): void {
    const { problems, notes } = parsePlan(text);
    const lines = text.split('\n');
    for (const { line, column } of [...problems, ...notes]) {
      expect(column).toBeGreaterThan(0);
      expect(column).toBeLessThanOrEqual((lines[line - 1]?.length ?? -1) + 1);
    }
    isPlan(text);
  }

  slowTest('never makes parsePlan throw, and every position is in the text', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join('')),
    );
    fc.assert(fc.property(text, checkAll), runs(1500));
  });

  propertyTest('never makes parsePlan throw in place of any part of a good plan', () => {
    const mutation = fc.tuple(fc.nat(examplePlan.length), fc.nat(40), piece);
    fc.assert(
      fc.property(fc.array(mutation, { minLength: 1, maxLength: 4 }), (mutations) => {
        checkAll(
          mutations.reduce(
            (text, [at, length, into]) => text.slice(0, at) + into + text.slice(at + length),
            examplePlan,
          ),
        );
      }),
      runs(1000),
    );
  });

  slowTest('is read back exactly from a fence that is long enough', () => {
    const content = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(piece).map((pieces) => pieces.join('')),
    );
    fc.assert(
      fc.property(content, fc.constantFrom('`', '~'), (inside, mark) => {
        const longest = Math.max(2, ...(inside.match(/`+|~+/g) ?? []).map((run) => run.length));
        const fence = mark.repeat(longest + 1);
        const [action] = actionsOf(`### CREATE\n- **File Path:** a\n\n${fence}\n${inside}\n${fence}\n`);
        expect(action).toMatchObject({ type: 'CREATE', content: `${inside}\n` });
      }),
      runs(1000),
    );
  });
});

describe("INVOKE's agent", () => {
  const agentOf = (value: string) => {
    const { plan, problems } = parsePlan(`# T\n\n## Action Plan\n\n### INVOKE\n- **Agent:** ${value}\n\nGo on.\n`);
    const [action] = plan.actions;
    return action?.type === 'INVOKE' ? action.agent : problems.map(({ message }) => message);
  };

  test('is one word, in any case and with or without marks', () => {
    for (const value of ['dev', 'Dev', '`dev`', '**DEV**']) expect(agentOf(value), value).toBe('dev');
    expect(agentOf('the developer')).toEqual(['Agent "the developer": expected one word.']);
  });
});

describe('a large plan', () => {
  const head = '# T\n\n## Action Plan\n\n';

  const countActions = (text: string) => parsePlan(text).plan.actions.length;

  test('with 10 MiB in one CREATE is read in linear time', async () => {
    const line = `${'x'.repeat(79)}\n`;
    await expectLinear(
      131_000,
      (count) => `${head}### CREATE\n- **File Path:** a\n\n\`\`\`\n${line.repeat(count)}\`\`\`\n`,
      (text) => expect(countActions(text)).toBe(1),
    );
  });

  slowTest('with 10 MiB in 5,000 EDITs is read in linear time', async () => {
    const block = `\`\`\`\n${`${'y'.repeat(49)}\n`.repeat(20)}\`\`\`\n`;
    const edit = `### EDIT\n- **File Path:** a\n\n#### FIND:\n${block}#### REPLACE:\n${block}\n`;
    await expectLinear(
      5000,
      (count) => ({ count, text: head + edit.repeat(count) }),
      ({ count, text }) => expect(countActions(text)).toBe(count),
    );
  });

  slowTest.each([
    '#',
    ' ',
    '\t',
    '`',
    '```',
    '~',
    '- ',
    '-',
    '*',
    '**',
    '_',
    '[',
    '](',
    '\r',
    '\n',
    '- a\n',
    '\n  - a: b',
    'a\n',
    '### x\n',
    '# #',
    '- **a ',
    '```a\n',
    '~~~\n',
    '> ',
    '\\',
    '- \n\n',
    '## x\n',
  ])('with 64 KiB of %j, anywhere, takes four times as long as a quarter of it', async (text) => {
    const places: ((many: string) => string)[] = [
      (many) => many,
      (many) => `# T\n${many}`,
      (many) => `# T\n## Memos\n${many}`,
      (many) => `${head}### READ\n- Resource: ${many}`,
      (many) => `${head}### EDIT\n- File Path: [a${many})\n${many}`,
      (many) => `${head}### INVOKE\n${many}`,
    ];
    for (const place of places) {
      await expectLinear(65_536, (size) => place(text.repeat(Math.ceil(size / text.length))), countActions);
    }
  });

  slowTest.each(['1. File: a\n', 'File: a\n\n', '###READ\n', '##Message\n', '<a>\n', '## READ\n', '- File: "a" (b)\n'])(
    'with four times as much of %j takes about four times the work',
    (text) =>
      expectLinear(
        262_144,
        (size) => `${head}### READ\n${text.repeat(Math.ceil(size / text.length))}`,
        (plan) => parsePlan(plan),
      ),
  );

  test('over 10 MiB is refused, counted in bytes', () => {
    const title = '# T\n## Message\n';
    expect(messagesOf(title + 'x'.repeat(maxPlanBytes - title.length))).toEqual([]);
    expect(messagesOf(title + 'x'.repeat(maxPlanBytes - title.length + 1))).toHaveLength(1);
    expect(messagesOf(title + 'ü'.repeat(maxPlanBytes / 2))).toEqual([
      '1: The plan is larger than 10 MiB (10,485,760 bytes).',
    ]);
  });
});
