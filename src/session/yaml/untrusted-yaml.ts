/**
 * Reads YAML that anybody may have written: reports, memos, the front matter of logs. `parseDocument` takes quadratic
 * time for anchors and for comparing keys, and recurses; the `Lexer` and the `Parser` of `yaml` do neither. So teddy
 * checks the tokens first and refuses anything that it never writes.
 */
import { type Document, isScalar, Lexer, LineCounter, parseDocument, Parser, visit } from 'yaml';
import { formatCount } from '../text/format-count.ts';
import { countNewlines } from '../masks/mask.ts';

/**
 * Limits that bound the parser's time: one part, as counted by the lexer, takes 4 to 15 microseconds. Reports of
 * commands with much output may be longer; `plain-yaml.ts` reads them without these limits.
 */
export const yamlLimits = { length: 8 * 1024 * 1024, parts: 250_000 };

/** Why teddy refuses a text, as half a sentence, and where in the text. */
export class YamlFault extends Error {
  readonly reason: string;
  /** The line, from 1; null for the whole text. */
  readonly line: number | null;

  constructor(reason: string, line: number | null = null) {
    super(line === null ? reason : `line ${line}: ${reason}`);
    this.reason = reason;
    this.line = line;
  }
}

/** Parses a document without faults, in time proportional to the text. Throws `YamlFault`. */
export function parseUntrustedYaml(text: string): { document: Document; lineAt: (offset: number) => number } {
  if (text.length > yamlLimits.length)
    throw new YamlFault(
      `it has ${formatCount(text.length)} characters, but teddy reads at most ${formatCount(yamlLimits.length)}`,
    );
  if (isDeeplyNested(inspect(new Lexer().lex(text)))) throw new YamlFault('it is nested more deeply than any report');
  const lines = new LineCounter();
  const lineAt = (offset: number) => lines.linePos(offset).line;
  // Pretty errors would name the line a second time, and `uniqueKeys` compares each key with all others.
  const options = { lineCounter: lines, prettyErrors: false, uniqueKeys: false, logLevel: 'error' } as const;
  const document: Document = parseDocument(text, options);
  const [error] = document.errors;
  if (error) throw new YamlFault(error.message, lineAt(error.pos[0]));
  refuseEqualKeys(document, lineAt);
  return { document, lineAt };
}

/** Version 2.9.1 reports a stack overflow as an error, but V8 may end the process first, from about 500 levels on. */
const maxDepth = 100;

/** Returns true if YAML, passed as tokens of the `Lexer`, is nested too deeply for `parseDocument`. */
export function isDeeplyNested(tokens: Iterable<string>): boolean {
  const parser = new Parser();
  for (const token of tokens) {
    // The parser keeps its values on its own stack.
    Array.from(parser.next(token));
    if (parser.stack.length > maxDepth) return true;
  }
  return false;
}

/** Marks that the `Lexer` puts between its tokens. */
const marks = { flowError: '\u0018', scalar: '\u001f' };

const refused: Record<string, string> = { '&': 'an anchor', '*': 'an alias', '!': 'a tag', '%': 'a directive' };

/** Passes the tokens on; throws for tokens that teddy never writes. A token after a scalar's mark is text. */
function* inspect(tokens: Iterable<string>): Generator<string> {
  let [line, parts, isText, open] = [1, 0, false, 0];
  for (const token of tokens) {
    parts += 1;
    if (parts > yamlLimits.parts) throw new YamlFault(`it has more than ${formatCount(yamlLimits.parts)} parts`);
    const what = isText ? undefined : refused[token[0] ?? ''];
    if (what !== undefined) throw new YamlFault(`it has ${what} (${shorten(token)}), which teddy never writes`, line);
    open = isText ? open : countOpen(open, token);
    if (open < 0) throw new YamlFault(`it has a ${token} that closes nothing`, line);
    isText = token === marks.scalar;
    line += countNewlines(token);
    yield token;
  }
}

/** Counts the open brackets after a token. The parser reports each unmatched closing bracket as an error, which is slow. */
function countOpen(open: number, token: string): number {
  if (token === marks.flowError) return 0;
  if (token === '[' || token === '{') return open + 1;
  return token === ']' || token === '}' ? open - 1 : open;
}

function refuseEqualKeys(document: Document, lineAt: (offset: number) => number): void {
  visit(document, {
    Map(_, { items }) {
      const keys = new Set<string>();
      for (const { key } of items) {
        const at = lineAt((key as { range?: [number, number, number] | null }).range?.[0] ?? 0);
        if (!isScalar(key)) throw new YamlFault('it has a key that is not text', at);
        const name = String(key.value);
        if (keys.has(name)) throw new YamlFault(`the key ${JSON.stringify(shorten(name))} appears twice`, at);
        keys.add(name);
      }
    },
  });
}

function shorten(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? '';
  return line.length <= 40 ? line : `${line.slice(0, 40)}...`;
}
