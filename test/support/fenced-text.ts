/** Reads fenced blocks back, to compare them with the rendered text. */
import type { LogSection } from '../../src/session/context/context-log-sections.ts';

const noFinalNewline = '\\ No newline at end of file\n';

/** The exact text that `renderFenced` was given, or null when `block` is not one of its blocks. */
export function parseFenced(block: string): string | null {
  const fence = /^`{3,}/.exec(block)?.[0];
  const start = block.indexOf('\n') + 1;
  if (fence === undefined || start === 0) return null;
  const complete = !block.endsWith(`\n${fence}\n${noFinalNewline}`);
  const tail = complete ? `${fence}\n` : `\n${fence}\n${noFinalNewline}`;
  const end = block.length - tail.length;
  if (!block.endsWith(tail) || end < start) return null;
  const text = block.slice(start, end);
  return complete && text !== '' && !text.endsWith('\n') ? null : text;
}

/** The exact text of a shown file, or of the memos; null if the section shows none. */
export function sectionText({ name, provenance, body }: LogSection): string | null {
  return provenance.kind === 'shown' && (name === 'file' || name === 'memos') ? parseFenced(body) : null;
}
