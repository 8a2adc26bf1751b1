/** Claude Code, by Anthropic. */
import { join } from 'node:path';
import { fieldsOf, parseJson, asText } from '../../conversation/records/import-values.ts';
import type { Agent, AgentFiles, SubAgentLog, AgentGate } from '../agent.ts';
import { isProjectOf } from '../tree-lines.ts';

/** The hook that makes Claude Code wait when plan mode submits its plan. */
const planGate: AgentGate = {
  event: 'PreToolUse',
  matcher: 'ExitPlanMode',
  // Long, because the hook waits for the user; the agent's own question has no time limit at all.
  entry: { timeout: 3600 },
  readCall(payload) {
    const callId = asText(payload['tool_use_id']);
    const path = asText(payload['transcript_path']);
    // A sub-agent's plan does not belong to a turn of the session.
    const isPlan = payload['tool_name'] === 'ExitPlanMode' && payload['agent_id'] === undefined;
    if (!isPlan || callId === undefined || path === undefined) return null;
    const input = fieldsOf(payload['tool_input']);
    return { callId, path, plan: asText(input['plan']), planFile: asText(input['planFilePath']) };
  },
  answer: ({ isApproved, reason }, { tool_input: input }) => ({
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: isApproved ? 'allow' : 'deny',
      permissionDecisionReason: reason,
      // Without the call's own input, newer versions ask the user anyway.
      ...(isApproved ? { updatedInput: input } : {}),
    },
  }),
};

export const claudeCode: Agent = {
  title: 'Claude Code',
  program: 'claude',
  disclosedAs: 'Claude',
  attestedAs: 'claude',
  traces: {
    version: '2.1.330',
    variables: ['CLAUDECODE', 'CLAUDE_CODE_ENTRYPOINT', 'CLAUDE_CODE_SESSION_ID', 'CLAUDE_CODE_CHILD_SESSION'],
    programs: ['claude'],
    scripts: ['/node_modules/@anthropic-ai/claude-code/', '/node_modules/@anthropic-ai/claude-agent-sdk/'],
  },
  home: { directory: '.claude', variable: 'CLAUDE_CONFIG_DIR' },
  hooks: {
    file: 'settings.json',
    events: {
      SessionStart: 'other',
      UserPromptSubmit: 'turn-begins',
      Stop: 'turn-ends',
      StopFailure: 'turn-ends',
      SubagentStop: 'other',
      PreCompact: 'other',
      SessionEnd: 'session-ends',
    },
    entry: { timeout: 10 },
    gate: planGate,
    findProblem: async (file) =>
      file.get('disableAllHooks') === true
        ? `Claude Code runs no hooks: disableAllHooks is set in ${file.path}.`
        : null,
  },
  logs: {
    root: (home) => join(home, 'projects'),
    depth: 1,
    folder: { above: 1, mayHold: isProjectOf },
    subAgents: listSubAgents,
  },
  log: async () => (await import('./log.ts')).claudeLog,
  openWith: {
    uuid: 4,
    toPath: (cwd, { id }) => join('projects', toProjectName(cwd), `${id}.jsonl`),
    readProvider: async () => 'anthropic',
    resume: (id) => `claude --resume ${id}`,
    render: async () => (await import('./session.ts')).renderClaudeSession,
  },
};

const maxProjectLength = 200;

/** Follows the agent's own rule: a hash distinguishes long folder names that begin alike. */
export function toProjectName(cwd: string): string {
  const name = cwd.replace(/[^a-zA-Z0-9]/g, '-');
  if (name.length <= maxProjectLength) return name;
  let hash = 0;
  for (let at = 0; at < cwd.length; at += 1) hash = ((hash << 5) - hash + cwd.charCodeAt(at)) | 0;
  return `${name.slice(0, maxProjectLength)}-${Math.abs(hash).toString(36)}`;
}

/** Lists the logs next to the session's: `<session>/subagents/agent-<id>.jsonl`, each with a `.meta.json`. */
async function listSubAgents(path: string, files: AgentFiles): Promise<SubAgentLog[]> {
  const paths = await files.listLogs(join(path.replace(/\.jsonl$/, ''), 'subagents'));
  return Promise.all(
    paths.map(async (one) => {
      const meta = fieldsOf(parseJson(await files.readText(one.replace(/\.jsonl$/, '.meta.json'))));
      const text = (key: string) => (typeof meta[key] === 'string' ? meta[key] : null);
      return {
        path: one,
        callId: text('toolUseId'),
        description: [text('agentType'), text('description')].filter(Boolean).join(': '),
      };
    }),
  );
}
