/** The parts that `teddy init` sets up: what each finds, does and takes away, and what happens when one fails. */
import { beforeEach, describe, expect, test } from 'vitest';
import { TeddyError } from '../../../src/errors.ts';
import type { Part, PartPlan, SetupTools, Step } from '../../../src/ports/setup.ts';
import type { RepoPath } from '../../../src/names.ts';
import { mcpText } from '../../../src/system/agents/mcp-settings.ts';
import { ciPart, mcpPart, skillPart } from '../../../src/workflow/setup/file-parts.ts';
import {
  carryOutParts,
  chooseParts,
  examineParts,
  globalPart,
  modelPart,
  planParts,
} from '../../../src/workflow/setup/set-up.ts';
import { memoryRecords } from '../../support/memory-spool.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { start } from '../../support/turns.ts';

let project: MemoryProject;
let tools: SetupTools;
/** The user's own file for Codex; null when it does not exist. */
let codex: Uint8Array | null;
let packaged: Map<string, string>;

/** Whether leftovers beside the user's file were removed. */
let isCleared: boolean;

beforeEach(async () => {
  project = await memoryProject();
  [codex, isCleared] = [null, false];
  packaged = new Map([
    ['hooks/agents/skill/SKILL.md', '# teddy\n'],
    ['fixtures/ci/teddy.yml', 'on: pull_request\nuse: https://example.org/x.tgz\n'],
    ['fixtures/ci/teddy-comment.yml', 'on: workflow_run\nuses: example/teddy@0\n'],
    ['fixtures/ci/gitlab.yml', 'teddy:\n  script: npm install https://example.org/teddy.tgz\n'],
  ]);
  tools = {
    async readPackageFile(path) {
      const text = packaged.get(path);
      if (text === undefined) throw new TeddyError('FILE_NOT_FOUND', `${path} is missing.`);
      return text;
    },
    mcpText,
    mcpFiles: async () => [
      {
        title: 'Codex',
        file: {
          path: '/home/.codex/config.toml',
          read: async () => codex,
          write: async (bytes) => void (codex = bytes),
          remove: async () => void (codex = null),
          clear: async () => void (isCleared = true),
        },
      },
    ],
    isOnPath: async () => true,
    findModels: async () => [],
    listModels: async () => [],
  };
});

/** Carries out what is usual, or what `accepts` accepts. Returns what was told, and the codes of failures. */
async function apply(part: Part, isRemoval = false, accepts = (step: Step) => step.isExtra !== true) {
  const told: string[] = [];
  await carryOutParts(await planParts([part], isRemoval), {
    decide: async (_, step) => accepts(step),
    tell: (_, sentence) => told.push(sentence),
    onDone: () => undefined,
    onFailed: ({ code }) => told.push(code),
  });
  return told;
}
const remove = (part: Part) => apply(part, true);
const stateOf = async (part: Part) => (await part.look()).state;
const stepsOf = (plan: PartPlan) => plan.flatMap((one) => (typeof one === 'string' ? [] : [one.does]));
const textOf = (bytes: Uint8Array | null) => bytes && Buffer.from(bytes).toString();

describe('the branch teddy/global', () => {
  test('is created once, and removed as long as nothing was added to it', async () => {
    const part = globalPart(project);
    expect(await stateOf(part)).toBe('missing');
    await apply(part);
    expect(await stateOf(part)).toBe('set-up');
    expect(await part.planSetUp()).toEqual([]);
    await remove(part);
    expect(await stateOf(part)).toBe('missing');
    expect(await part.planRemoval()).toEqual([]);
  });

  test('that an interrupted init has begun is completed, or removed', async () => {
    const part = globalPart(project);
    for (const goOn of [() => apply(part), () => remove(part)]) {
      await apply(part);
      await project.setup.write('global', { tip: null });
      expect(await stateOf(part)).toBe('partly');
      await goOn();
      expect(await stateOf(part)).not.toBe('partly');
      await remove(part);
      expect(await project.tipOf('teddy/global').catch(() => null)).toBeNull();
    }
  });

  test('stays once there are sessions or content', async () => {
    const part = globalPart(project);
    await apply(part);
    const tip = await project.tipOf('teddy/global');
    await project.setRef('refs/heads/teddy/global', await project.tipOf('main'));
    expect(await part.planRemoval()).toEqual(['teddy/global stays, because it has content or is checked out.']);
    await project.setRef('refs/heads/teddy/global', tip);
    await start(project);
    expect(await part.planRemoval()).toEqual(['teddy/global stays, because there are sessions.']);
  });
});

