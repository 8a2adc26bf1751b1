/** A call of the model's, as a person sees it before it is done. */
import { parseCall, type ParsedCall } from '../../conversation/chat-tools.ts';
import type { ModelToolCall } from '../../ports/model.ts';
import type { Project } from '../../ports/project.ts';
import { toLabel } from '../../session/entry.ts';
import { maskString } from '../line/mask-text.ts';
import type { ShownCall } from './chat.ts';

const maxNameLength = 60;
const maxTextLength = 100;

/** A call that cannot be understood needs no approval: nothing is done, and its result says why. */
export async function toShownCall(project: Project, call: ModelToolCall): Promise<ShownCall> {
  const { id } = call;
  const parsed = parseCall(call);
  const masked = (text: string) => maskString(project.masker, text);
  const name = toLabel(await masked(call.name), maxNameLength);
  if ('problem' in parsed) return { id, name, summary: `${name} (not understood)`, detail: null, needsApproval: false };
  const { text, after } = describeCall(parsed);
  const [whole, rest] = [await masked(text), await masked(after)];
  const line = toLine(whole);
  return {
    id,
    name,
    summary: [name, line, toLine(rest)].filter((part) => part !== '').join(' '),
    detail: line === whole.trimEnd() ? null : whole,
    needsApproval: parsed.name === 'run_command' || parsed.name === 'WritePlanTool_begin',
  };
}

function toLine(text: string): string {
  return toLabel(text, maxTextLength);
}

/** `text` is what matters; `after` comes behind it however long it is. */
function describeCall(call: ParsedCall): { text: string; after: string } {
  switch (call.name) {
    case 'read_file':
      return { text: call.path, after: describeLines(call) };
    case 'list_files':
      return { text: [call.path ?? '', call.pattern ?? ''].filter((part) => part !== '').join(' '), after: '' };
    case 'search_text':
      return { text: JSON.stringify(call.query), after: call.path === null ? '' : `in ${call.path}` };
    case 'run_command':
      return { text: call.command, after: describePlace(call) };
    case 'WritePlanTool_begin':
      return { text: `${call.operation} ${call.target}`, after: `(${call.intent})` };
  }
}

function describeLines({ fromLine, toLine: last }: { fromLine: number | null; toLine: number | null }): string {
  if (fromLine === null && last === null) return '';
  return `lines ${fromLine ?? 1}-${last ?? ''}`;
}

function describePlace({ cwd, timeoutMs }: { cwd: string | null; timeoutMs: number | null }): string {
  const parts = [
    ...(cwd === null ? [] : [`in ${cwd}`]),
    ...(timeoutMs === null ? [] : [`for at most ${timeoutMs / 1000} s`]),
  ];
  return parts.length === 0 ? '' : `(${parts.join(', ')})`;
}
