/** A contributor's additions, by the row in the checklists of `src/README.md` that describes each. */
import type { Change } from './grown-source.ts';

const eighth = `
import { join } from 'node:path';
import type { Agent } from '../agent.ts';

export const eighth: Agent = {
  title: 'The Eighth',
  program: 'eighth',
  disclosedAs: 'Eighth',
  traces: { version: '1.0.0', variables: ['EIGHTH_AGENT'], programs: ['eighth'] },
  home: { directory: '.eighth' },
  hooks: { file: 'settings.json', events: { Begin: 'turn-begins', Over: 'turn-ends' }, entry: { timeout: 5 } },
  logs: { root: (home) => join(home, 'logs'), depth: 0 },
  log: async () => (await import('./log.ts')).eighthLog,
};
`;

const eighthLog = `
import { addToHead } from '../../conversation/logs/agent-reader.ts';
import { recordsOf } from '../../conversation/logs/agent-records.ts';
import { asText, hasText } from '../../conversation/records/import-values.ts';
import type { AgentLogFormat } from '../agent.ts';

export const eighthLog: AgentLogFormat = {
  isRecord: ({ who, eighth }) => hasText(who) && eighth === true,
  open: (context) => ({
    read({ who, text, at, session, cwd }, place) {
      context.branches.begin({});
      addToHead(context.head, { id: session, cwd, startedAt: at });
      const records = recordsOf(context, place, at);
      if (who === 'person') records.message(asText(text) ?? '');
      else records.say(String(place.line), asText(text) ?? '');
      context.branches.end();
      return who === 'person' || who === 'model';
    },
  }),
};
`;

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

const frobnicate = `
import { TeddyError } from '../../errors.ts';
import { option, parameter, TeddyCommand, type Terminal, usage } from '../teddy-command.ts';

export class FrobnicateCommand extends TeddyCommand {
  static override usage = usage({ category: 'Look', description: 'Frobnicate a file.', examples: [['One', '$0 frobnicate a']] });

  file = parameter('file', { completes: ['files'] });
  often = option('--often', { value: '<n>', describe: 'So many times.' });

  protected async run(terminal: Terminal): Promise<number> {
    if (this.file === 'bad') throw new TeddyError('NOT_FROBNICATED', 'It does not frobnicate.', 'Take another file.');
    terminal.print(\`\${this.file} \${this.often ?? 'once'}\\n\`);
    return 0;
  }
}
`;

/** The files that each addition changes, below `src`. */
export const additions = {
  'capture another agent': {
    'agents/eighth/eighth.ts': eighth,
    'agents/eighth/log.ts': eighthLog,
    'agents/agents.ts': [
      ['import { gemini }', "import { eighth } from './eighth/eighth.ts';\nimport { gemini }"],
      ['pi, antigravity }', 'pi, antigravity, eighth }'],
    ],
  },
  'add an action': {
    'plan/actions/greet.ts': greet,
    'plan/actions/actions.ts': [
      [
        "import { invoke, invokeHandler } from './invoke.ts';",
        "import { greet, greetHandler } from './greet.ts';\nimport { invoke, invokeHandler } from './invoke.ts';",
      ],
      ['INVOKE: invokeHandler', 'INVOKE: invokeHandler,\n  GREET: greetHandler'],
      ['prompt, invoke] as const', 'prompt, invoke, greet] as const'],
    ],
  },
  'add a command': {
    'cli/commands/frobnicate.ts': frobnicate,
    'cli/run-cli.ts': [
      [
        '  status: async () =>',
        "  frobnicate: async () => (await import('./commands/frobnicate.ts')).FrobnicateCommand,\n  status: async () =>",
      ],
    ],
  },
  'add a setting': {
    'session/settings/settings.ts': [
      [
        "  { name: 'temperature',",
        "  { name: 'frobs', takes: ['few', 'many'], purpose: 'how many frobs', fallback: 'few' },\n  { name: 'temperature',",
      ],
    ],
  },
  'name another endpoint as a provider': {
    'session/settings/presets.ts': [
      [
        "  { name: 'ollama',",
        "  { name: 'frobs', wire: 'openai', url: 'http://127.0.0.1:9/v1', keyVariable: null, urlVariable: null },\n  { name: 'ollama',",
      ],
    ],
  },
  'add an error': { 'errors.ts': [['  NOTHING_TO_IMPORT: 1,', '  NOTHING_TO_IMPORT: 1,\n  NOT_FROBNICATED: 4,']] },
} satisfies Record<string, Record<string, Change>>;