describe('the model', () => {
  const openai = { provider: 'openai', model: 'gpt-5', url: 'https://api.openai.com/v1' };
  const choices = [
    { ...openai, why: 'OPENAI_API_KEY is set', isUntried: true },
    { provider: 'ollama', model: 'qwen', url: 'http://127.0.0.1:11434/v1', why: 'it answers', isUntried: false },
  ];

  test('is the first that is accepted; nothing is sent without a yes, and removal forgets only this', async () => {
    const asked: string[] = [];
    tools = { ...tools, findModels: async () => choices, listModels: async (name) => (asked.push(name), ['gpt-5']) };
    const part = modelPart(project, tools);
    expect(await apply(part)).toEqual([]);
    expect([...project.configuration]).toEqual([
      ['teddy.provider', 'openai'],
      ['teddy.model', 'gpt-5'],
    ]);
    expect(asked).toEqual([]);
    expect(await part.planSetUp()).toEqual([]);
    project.configuration.set('teddy.model', 'mine');
    await remove(part);
    expect([...project.configuration]).toEqual([['teddy.model', 'mine']]);
    project.configuration.delete('teddy.model');
    expect(await apply(part, false, () => true)).toEqual(['It answers, and has gpt-5.']);
    expect(asked).toEqual(['openai']);
  });

  test('that an interrupted init has set by half is completed', async () => {
    const part = modelPart(project, { ...tools, findModels: async () => choices });
    await apply(part);
    project.configuration.delete('teddy.model');
    expect(await stateOf(part)).toBe('partly');
    await apply(part);
    expect(project.configuration.get('teddy.model')).toBe('gpt-5');
  });

  test('of an endpoint that only lists its models is chosen by the user, and a failure does not unset the provider', async () => {
    const only = { ...openai, provider: 'anthropic', model: null, why: 'ANTHROPIC_API_KEY is set', isUntried: true };
    const listModels = () => Promise.reject(new TeddyError('MODEL_AUTH', 'The key is wrong.'));
    const told = await apply(modelPart(project, { findModels: async () => [only], listModels }), false, () => true);
    expect(told).toEqual(['Choose a model: `teddy models`, then `teddy config set model <name>`.', 'MODEL_AUTH']);
    expect([...project.configuration]).toEqual([['teddy.provider', 'anthropic']]);
  });

  test('that cannot be used is damage, which setting up repairs', async () => {
    project.configuration.set('teddy.provider', 'oracle');
    const part = modelPart(project, { ...tools, findModels: async () => choices });
    expect(await examineParts([part])).toMatchObject({
      found: [{ thing: 'model', todo: 'Run `teddy init --only model`.' }],
    });
    await apply(part);
    expect(await stateOf(part)).toBe('set-up');
  });
});

describe('the MCP server', () => {
  const part = () => mcpPart(project, tools);
  const json = async () => {
    const found = await project.filesOf('').inspect('.mcp.json' as RepoPath);
    return found.kind === 'file' ? Buffer.from(found.bytes).toString() : null;
  };

  test('is added to what is there, and removed byte for byte', async () => {
    const before = '\uFEFF{\r\n  // ours\r\n\t"mcpServers": { "x": { "command": "x" } } }';
    await project.write({ '.mcp.json': before });
    codex = Buffer.from('model = "o3"\n[mcp_servers.x]\ncommand = "x"');
    await apply(part());
    expect(await json()).toContain('"teddy"');
    expect(textOf(codex)).toContain(
      '\n\n[mcp_servers.teddy]\ncommand = "teddy"\nargs = ["mcp"]\ntool_timeout_sec = 900\n',
    );
    expect(await stateOf(part())).toBe('set-up');
    expect(await part().planSetUp()).toEqual([]);
    await remove(part());
    expect(await json()).toBe(before);
    expect(textOf(codex)).toBe('model = "o3"\n[mcp_servers.x]\ncommand = "x"');
  });

  test('leaves files that it has made, unless somebody has added to them', async () => {
    await apply(part());
    codex = Buffer.from(`${textOf(codex)}[mcp_servers.y]\ncommand = "y"\n`);
    await remove(part());
    expect(await json()).toBeNull();
    expect(textOf(codex)).toBe('[mcp_servers.y]\ncommand = "y"\n');
  });

  test('that was noted, but not written any more, leaves nothing beside the file once it is removed', async () => {
    const part = mcpPart(project, tools);
    await apply(part);
    [codex, isCleared] = [null, false];
    await remove(part);
    expect(isCleared).toBe(true);
    expect(await part.planRemoval()).toEqual([]);
  });

  test('is removed without a record from the project’s file, as in a clone, but not from the user’s own', async () => {
    await apply(part());
    Object.assign(project.setup, memoryRecords());
    await remove(part());
    expect(await json()).toBeNull();
    expect(textOf(codex)).toContain('[mcp_servers.teddy]');
  });

  test('that does not run teddy is damage; an entry with another path is the user’s choice', async () => {
    await project.write({ '.mcp.json': '{"mcpServers":{"teddy":{"command":"/opt/teddy","args":["mcp"]}}}' });
    expect(await stateOf(part())).toBe('set-up');
    await project.write({ '.mcp.json': '{"mcpServers":{"teddy":{"command":"gone"}}}' });
    expect(await examineParts([part()])).toEqual({
      found: [
        {
          kind: 'setup',
          thing: 'mcp',
          meaning: '.mcp.json has a server `teddy` that does not run `teddy mcp`.',
          todo: 'Run `teddy init --only mcp`.',
        },
      ],
      seen: 'setup',
    });
    await apply(part());
    expect(JSON.parse((await json()) ?? '')).toEqual({ mcpServers: { teddy: { command: 'teddy', args: ['mcp'] } } });
  });

  test('has no place where a directory is, which is no finding, and is refused there', async () => {
    await project.write({ '.mcp.json/x': '' });
    expect(await examineParts([part()])).toEqual({ found: [], seen: null });
    expect(await part().planRemoval()).toEqual([]);
    expect(await apply(part())).toEqual(['FILES_IN_THE_WAY']);
  });

  test.each(['{ "mcpServers": ', '[]', '{"mcpServers": 1}'])('refuses %s, and changes nothing', async (text) => {
    await project.write({ '.mcp.json': text });
    expect(await apply(part())).toEqual(['FILES_IN_THE_WAY']);
    expect(await json()).toBe(text);
    expect(codex).toBeNull();
  });
});

