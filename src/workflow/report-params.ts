/** An action's parameters as the report shows them. */
import type { Action } from '../plan/plan.ts';
import type { ReportedParam } from '../plan/report.ts';

export function toParams(action: Action): Record<string, ReportedParam> {
  const description = action.description === null ? {} : { description: action.description };
  switch (action.type) {
    case 'CREATE':
      return { file_path: action.path, ...description, ...(action.overwrite ? { overwrite: true } : {}) };
    case 'EDIT':
      return { file_path: action.path, ...description, ...(action.matchAll ? { match_all: true } : {}) };
    case 'READ': {
      const resource = action.resource.kind === 'path' ? action.resource.path : action.resource.url;
      return { resource, ...description, ...(action.lines === null ? {} : { lines: action.lines }) };
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
    case 'CHAT_WITH_USER':
    case 'PROMPT':
      return { text: action.text };
    default:
      return { ...action.params };
  }
}
