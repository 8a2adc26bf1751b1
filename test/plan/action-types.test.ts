/** An action type is one file: a throwaway one is added to a copy of the source, and everything that deals in actions has it. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect } from 'vitest';
import type * as actions from '../../src/plan/actions/actions.ts';
import type { ActionWorld } from '../../src/plan/actions/world.ts';
import type { parsePlan } from '../../src/plan/parse/parse.ts';
import type { renderProtocol } from '../../src/plan/protocol.ts';
import type { reportFields } from '../../src/plan/report/report.ts';
import { quickTest as test, slowTest } from '../support/slow-test.ts';

const root = new URL('../..', import.meta.url).pathname;

/** The whole of the new type. */
const greet = `
import type { AskEffect } from '../effects/effect.ts';
import { described, refuse, type ActionBase, type ActionHandler, type ActionType } from './action.ts';
import { description } from './spec.ts';

export interface GreetAction extends ActionBase {
  type: 'GREET';
  text: string;
}

export const greet: ActionType<GreetAction> = {
  type: 'GREET',
  purpose: 'says hello',
  parameters: [description],
  body: 'markdown',
  bodyExample: 'Hello!',
  read(from) {
    const text = from.body.markdown();
    return text === null ? null : { text };
  },
  target: ({ text }) => text,
};

export const greetHandler: ActionHandler<GreetAction, AskEffect> = {
  params: (action) => ({ text: action.text, ...described(action) }),
  check(action) {
    const { index, text } = action;
    return text === 'Bye' ? refuse(action, 'GREET: that is no greeting.', 'Say hello.') : { effect: { kind: 'ask', action: index, text } };
  },
  async perform({ text }, _effect, world) {
    await world.begin();
    return { status: 'SUCCESS', details: { answer: \`\${text} to you\` } };
  },
};
`;

interface Grown {
  parsePlan: typeof parsePlan;
  actions: typeof actions;
  renderProtocol: typeof renderProtocol;
  reportFields: typeof reportFields;
}

let dir: string;
let grown: Grown;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'teddy-action-'));
  await cp(join(root, 'src'), join(dir, 'src'), { recursive: true });
  for (const name of ['node_modules', 'package.json', 'tsconfig.json'])
    await symlink(join(root, name), join(dir, name));
  await writeFile(join(dir, 'src/plan/actions/greet.ts'), greet);
  const list = join(dir, 'src/plan/actions/actions.ts');
  const before = await readFile(list, 'utf8');
  const after = before
    .replace(
      "import { invoke, invokeHandler } from './invoke.ts';",
      "import { greet, greetHandler } from './greet.ts';\nimport { invoke, invokeHandler } from './invoke.ts';",
    )
    .replace('INVOKE: invokeHandler', 'INVOKE: invokeHandler,\n  GREET: greetHandler')
    .replace('prompt, invoke] as const', 'prompt, invoke, greet] as const');
  await writeFile(list, after);
  const entry = `
    export { parsePlan } from './src/plan/parse/parse.ts';
    export * as actions from './src/plan/actions/actions.ts';
    export { renderProtocol } from './src/plan/protocol.ts';
    export { reportFields } from './src/plan/report/report.ts';`;
  const outfile = join(dir, 'grown.mjs');
  const stdin = { contents: entry, resolveDir: dir, loader: 'ts' } as const;
  await build({
    stdin,
    bundle: true,
    format: 'esm',
    platform: 'node',
    outfile,
    packages: 'external',
    logLevel: 'error',
  });
  grown = (await import(pathToFileURL(outfile).href)) as Grown;
});
afterAll(() => rm(dir, { recursive: true }));

const planOf = (text: string) =>
  `# Greet\n\n- **Status:** Green\n\n## Rationale\nR.\n\n## Action Plan\n\n### GREET\n- **Description:** Be kind.\n\n${text}\n`;

test('two files make an action type: it is parsed, described, checked, performed and reported', async () => {
  const { plan, problems } = grown.parsePlan(planOf('Hello'));
  expect(problems).toEqual([]);
  const [action] = plan.actions;
  if (action === undefined) throw new Error('The plan has no action.');
  expect(action).toMatchObject({ type: 'GREET', text: 'Hello', description: 'Be kind.' });
  expect(grown.actions.describeAction(action)).toBe('GREET Hello');
  expect(grown.actions.toParams(action)).toEqual({ text: 'Hello', description: 'Be kind.' });
  const begun: string[] = [];
  const world = { begin: async () => void begun.push('begun') } as unknown as ActionWorld;
  const outcome = await grown.actions.toEffect(action, { inspect: async () => ({ kind: 'absent' }) });
  if (!('effect' in outcome)) throw new Error('It has no effect.');
  const performed = await grown.actions.perform(action, outcome.effect, world);
  expect([performed, begun]).toEqual([{ status: 'SUCCESS', details: { answer: 'Hello to you' } }, ['begun']]);
  expect(grown.renderProtocol({ canSearch: false })).toContain('### GREET\nIt says hello.');
  const log = { index: 1, action_type: 'GREET', params: {}, ...performed };
  const faults: string[] = [];
  grown.reportFields.read({ action_logs: [log] }, faults);
  expect(faults.filter((fault) => fault.includes('action_logs'))).toEqual([]);
});

test('what is wrong with one is said as of any other', async () => {
  const { plan } = grown.parsePlan(planOf('Bye'));
  const [action] = plan.actions;
  if (action === undefined) throw new Error('The plan has no action.');
  expect(await grown.actions.toEffect(action, { inspect: async () => ({ kind: 'absent' }) })).toMatchObject({
    problems: [{ action: 1, message: 'GREET: that is no greeting.' }],
  });
  expect(grown.parsePlan(planOf('')).problems).toMatchObject([{ message: 'GREET says nothing.', hint: 'Hello!' }]);
  expect(grown.parsePlan('# A\n\n## Action Plan\n\n### DELETE\n').problems[0]?.message).toContain('INVOKE, GREET');
});

slowTest('no other file has to change for the compiler either', async () => {
  const config = { extends: './tsconfig.json', include: ['src'] };
  await writeFile(join(dir, 'grown.json'), JSON.stringify(config));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  await promisify(execFile)(process.execPath, [tsc, '-p', join(dir, 'grown.json')], { cwd: dir });
});
