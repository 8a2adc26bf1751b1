/** What a writer says about the file, before or after it. */
import type { Candidate, Verdict } from './candidate.ts';
import { locator } from './positions.ts';
import type { Finding } from './write.ts';

const thing =
  '(?:file|code|content|contents|document|version|implementation|script|module|component|class|function|configuration|config|readme|page|program|snippet|result|output)';
const what = `(?:the|your|an?|my)\\b[^\\n]{0,80}\\b${thing}`;

/** In a file that is read by a program. None of them begins a line of one. */
const first = [
  new RegExp(`^(?:sure|certainly|of course|absolutely|great|okay|ok|alright)[,.!:]?\\s[^\\n]{0,120}[:.!]$`, 'i'),
  new RegExp(`^here(?:'s|\u2019s| is| are)\\s${what}[^\\n]{0,120}[:.]$`, 'i'),
  new RegExp(`^(?:below|the following) is\\s${what}[^\\n]{0,120}[:.]$`, 'i'),
  /^i(?:'ve|\u2019ve| have|'ll|\u2019ll| will)\s(?:now\s)?(?:created?|updated?|written?|write|added?|add|fixed|fix|made|make|implemented?)\s[^\n]{0,160}[:.!]$/i,
];
const last = [
  /^(?:please )?let me know (?:if|when|whether|what|how)\b/i,
  /^(?:i )?hope (?:this|that|it) helps\b/i,
  /^feel free to (?:ask|modify|adjust|change|let me|reach|customi[sz]e|adapt|tweak)\b/i,
  /^would you like me to\b/i,
  /^is there anything else\b/i,
  /^this (?:updated |complete |full |new )?(?:file|code|version|implementation|script|module|component) (?:now )?(?:should|will|does|adds|includes|provides|implements|contains|uses|handles|ensures)\b[^\n]*\.$/i,
];

/** In a text for people: only what nobody writes into one. */
const firstOfProse = [
  new RegExp(
    `^(?:(?:sure|certainly|of course|absolutely)[,.!:]? )?here(?:'s|\u2019s| is) (?:the|your) (?:\\w+ ){0,2}?(?:updated|complete|completed|full|revised|requested|corrected|new|final|entire) ${thing}\\b[^\\n]{0,80}:$`,
    'i',
  ),
  new RegExp(
    `^(?:sure|certainly|of course|absolutely)[,.!:]? here(?:'s|\u2019s| is) (?:the|your|an?)\\b[^\\n]{0,120}:$`,
    'i',
  ),
];
const lastOfProse = [
  /^(?:please )?let me know if you(?:'d|\u2019d| would) like (?:me to|any (?:changes|adjustments|modifications|further))\b/i,
  /^would you like me to (?:add|change|adjust|continue|expand|make|write|include)\b[^\n]*\?$/i,
];

export function checkChat({ kind, text, base }: Candidate): Verdict {
  const [firsts, lasts] = kind === 'code' ? [first, last] : [firstOfProse, lastOfProse];
  const locate = locator(text);
  const findings: Finding[] = [];
  const check = (at: { line: string; offset: number }, patterns: RegExp[], where: string) => {
    if (at.line.length > 400 || !patterns.some((pattern) => pattern.test(at.line)) || base?.hasLine(at.line)) return;
    const message = `The ${where} line speaks about the file; it is no part of it.`;
    findings.push({ check: 'chat', message, ...locate(at.offset) });
  };
  const end = lastLine(text);
  const begin = firstLine(text);
  check(begin, firsts, 'first');
  if (end.offset !== begin.offset) check(end, lasts, 'last');
  return findings;
}

/** Without white space around it. */
function firstLine(text: string): { line: string; offset: number } {
  const offset = Math.max(0, text.search(/\S/));
  const end = text.indexOf('\n', offset);
  return { line: text.slice(offset, end === -1 ? text.length : end).trim(), offset };
}

function lastLine(text: string): { line: string; offset: number } {
  const end = text.trimEnd().length;
  const offset = end === 0 ? 0 : text.lastIndexOf('\n', end - 1) + 1;
  const line = text.slice(offset, end);
  return { line: line.trim(), offset: offset + line.search(/\S|$/) };
}
