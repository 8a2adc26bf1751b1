/** Imports an agent's complete log, from its first line to its last, with the reader that also follows the agent's logs. */
import type { AgentLogOptions, AgentLogReader } from './agent-log.ts';
import type { MeasuredImporter } from './import-context.ts';
import { openLines, type LineCutter, type SourceLine } from './import-lines.ts';
import type { ImportOptions, ImportUnit } from './importer.ts';
import { openJsonElements, type JsonPart } from './json-elements.ts';
import { openRewindFinder } from './rewinds.ts';

/** A document that an agent writes instead of separate lines. */
export interface AgentDocument {
  /** Returns true if a text's first 1 KiB shows that the text is a document of this agent. */
  isIts(head: string): boolean;
  /** Returns the log line that a part represents; null for a part that is not a line. */
  toLine(part: JsonPart): string | null;
}

const headChars = 1024;

export function openClosedLog(
  open: (options: AgentLogOptions) => AgentLogReader,
  options: ImportOptions,
  document?: AgentDocument,
): MeasuredImporter {
  const lines = new Map<string, number>();
  const reader = open({ ...options, closed: { lines } });
  const finder = openRewindFinder(lines);
  let head: string | null = '';
  let cutter = openLines();

  const take = (found: readonly SourceLine[]): ImportUnit[] => {
    found.forEach(reader.line);
    return reader.take().flatMap((step) => {
      if ('fork' in step) finder.fork(step.fork);
      else finder.add(step.unit);
      return 'fork' in step ? [] : [step.unit];
    });
  };
  /** The beginning shows whether the log is a document. */
  const begin = (): SourceLine[] => {
    const text = head ?? '';
    head = null;
    if (document?.isIts(text) === true) cutter = openDocument(document);
    return cutter.push(text);
  };
  return {
    push(text) {
      if (head === null || document === undefined) return take(cutter.push(text));
      head += text;
      return head.length < headChars ? [] : take(begin());
    },
    end() {
      const units = take([...begin(), ...cutter.end()]);
      reader.end();
      return [...units, ...take([])];
    },
    report: reader.report,
    title: () => reader.head().title,
    held: reader.held,
    rewinds: finder.find,
  };
}

/** Passes a document's parts on as lines, numbered by message. */
function openDocument({ toLine }: AgentDocument): LineCutter {
  const elements = openJsonElements();
  let number = 0;
  const toLines = (part: JsonPart): SourceLine[] => {
    if (part.kind === 'element' || part.kind === 'too-long') number += 1;
    const text = toLine(part);
    return text === null && part.kind !== 'too-long' ? [] : [{ number, text }];
  };
  return {
    push: (text) => elements.push(text).flatMap(toLines),
    end: () => elements.end().flatMap(toLines),
  };
}
