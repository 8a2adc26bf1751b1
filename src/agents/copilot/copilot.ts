/** Copilot CLI, by GitHub. */
import { join } from 'node:path';
import type { Agent, HookMeaning } from '../agent.ts';

const events: Record<string, HookMeaning> = {
  sessionStart: 'other',
  userPromptSubmitted: 'turn-begins',
  agentStop: 'turn-ends',
  sessionEnd: 'session-ends',
};

export const copilot: Agent = {
  title: 'Copilot CLI',
  program: 'copilot',
  disclosedAs: 'GitHub-Copilot',
  traces: {
    version: '1.0.102',
    variables: ['COPILOT_CLI'],
    programs: ['copilot'],
    scripts: ['/node_modules/@github/copilot/'],
  },
  home: { directory: '.copilot' },
  hooks: {
    file: 'hooks/teddy.json',
    events,
    async own({ command }) {
      const hook = { type: 'command', bash: command, timeoutSec: 10 };
      const hooks = Object.fromEntries(Object.keys(events).map((event) => [event, [hook]]));
      return `${JSON.stringify({ version: 1, hooks }, null, 2)}\n`;
    },
  },
  logs: {
    root: (home) => join(home, 'session-state'),
    depth: 1,
    isLog: (name) => name === 'events.jsonl',
    locate: (root, sessionId) => join(root, sessionId, 'events.jsonl'),
  },
  log: async () => (await import('./log.ts')).copilotLog,
};
