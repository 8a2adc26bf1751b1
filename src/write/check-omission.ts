/** Lines that stand for others: `// ... rest of the code unchanged`. They would replace what they stand for. */
import type { Candidate, Verdict } from './candidate.ts';
import { findOmission } from './omission-line.ts';
import { findFences, type Fence } from './fences.ts';
import { locator } from './positions.ts';
import type { Finding } from './write.ts';

/** Every line that is one has one of these. */
const candidate =
  /unchanged|existing|truncated|omitted|remain|previous|original|snip|brevity|as before|as above|\bsame\b|\brest\b|\bother\b|\bmore\b|\bkeep\b|implementation|continue/gi;
/** ... and begins as a comment or in brackets, or has dots. */
const shape = /^\s*(?:[/#;%*<{(["'[]|--|rem )|\.{3}|\u2026/i;
const maxTold = 100;
const maxLineLength = 300;

export function checkOmission({ kind, text, base }: Candidate): Verdict {
  const locate = locator(text);
  const findings: Finding[] = [];
  let fences: Fence[] | null = null;
  let next = 0;
  for (const { index } of text.matchAll(candidate)) {
    if (index < next) continue;
    const start = index === 0 ? 0 : text.lastIndexOf('\n', index - 1) + 1;
    const newline = text.indexOf('\n', index);
    const end = (next = newline === -1 ? text.length : newline);
    if (end - start > maxLineLength) continue;
    const line = text.slice(start, end);
    if (!shape.test(line)) continue;
    const found = findOmission(line, kind === 'code');
    if (found === null || base?.hasLine(line)) continue;
    // A page may show how such a line looks.
    if (kind === 'markdown' && isWithin((fences ??= findFences(text)), start)) continue;
    if (findings.length === maxTold) break;
    const message = `${JSON.stringify(found)} stands for lines that are left out; the whole content is needed.`;
    findings.push({ check: 'omission', message, ...locate(start + line.search(/\S/)) });
  }
  return findings;
}

function isWithin(fences: Fence[], offset: number): boolean {
  return fences.some(({ start, end }) => start < offset && offset < end);
}
