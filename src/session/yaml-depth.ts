/** Whether YAML from anybody may be given to the parser: it recurses, and beyond its stack V8 gives up, with no error to catch. */

// The parser of `yaml` dies somewhere between 500 and 1,000 levels.
const maxDepth = 100;

/** Counts by the letters alone, also within quotes and comments: no file of ours comes near. */
export function isDeeplyNested(text: string): boolean {
  return nestsBrackets(text) || text.split('\n').some(nestsOnOneLine);
}

function nestsBrackets(text: string): boolean {
  let depth = 0;
  for (const letter of text) {
    if (letter === '[' || letter === '{') depth += 1;
    else if (letter === ']' || letter === '}') depth = Math.max(0, depth - 1);
    if (depth > maxDepth) return true;
  }
  return false;
}

/** `- - - a`, `? ? a`; or by the indentation that earlier lines have led to. */
function nestsOnOneLine(line: string): boolean {
  const indentation = /^\s*/.exec(line)?.[0].length ?? 0;
  return indentation > 4 * maxDepth || [...line.matchAll(/(?<=^|\s)[-?:](?=\s)/g)].length > maxDepth;
}
