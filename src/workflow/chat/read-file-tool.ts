/** `read_file`: the lines of a text file, masked. */
import type { ReadFileCall } from '../../conversation/chat-tools.ts';
import { openChatFiles, reachPath, toFileText, type CallPlace } from './chat-files.ts';
import type { ToolOutcome } from './chat.ts';
import { toFailure } from './tool-failure.ts';

const maxLines = 2_000;
const maxBytes = 256 * 1024;

export async function readFile(place: CallPlace, call: ReadFileCall): Promise<ToolOutcome> {
  const reached = await reachPath(place, await openChatFiles(place), call.path);
  if ('problem' in reached) return toFailure(`read_file ${call.path}: ${reached.problem}.`);
  const { path, target } = reached;
  if (target.kind === 'directory')
    return toFailure(`read_file ${path}: it is a directory; list_files shows what is in it.`);
  const text = toFileText(target.bytes);
  if (text === null) return toFailure(`read_file ${path}: it is a binary file of ${target.bytes.length} bytes.`);
  const masked = (await place.project.masker.mask(text, path)).text;
  return takeLines(masked, { ...call, path });
}

function takeLines(text: string, { path, fromLine, toLine }: ReadFileCall): ToolOutcome {
  if (text === '') return { output: `(${path} is empty)`, isError: false };
  const lines = text.split(/(?<=\n)/);
  const from = fromLine ?? 1;
  if (from > lines.length) return toFailure(`read_file ${path}: it has ${lines.length} lines.`);
  const wanted = lines.slice(from - 1, Math.min(toLine ?? lines.length, from - 1 + maxLines));
  const kept = takeBytes(wanted);
  const last = from - 1 + kept.length;
  const note = toNote(kept.isCut, { from, last, wanted: toLine ?? lines.length, count: lines.length });
  const shown = kept.text;
  return { output: note === '' || shown.endsWith('\n') ? `${shown}${note}` : `${shown}\n${note}`, isError: false };
}

/** Whole lines, but for a first one that is too long by itself. */
function takeBytes(lines: string[]): { text: string; length: number; isCut: boolean } {
  let bytes = 0;
  let length = 0;
  for (const line of lines) {
    bytes += Buffer.byteLength(line);
    if (bytes > maxBytes) break;
    length += 1;
  }
  const [first = ''] = lines;
  if (length > 0) return { text: lines.slice(0, length).join(''), length, isCut: false };
  return { text: new TextDecoder().decode(Buffer.from(first).subarray(0, maxBytes)), length: 1, isCut: true };
}

/** Empty when the lines that were asked for are all there. */
function toNote(
  isCut: boolean,
  { from, last, wanted, count }: { from: number; last: number; wanted: number; count: number },
): string {
  const cut = isCut ? `[line ${from} is cut: it has more than ${maxBytes / 1024} KiB]\n` : '';
  if (last >= Math.min(wanted, count)) return cut;
  return `${cut}[lines ${from} to ${last} of ${count}; read on with from_line ${last + 1}]\n`;
}
