/** Whether YAML from anybody may be given to the parser: it recurses, and beyond its stack V8 gives up, with no error to catch. */

// The parser of `yaml` dies somewhere between 500 and 1,000 levels.
const maxDepth = 100;

/** What the lexer of `yaml` puts between its tokens. */
const marks = { document: '\u0002', flowError: '\u0018', scalar: '\u001f' };

/** Open levels: the columns of blocks, and in a flow collection what opens another level there. */
type Level = number | '[' | ':';

/**
 * Of the tokens of the YAML package's `Lexer`, which does not recurse. Brackets in scalars and comments are part of their
 * tokens. The levels are rather too many than too few: every token of a line opens one, which a line indented less closes.
 */
export function isDeeplyNested(tokens: Iterable<string>): boolean {
  const levels: Level[] = [];
  let column = 0;
  let isScalar = false;
  for (const token of tokens) {
    if (token === marks.flowError) closeFlow(levels);
    else if (token === marks.scalar || token === marks.document) isScalar = token === marks.scalar;
    else {
      const isInFlow = typeof levels.at(-1) === 'string';
      if (isInFlow && !isScalar) stepInFlow(levels, token);
      else if (!isInFlow && token.trim() !== '') openBlock(levels, column, isScalar ? '' : token);
      // A key may go over several lines, also where that is an error: only the end of a block's line begins a new one.
      column = !isInFlow && token.endsWith('\n') ? 0 : column + token.length;
      isScalar = false;
    }
    if (levels.length > maxDepth) return true;
  }
  return false;
}

function openBlock(levels: Level[], column: number, token: string): void {
  while (Number(levels.at(-1)) > column) levels.pop();
  if (levels.at(-1) !== column) levels.push(column);
  if (token === '[' || token === '{') levels.push('[');
}

function stepInFlow(levels: Level[], token: string): void {
  if (token === '[' || token === '{') levels.push('[');
  else if (token === ':' || token === '?' || token === '-') levels.push(':');
  else if (token === ',') closeMarks(levels);
  else if (token === ']' || token === '}') {
    closeMarks(levels);
    levels.pop();
  }
}

function closeMarks(levels: Level[]): void {
  while (levels.at(-1) === ':') levels.pop();
}

/** The parser closes all of a flow collection when a line is indented too little for it. */
function closeFlow(levels: Level[]): void {
  while (typeof levels.at(-1) === 'string') levels.pop();
}
