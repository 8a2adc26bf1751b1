/** Qwen Code, whose lines have Claude Code's form, and whose messages have Gemini CLI's. */
import { join } from 'node:path';
import type { Agent } from '../agent.ts';
import { isProjectOf } from '../tree-lines.ts';

export const qwen: Agent = {
  title: 'Qwen Code',
  program: 'qwen',
  disclosedAs: 'Qwen',
  traces: {
    version: '0.15.10',
    variables: ['QWEN_CODE'],
    programs: ['qwen'],
    scripts: ['/node_modules/@qwen-code/qwen-code/'],
  },
  home: { directory: '.qwen' },
  hooks: {
    file: 'settings.json',
    events: { UserPromptSubmit: 'turn-begins', Stop: 'turn-ends' },
    entry: {},
  },
  logs: { root: (home) => join(home, 'projects'), depth: 2, folder: { above: 2, mayHold: isProjectOf } },
  log: async () => (await import('./log.ts')).qwenLog,
};
