/** Checks YAML and TOML. */
import { parse, TomlError } from 'smol-toml';
import { Lexer, parseAllDocuments } from 'yaml';
import { isDeeplyNested } from '../../session/yaml/untrusted-yaml.ts';
import { locator } from '../../write/positions.ts';
import type { Finding } from '../../write/write.ts';

/** For a longer text, the parser takes more than a second and some 200 MB. */
const maxLength = 1024 * 1024;
/** The parser compares each key with all other keys of its map. */
const maxLinesForUniqueKeys = 2000;
const maxTold = 100;

/** Accepts any number of documents, with any tags; does not follow aliases. */
export function checkYaml(text: string): Finding[] | { skipped: string } {
  if (text.length > maxLength) return { skipped: 'YAML of over 1 MiB is not parsed' };
  if (/^[ \t]*\{[{%]/m.test(text)) return { skipped: 'it is a template' };
  if (isDeeplyNested(new Lexer().lex(text))) return { skipped: 'it is nested too deeply' };
  const uniqueKeys = text.split('\n', maxLinesForUniqueKeys + 1).length <= maxLinesForUniqueKeys;
  const documents = parseAllDocuments(text, { prettyErrors: false, uniqueKeys, logLevel: 'silent', strict: true });
  const errors = 'empty' in documents ? (documents.errors ?? []) : documents.flatMap(({ errors: each }) => each);
  const locate = locator(text);
  return errors.slice(0, maxTold).map(({ message, pos }) => ({
    check: 'syntax',
    message: toSentence(message),
    ...locate(Math.min(pos[0], text.length)),
  }));
}

function toSentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}

/** TOML 1.0. */
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

/** Returns the first line without the place, which teddy reports separately; a TOML error's other lines draw it. */
function toReason(message: string): string {
  const [line = ''] = message.replace(/^Invalid TOML document: /, '').split('\n', 1);
  const reason = line.replace(/ \(line \d+, column \d+\)$/, '');
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`;
}
