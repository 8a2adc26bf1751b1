/** Conflict markers as git leaves them: all three, in order, each at the beginning of a line. */
import type { Candidate, Verdict } from './candidate.ts';
import { findFences } from './fences.ts';
import { lineAround, locator } from './positions.ts';
import type { Finding } from './write.ts';

const marker = /^(?:<{7}(?=[ \r\n]|$)|={7}(?=\r?$)|>{7}(?=[ \r\n]|$))/gm;
const maxTold = 100;

export function checkConflicts({ kind, text, base }: Candidate): Verdict {
  const starts = findConflicts(text);
  if (starts.length === 0) return [];
  // A page about merging shows them.
  const shown = kind === 'markdown' ? findFences(text).filter(({ isClosed }) => isClosed) : [];
  const locate = locator(text);
  const findings: Finding[] = [];
  for (const start of starts) {
    if (findings.length === maxTold) break;
    const isShown = shown.some((fence) => fence.start < start && start < fence.end);
    if (isShown || base?.hasLine(lineAround(text, start))) continue;
    findings.push({ check: 'conflict-markers', message: 'A merge conflict is left unresolved.', ...locate(start) });
  }
  return findings;
}

/** Where each of them begins. */
function findConflicts(text: string): number[] {
  const starts: number[] = [];
  let start = -1;
  let isDivided = false;
  for (const { 0: found, index } of text.matchAll(marker)) {
    if (found.startsWith('<')) [start, isDivided] = [index, false];
    else if (start === -1) continue;
    else if (found.startsWith('=')) isDivided = true;
    else if (isDivided) {
      starts.push(start);
      start = -1;
    }
  }
  return starts;
}
