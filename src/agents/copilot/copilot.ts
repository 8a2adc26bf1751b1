/** Copilot CLI, by GitHub. */
import { join } from 'node:path';
import { asText, fieldsOf, hasText, parseJson } from '../../conversation/records/import-values.ts';
import type { Agent, AgentGate, HookMeaning } from '../agent.ts';

const events: Record<string, HookMeaning> = {
  sessionStart: 'other',
  userPromptSubmitted: 'turn-begins',
  agentStop: 'turn-ends',
  sessionEnd: 'session-ends',
};

/**
 * The hook that runs before a tool. It can refuse the plan of plan mode, but not answer the question about it, which
 * Copilot asks even after an approval.
 */
const planGate: AgentGate = {
  event: 'preToolUse',
  // In seconds; Esc ends it.
  entry: { timeoutSec: 3600 },
  async readCall({ sessionId, toolName, toolArgs }, { readText, locate }) {
    if (toolName !== 'exit_plan_mode' || !hasText(sessionId)) return null;
    const path = await locate(sessionId);
    if (path === null) return null;
    const planFile = join(path, '../plan.md');
    const { summary } = fieldsOf(typeof toolArgs === 'string' ? parseJson(toolArgs) : toolArgs);
    const plan = hasText(await readText(planFile)) ? { planFile } : { plan: asText(summary) };
    return { callId: null, path, ...plan };
  },
  answer: ({ isApproved, reason }) => ({
    permissionDecision: isApproved ? 'allow' : 'deny',
    permissionDecisionReason: reason,
  }),
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
    gate: planGate,
    async own({ command, hasGate }) {
      const toHook = (event: string, entry: object) => [{ type: 'command', bash: command(event), ...entry }];
      const hooks = Object.fromEntries(Object.keys(events).map((event) => [event, toHook(event, { timeoutSec: 10 })]));
      if (hasGate) hooks[planGate.event] = toHook('gate', planGate.entry);
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
