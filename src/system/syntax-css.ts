/** CSS: its structure. Which properties and values there are is the browsers' affair. */
import parse from 'css-tree/parser';
import { tokenize, tokenTypes } from 'css-tree/tokenizer';
import { locator } from '../write/positions.ts';
import type { Finding } from '../write/write.ts';

interface Problem {
  message: string;
  offset: number;
}

const maxTold = 100;

export function checkCss(text: string): Finding[] {
  // A parser of CSS closes at the end whatever is open.
  const unbalanced = findUnbalanced(text);
  const problems = unbalanced === null ? findProblems(text) : [unbalanced];
  const locate = locator(text);
  return problems.map(({ message, offset }) => ({ check: 'syntax', message, ...locate(offset) }));
}

function findProblems(text: string): Problem[] {
  const problems: Problem[] = [];
  parse(text, {
    parseValue: false,
    parseRulePrelude: false,
    parseAtrulePrelude: false,
    onParseError: ({ message, offset }) => {
      if (problems.length < maxTold) problems.push({ message: `${message}.`, offset });
    },
  });
  return problems;
}

const closers: Record<string, string> = { '{': '}', '(': ')', '[': ']' };

/** The first bracket, string or comment without its other end. */
function findUnbalanced(text: string): Problem | null {
  const open: { closer: string; offset: number }[] = [];
  let found: Problem | null = null;
  tokenize(text, (type, start, end) => {
    if (found !== null) return;
    const mark = text[end - 1] ?? '';
    if (type === tokenTypes['Comment']) {
      if (end - start < 4 || !text.startsWith('*/', end - 2))
        found = { message: 'A comment is not closed.', offset: start };
    } else if (type === tokenTypes['BadString']) {
      found = { message: 'A string is not closed.', offset: start };
    } else if (type === tokenTypes['Function'] || (end - start === 1 && mark in closers)) {
      open.push({ closer: closers[mark] ?? ')', offset: end - 1 });
    } else if (end - start === 1 && '})]'.includes(mark)) {
      const last = open.pop();
      if (last?.closer !== mark) found = { message: `Unexpected bracket: ${mark}.`, offset: start };
    }
  });
  const left = open.at(-1);
  return (
    found ??
    (left === undefined ? null : { message: `The bracket ${text[left.offset]} is not closed.`, offset: left.offset })
  );
}
