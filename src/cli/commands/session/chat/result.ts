/** What came of a call, in a few words. */
import type { ShownCall, ToolOutcome } from '../../../../workflow/chat/chat.ts';
import { formatCount } from '../../../../session/format-count.ts';
import { parseObject } from '../../../../session/parse-object.ts';
import { toVisible } from '../../../terminal.ts';

const reasons = {
  denied: 'denied',
  instructed: 'not run; the model goes by what you say',
  aborted: 'stopped',
  recovered: 'interrupted',
};

export function describeResult({ name }: Pick<ShownCall, 'name'>, { output, isError, reason }: ToolOutcome): string {
  if (reason !== undefined) return reasons[reason];
  if (name === 'WritePlanTool_begin') return describeWritten(output, isError);
  const text = toVisible(output.trim());
  const [first = ''] = text.split('\n');
  if (isError) return first === '' ? 'failed' : `failed: ${cut(first)}`;
  // What a command has printed was shown while it ran.
  if (name === 'run_command') return cut(first);
  if (text === '') return 'nothing';
  const lines = text.split('\n').length;
  return lines === 1 ? cut(first) : `${formatCount(lines)} lines`;
}

/** The model is told in JSON. */
function describeWritten(output: string, isError: boolean): string {
  const { written_path: path, commit, error } = parseObject(output) ?? {};
  if (typeof path === 'string' && typeof commit === 'string')
    return `${cut(toVisible(path))} is written, committed as ${commit.slice(0, 10)}`;
  if (typeof error === 'string') return `failed: ${cut(toVisible(error).split('\n')[0] ?? '')}`;
  if (!isError) return 'done';
  const [first = ''] = toVisible(output.trim()).split('\n');
  return first === '' ? 'failed' : `failed: ${cut(first)}`;
}

const maxShown = 160;

function cut(text: string): string {
  const characters = [...text];
  return characters.length <= maxShown ? text : `${characters.slice(0, maxShown).join('')}...`;
}
