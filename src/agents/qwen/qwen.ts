/** Qwen Code, whose lines have Claude Code's form, and whose messages have Gemini CLI's. */
import { join } from 'node:path';
import { asText, fieldsOf } from '../../conversation/records/import-values.ts';
import type { Agent, AgentGate } from '../agent.ts';
import { isProjectOf } from '../tree-lines.ts';

/** The hook that runs before Qwen Code asks about the plan of its plan mode; it does not tell the call's ID. */
const planGate: AgentGate = {
  event: 'PermissionRequest',
  matcher: 'exit_plan_mode',
  // In milliseconds. Esc does not reach the hook, so that Qwen Code would otherwise be stuck for an hour.
  entry: { timeout: 600_000 },
  readCall(payload) {
    const path = asText(payload['transcript_path']);
    const plan = asText(fieldsOf(payload['tool_input'])['plan']);
    const isPlan = payload['tool_name'] === 'exit_plan_mode' && path !== undefined && plan !== undefined;
    return isPlan ? { callId: null, path, plan } : null;
  },
  answer: ({ isApproved, reason }) => ({
    hookSpecificOutput: {
      hookEventName: 'PermissionRequest',
      decision: isApproved ? { behavior: 'allow' } : { behavior: 'deny', message: reason },
    },
  }),
};

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
    gate: planGate,
  },
  logs: { root: (home) => join(home, 'projects'), depth: 2, folder: { above: 2, mayHold: isProjectOf } },
  log: async () => (await import('./log.ts')).qwenLog,
};
