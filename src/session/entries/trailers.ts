/** Finds the trailers at the end of a commit message, by git's own rules. */

/** With a line of this form, a paragraph counts as trailers even if only a quarter of it is trailers. */
const ofGit = /^(?:Signed-off-by: |\(cherry picked from commit )/;

/**
 * Applies git's rule: the last paragraph's lines are all trailers, or at least a quarter of them are and one of these
 * is git's own. The subject alone never counts.
 */
export function endsInTrailers(message: string): boolean {
  const last = lastOfSeveral(message);
  let [trailers, others, indented] = [0, 0, 0];
  for (const line of last.toReversed()) {
    if (ofGit.test(line) || /^[A-Za-z0-9-]+[ \t]*:/.test(line)) [trailers, indented] = [trailers + 1, 0];
    // An indented line continues the line above, trailer or not.
    else if (/^\s/.test(line)) indented += 1;
    else [others, indented] = [others + indented + 1, 0];
  }
  others += indented;
  return trailers > 0 && (others === 0 || (last.some((line) => ofGit.test(line)) && trailers * 3 >= others));
}

/** Lists a message's trailers unchanged, one line each, without their continuation lines. */
export function listTrailers(message: string): string[] {
  return endsInTrailers(message) ? lastOfSeveral(message).filter((line) => /^[A-Za-z0-9-]+[ \t]*:/.test(line)) : [];
}

/** Returns the lines of the last paragraph; empty when there is only one paragraph. */
function lastOfSeveral(message: string): string[] {
  const paragraphs = message.split(/\n[ \t\r]*\n/).filter((paragraph) => paragraph.trim() !== '');
  return paragraphs.length < 2 ? [] : (paragraphs.at(-1) ?? '').split('\n').filter((line) => line.trim() !== '');
}
