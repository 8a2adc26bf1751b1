/** The forms of lines that name their parents, as Claude Code and Qwen Code write them, and the way to distinguish the two. */
import { asText, fieldsOf } from '../conversation/records/import-values.ts';

type Fields = Record<string, unknown>;

export function isTreeLine(line: Fields): boolean {
  const type = asText(line['type']);
  if (type === undefined) return false;
  if (type === 'summary') return 'leafUuid' in line;
  if (type === 'file-history-snapshot') return 'messageId' in line;
  if (['user', 'assistant', 'system'].includes(type))
    return 'uuid' in line && ('sessionId' in line || 'parentUuid' in line);
  return 'sessionId' in line && !('payload' in line);
}

/** Only Qwen Code writes lines like this. */
export function isQwenLine({ message, subtype }: Fields): boolean {
  return Array.isArray(fieldsOf(message)['parts']) || subtype === 'ui_telemetry' || subtype === 'attribution_snapshot';
}

/** Returns true if a folder with this name may contain logs for `directory`. A long name is cut and ends with a hash. */
export function isProjectOf(name: string, directory: string): boolean {
  const encoded = directory.replaceAll(/[^A-Za-z0-9]/g, '-');
  return name.startsWith(encoded) || (encoded.length > 200 && name.startsWith(encoded.slice(0, 200)));
}
