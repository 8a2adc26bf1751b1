/** An action in one line, for labels, prompts and lists. */
import type { Action } from './plan.ts';

export function describeAction(action: Action): string {
  return `${action.type} ${describeTarget(action)}`.trimEnd();
}

function describeTarget(action: Action): string {
  switch (action.type) {
    case 'CREATE':
    case 'EDIT':
      return action.path;
    case 'READ':
    case 'PRUNE':
      return action.resource.kind === 'path' ? action.resource.path : action.resource.url;
    case 'EXECUTE':
      return toFirstLine(action.script);
    case 'INVOKE':
      return action.agent;
    case 'CHAT_WITH_USER':
    case 'PROMPT':
      return toFirstLine(action.text);
    case 'RESEARCH':
      return toFirstLine(action.queries.join('\n'));
  }
}

function toFirstLine(text: string): string {
  const lines = text.trim().split('\n');
  return lines.length > 1 ? `${lines[0]} ...` : (lines[0] ?? '');
}
