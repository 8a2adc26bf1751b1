/** The trailers at the end of a commit message, by git's own rules. */

/** Lines of this form count as trailers wherever a quarter of a paragraph is trailers. */
const ofGit = /^(?:Signed-off-by: |\(cherry picked from commit )/;

/** git's own rule: all lines of the last paragraph are trailers, or a quarter and one of them is git's. The subject alone never is. */
export function endsInTrailers(message: string): boolean {
  const last = lastOfSeveral(message);
  let [trailers, others, indented] = [0, 0, 0];
  for (const line of last.toReversed()) {
    if (ofGit.test(line) || /^[A-Za-z0-9-]+[ \t]*:/.test(line)) [trailers, indented] = [trailers + 1, 0];
    // It goes on with the line above, whatever that is.
    else if (/^\s/.test(line)) indented += 1;
    else [others, indented] = [others + indented + 1, 0];
  }
  others += indented;
  return trailers > 0 && (others === 0 || (last.some((line) => ofGit.test(line)) && trailers * 3 >= others));
}

/** The trailers of a message as they stand there, a line each; what goes on with one is left out. */
export function listTrailers(message: string): string[] {
  return endsInTrailers(message) ? lastOfSeveral(message).filter((line) => /^[A-Za-z0-9-]+[ \t]*:/.test(line)) : [];
}

/** Empty where there is but one paragraph. */
function lastOfSeveral(message: string): string[] {
  const paragraphs = message.split(/\n[ \t\r]*\n/).filter((paragraph) => paragraph.trim() !== '');
  return paragraphs.length < 2 ? [] : (paragraphs.at(-1) ?? '').split('\n').filter((line) => line.trim() !== '');
}
