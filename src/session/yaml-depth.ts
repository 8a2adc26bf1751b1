/** Whether YAML from anybody may be given to the parser: it recurses, and beyond its stack V8 gives up, with no error to catch. */

// The parser of `yaml` dies somewhere between 500 and 1,000 levels.
const maxDepth = 100;

/** The lexer of `yaml` puts these between its tokens. */
export const marks = { document: '\u0002', flowError: '\u0018', scalar: '\u001f' };

interface Nesting {
  /** Open levels: the columns of blocks, and in a flow collection what opens another level there. */
  levels: (number | '[' | ':')[];
  /** Levels that no line closes: the parser goes on within `a: b:`, though it is an error. */
  stuck: number;
  column: number;
  /** The tokens that the line has had so far. */
  line: 'nothing' | 'key' | 'value';
}

/**
 * Reads the tokens of the YAML package's `Lexer`, which does not recurse. Brackets in scalars and comments are part of their
 * tokens. It counts rather too many levels than too few: every token of a line opens one, which a line indented less closes.
 */
export function isDeeplyNested(tokens: Iterable<string>): boolean {
  const nesting: Nesting = { levels: [], stuck: 0, column: 0, line: 'nothing' };
  for (const token of tokens) {
    if (token === marks.flowError) closeFlow(nesting);
    else if (token !== marks.scalar && token !== marks.document) step(nesting, token);
    if (nesting.levels.length + nesting.stuck > maxDepth) return true;
  }
  return false;
}

function step(nesting: Nesting, token: string): void {
  const isInFlow = typeof nesting.levels.at(-1) === 'string';
  if (isInFlow) stepInFlow(nesting, token);
  else if (token.trim() !== '') stepInBlock(nesting, token);
  nesting.column += token.length;
  // A key may go over several lines, also where that is an error: only the end of a block's line begins a new one.
  if (!isInFlow && token.endsWith('\n')) Object.assign(nesting, { column: 0, line: 'nothing' });
}

function stepInBlock(nesting: Nesting, token: string): void {
  const { levels, column, line } = nesting;
  while (Number(levels.at(-1)) > column) levels.pop();
  if (levels.at(-1) !== column) levels.push(column);
  if (token === '[' || token === '{') levels.push('[');
  if (!isIndicator(token)) nesting.line = line === 'nothing' ? 'key' : line;
  else if (line === 'value') nesting.stuck += 1;
  else if (line === 'key') nesting.line = 'value';
}

function stepInFlow({ levels }: Nesting, token: string): void {
  if (token === '[' || token === '{') levels.push('[');
  else if (isIndicator(token)) levels.push(':');
  else if (token === ',' || token === ']' || token === '}') {
    while (levels.at(-1) === ':') levels.pop();
    if (token !== ',') levels.pop();
  }
}

/** The parser closes all of a flow collection when a line is indented too little for it. */
function closeFlow({ levels }: Nesting): void {
  while (typeof levels.at(-1) === 'string') levels.pop();
}

function isIndicator(token: string): boolean {
  return token === ':' || token === '?' || token === '-';
}
