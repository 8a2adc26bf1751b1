/** Calling a conversation's tools on a line, like the model. */
import { parseCall } from '../../src/conversation/prompts/chat-tools.ts';
import type { Project } from '../../src/ports/project.ts';
import type { TurnName } from '../../src/names.ts';
import { prepareLine } from '../../src/workflow/line/prepare.ts';
import type { CallContext } from '../../src/workflow/chat/files.ts';
import { performCall } from '../../src/workflow/chat/perform-call.ts';
import type { ToolOutcome } from '../../src/workflow/chat/chat.ts';

/** `selector`: the line's, if HEAD is not on it. */
export async function callTool(
  project: Project,
  name: string,
  values: object,
  { selector, ...more }: Partial<CallContext> & { selector?: string } = {},
): Promise<ToolOutcome> {
  const call = parseCall({ id: 'call_1', name, arguments: JSON.stringify(values) });
  if ('problem' in call) throw new Error(call.problem);
  if (call.name === 'WritePlanTool_begin' || call.name === 'edit_file') throw new Error('This writes a file.');
  const line = await prepareLine(project, selector);
  const signal = new AbortController().signal;
  const place = { turn: '01' as TurnName };
  return performCall({ project, line, place, signal, onOutput: () => undefined, ...more }, call);
}
