/** An action's parameters as the report shows them. */
import type { Action } from './plan.ts';
import type { ReportedParam } from './report.ts';

export function toParams(action: Action): Record<string, ReportedParam> {
  const description = action.description === null ? {} : { description: action.description };
  switch (action.type) {
    case 'CREATE':
      return { file_path: action.path, ...description, ...(action.overwrite ? { overwrite: true } : {}) };
    case 'EDIT':
      return { file_path: action.path, ...description, ...(action.matchAll ? { match_all: true } : {}) };
    case 'READ':
    case 'PRUNE': {
      const resource = action.resource.kind === 'path' ? action.resource.path : action.resource.url;
      const lines = action.type === 'READ' && action.lines !== null ? { lines: action.lines } : {};
      return { resource, ...description, ...lines };
    }
    case 'EXECUTE':
      return {
        command: action.script.replace(/\n$/, ''),
        cwd: action.cwd,
        ...description,
        ...(action.expectedOutcome === null ? {} : { expected_outcome: action.expectedOutcome }),
        ...(Object.keys(action.env).length === 0 ? {} : { env: action.env }),
        ...(action.timeoutMs === null ? {} : { timeout_s: action.timeoutMs / 1000 }),
        ...(action.allowFailure ? { allow_failure: true } : {}),
      };
    case 'INVOKE':
      return { agent: action.agent, ...description, text: action.text };
    case 'CHAT_WITH_USER':
    case 'PROMPT':
      return { text: action.text };
    case 'RESEARCH':
      return { queries: action.queries.join('\n'), ...description };
  }
}
