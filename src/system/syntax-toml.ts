/** TOML 1.0. */
import { parse, TomlError } from 'smol-toml';
import type { Finding } from '../write/write.ts';

export function checkToml(text: string): Finding[] | { skipped: string } {
  try {
    parse(text);
    return [];
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    if (error.message.includes('excessively nested')) return { skipped: 'it is nested too deeply' };
    return [{ check: 'syntax', message: toReason(error.message), line: error.line, column: error.column }];
  }
}

/** The first line; what follows draws the place. */
function toReason(message: string): string {
  const [first = ''] = message.replace(/^Invalid TOML document: /, '').split('\n', 1);
  return `${first.charAt(0).toUpperCase()}${first.slice(1)}.`;
}
