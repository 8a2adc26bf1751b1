/** Fences: those of a Markdown file are closed, and no other file begins with one. */
import type { Candidate, Verdict } from './candidate.ts';
import { findFences } from './fences.ts';
import { countNewlines } from './positions.ts';

const maxShownLine = 60;

export function checkFences({ kind, text, base }: Candidate): Verdict {
  if (kind === 'markdown') return findUnclosed(text, base?.text() ?? '');
  return kind === 'code'
    ? findLeadingFence(text, base?.hasLine(text.trimStart().split('\n', 1)[0] ?? '') ?? false)
    : null;
}

function findUnclosed(text: string, before: string): Verdict {
  const open = findFences(text).find(({ isClosed }) => !isClosed);
  if (open === undefined) return [];
  const [line = ''] = text.slice(open.start, open.start + 1000).split('\n', 1);
  // The target may have left it open as well.
  if (findFences(before).some((fence) => !fence.isClosed && before.startsWith(line, fence.start))) return [];
  return [
    {
      check: 'code-fences',
      message: `The code fence ${JSON.stringify(line.trim().slice(0, maxShownLine))} is not closed.`,
      line: countNewlines(text.slice(0, open.start)) + 1,
      column: 1,
    },
  ];
}

function findLeadingFence(text: string, isKnown: boolean): Verdict {
  const found = /^[ \t]*(?:`{3,}[\w+#.-]*|~{3,}[\w+#.-]*)[ \t]*\r?$/m.exec(text);
  if (found === null || isKnown || text.slice(0, found.index).trim() !== '') return [];
  const start = found.index + found[0].search(/[`~]/);
  return [
    {
      check: 'code-fences',
      message: 'The content begins with a code fence, which is no part of such a file.',
      line: countNewlines(text.slice(0, start)) + 1,
      column: 1,
    },
  ];
}
