/** Syntax of the whole target as it would be; what its parser had to say of it before is not blamed. */
import type { SyntaxChecker } from '../ports/project.ts';
import type { Candidate, Verdict } from './candidate.ts';
import { countNewlines, takeLines } from './positions.ts';
import type { Finding } from './write.ts';

/** Lines are those of the content; what is wrong in the part before it has none. */
export async function checkSyntax(candidate: Candidate, syntax: SyntaxChecker): Promise<Verdict> {
  if (candidate.kind === 'markdown') return null;
  const before = candidate.operation === 'append' ? (candidate.base?.text() ?? '') : '';
  const whole = before + candidate.text;
  const verdict = await syntax.check(candidate.path, whole);
  if (verdict === null) return candidate.kind === 'code' ? { skipped: 'no parser for files of this name' } : null;
  if ('skipped' in verdict || verdict.length === 0) return verdict;
  const known = await findKnown(candidate, syntax);
  const isNew = toKeys(verdict, whole);
  return verdict.filter((_, at) => !known.has(isNew[at] ?? '')).map((finding) => shiftUp(finding, before));
}

async function findKnown({ path, base }: Candidate, syntax: SyntaxChecker): Promise<Set<string>> {
  if (base === null || base.bytes.length === 0) return new Set();
  const verdict = await syntax.check(path, base.text());
  return new Set(verdict === null || 'skipped' in verdict ? [] : toKeys(verdict, base.text()));
}

/** The same message at the same text is the same error, wherever it has moved to. */
function toKeys(findings: Finding[], text: string): string[] {
  const lines = takeLines(text, new Set(findings.flatMap(({ line }) => line ?? [])));
  return findings.map(({ message, line }) => `${message}\n${lines.get(line ?? 0)?.trim() ?? ''}`);
}

function shiftUp({ line, column, ...finding }: Finding, before: string): Finding {
  if (before === '' || line === undefined) return { ...finding, ...(line && { line }), ...(column && { column }) };
  const above = countNewlines(before);
  if (line <= above) return { ...finding, message: `${finding.message} (line ${line} of the target)` };
  const onJoined = line === above + 1 ? before.length - (before.lastIndexOf('\n') + 1) : 0;
  return { ...finding, line: line - above, ...(column && { column: Math.max(1, column - onJoined) }) };
}
