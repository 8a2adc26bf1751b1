/** JSON, JSON with comments, and JSON by lines. */
import { locator } from '../write/positions.ts';
import type { Finding } from '../write/write.ts';
import { findJsonError, type JsonDialect } from './json-scanner.ts';

const strict: JsonDialect = { comments: false, trailingCommas: false };
const withComments: JsonDialect = { comments: true, trailingCommas: true };
const maxTold = 100;

export function checkJson(text: string): Finding[] {
  return checkWhole(text, strict);
}

export function checkJsonc(text: string): Finding[] {
  return checkWhole(text, withComments);
}

function checkWhole(text: string, dialect: JsonDialect): Finding[] {
  const error = findJsonError(text, dialect);
  return error === null ? [] : [{ check: 'syntax', message: error.message, ...locator(text)(error.offset) }];
}

/** One value a line; empty lines are passed over. */
export function checkJsonl(text: string): Finding[] {
  const findings: Finding[] = [];
  let line = 1;
  for (let start = 0; start < text.length && findings.length < maxTold; line += 1) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 ? text.length : newline;
    const error = isBlank(text, start, end) ? null : findJsonError(text, strict, start, end);
    if (error !== null) {
      findings.push({ check: 'syntax', message: error.message, line, column: error.offset - start + 1 });
    }
    start = end + 1;
  }
  return findings;
}

function isBlank(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x09 && code !== 0x0d) return false;
  }
  return true;
}