describe('the skill', () => {
  const part = () => skillPart(project, tools);
  const skill = '.claude/skills/teddy/SKILL.md';

  test('comes with a line in the guide that is there, and both go again', async () => {
    await project.write({ 'CLAUDE.md': '# Guide' });
    await apply(part());
    expect(await project.read(skill)).toBe('# teddy\n');
    expect(await project.read('CLAUDE.md')).toMatch(/^# Guide\n\nEarlier work .* <!-- teddy init -->\n$/);
    expect(await part().planSetUp()).toEqual([]);
    await remove(part());
    expect(await project.read(skill)).toBeNull();
    expect(await project.read('CLAUDE.md')).toBe('# Guide');
  });

  test('makes no guide without a yes; what somebody has changed stays, and only the line goes', async () => {
    await apply(part());
    expect(await project.read('AGENTS.md')).toBeNull();
    expect(stepsOf(await part().planSetUp())).toEqual([
      'Tell agents about the recorded sessions in a line of AGENTS.md',
    ]);
    await apply(part(), false, () => true);
    await project.write({ [skill]: '# mine\n', 'AGENTS.md': `# Mine\n\n${await project.read('AGENTS.md')}Bye.\n` });
    expect(await stateOf(part())).toBe('set-up');
    expect(await remove(part())).toEqual([`${skill} stays, because it has been changed since.`]);
    expect(await project.read(skill)).toBe('# mine\n');
    expect(await project.read('AGENTS.md')).toBe('# Mine\nBye.\n');
  });

  test('is replaced by a new version only if nobody has changed it', async () => {
    await apply(part());
    packaged.set('hooks/agents/skill/SKILL.md', '# teddy 2\n');
    await apply(part());
    expect(await project.read(skill)).toBe('# teddy 2\n');
    await project.write({ [skill]: '# mine\n' });
    packaged.set('hooks/agents/skill/SKILL.md', '# teddy 3\n');
    await apply(part());
    expect(await project.read(skill)).toBe('# mine\n');
  });
});

describe('the check in CI', () => {
  const part = () => ciPart(project, tools);
  const at = (url: string) => project.configuration.set('remote.origin.url', url);
  const [workflow, comment] = ['.github/workflows/teddy.yml', '.github/workflows/teddy-comment.yml'];

  test.each([
    ['git@github.com:a/b.git', 'missing'],
    ['https://user@github.example.com/a/b', 'missing'],
    ['ssh://git@gitlab.com:22/a/b.git', 'missing'],
    ['../mygithub.com', 'not-applicable'],
    ['https://example.com/github.com/x', 'not-applicable'],
  ])('for %s is %s', async (url, state) => {
    at(url);
    expect(await stateOf(part())).toBe(state);
  });

  test('has all files of the forge, and names what is left to do', async () => {
    expect((await part().look()).why).toContain('no remote `origin`');
    at('git@github.com:a/b.git');
    expect(await apply(part())).toEqual(
      [workflow, comment].map((path) => `Before you push, replace the placeholder in ${path}:2.`),
    );
    expect(await project.read(comment)).toBe('on: workflow_run\nuses: example/teddy@0\n');
    await remove(part());
    expect([await project.read(workflow), await project.read(comment)]).toEqual([null, null]);
    expect(await part().planRemoval()).toEqual([]);
  });

  test('on GitLab, it makes .gitlab-ci.yml only if there is none, and otherwise says what to add', async () => {
    at('git@gitlab.com:a/b.git');
    const placeholder = 'Before you push, replace the placeholder in .gitlab/teddy.yml:2.';
    const lines = ['include:', '  - local: .gitlab/teddy.yml'];
    expect(await apply(part())).toEqual([placeholder]);
    expect(await project.read('.gitlab-ci.yml')).toBe(`${lines.join('\n')}\n`);
    expect([await stateOf(part()), await part().planSetUp()]).toEqual(['set-up', []]);
    await remove(part());
    expect([await project.read('.gitlab/teddy.yml'), await project.read('.gitlab-ci.yml')]).toEqual([null, null]);
    await project.write({ '.gitlab-ci.yml': 'test:\n  script: make\n' });
    expect(await apply(part())).toEqual([placeholder, 'Add these lines to .gitlab-ci.yml:', ...lines]);
    expect([await stateOf(part()), await part().planSetUp()]).toEqual(['set-up', []]);
    await remove(part());
    expect([await project.read('.gitlab/teddy.yml'), await stateOf(part())]).toEqual([null, 'missing']);
    expect(await project.read('.gitlab-ci.yml')).toBe('test:\n  script: make\n');
  });

  test('on GitLab, its .gitlab-ci.yml stays when somebody has added to it', async () => {
    at('git@gitlab.com:a/b.git');
    await apply(part());
    await project.write({ '.gitlab-ci.yml': `${await project.read('.gitlab-ci.yml')}test:\n  script: make\n` });
    expect(await part().planSetUp()).toEqual([]);
    expect(await remove(part())).toEqual(['.gitlab-ci.yml stays, because it has been changed since.']);
  });

  test('is damaged without one of its files, and completed; what the user has edited stays', async () => {
    at('git@github.com:a/b.git');
    await project.write({ [workflow]: 'edited\n' });
    expect((await examineParts([part()])).found).toMatchObject([
      { thing: 'ci', meaning: 'Some of its files are missing.' },
    ]);
    await apply(part());
    expect(await project.read(comment)).toBe('on: workflow_run\nuses: example/teddy@0\n');
    expect(await project.read(workflow)).toBe('edited\n');
    expect(await examineParts([part()])).toEqual({ found: [], seen: 'setup' });
  });

  test('that fails at its second file is completed by doing it again, and can be removed after either', async () => {
    at('git@github.com:a/b.git');
    const files = project.filesOf('');
    let isFull = true;
    project.filesOf = () => ({
      ...files,
      async install(path: RepoPath, bytes: Uint8Array) {
        if (isFull && path === comment) throw new TeddyError('DISK_FULL', 'The disk is full.');
        await files.install(path, bytes);
      },
    });
    expect(await apply(part())).toEqual(['DISK_FULL']);
    expect(await stateOf(part())).toBe('partly');
    isFull = false;
    await apply(part());
    expect(await stateOf(part())).toBe('set-up');
    await remove(part());
    expect([await project.read(workflow), await project.read(comment)]).toEqual([null, null]);
  });
});

test('a part that fails does not stop the others, and parts that nobody set up are no findings', async () => {
  const parts = [mcpPart(project, tools), skillPart(project, tools), ciPart(project, tools)];
  expect(await examineParts(parts)).toEqual({ found: [], seen: null });
  await project.write({ '.mcp.json': '{' });
  expect(await examineParts(parts)).toEqual({ found: [], seen: null });
  const planned = await planParts(parts, false);
  expect(planned.map(({ state, error }) => [state, error?.code])).toEqual([
    ['missing', 'FILES_IN_THE_WAY'],
    ['missing', undefined],
    ['not-applicable', undefined],
  ]);
});

test('parts are chosen by their names', () => {
  const parts = [mcpPart(project, tools), skillPart(project, tools)];
  expect(chooseParts(parts, undefined)).toEqual(parts);
  expect(chooseParts(parts, 'skill, ci').map(({ name }) => name)).toEqual(['skill']);
  expect(() => chooseParts(parts, 'skil')).toThrow(
    expect.objectContaining({
      code: 'USAGE',
      hint: expect.stringContaining('Is it skill? The parts are global, model'),
    }),
  );
});
