/** Takes out of HTML what nobody reads. What is left is the source as it was. */

const openings = /<(script|style|svg)(?=[\s/>])|<!--/gi;

/**
 * Without scripts, styles, drawings and comments. Linear: each character is looked at a few times at most. What is
 * opened and never closed is taken out up to the end, as a browser does it.
 */
export function simplifyHtml(html: string): string {
  const kept: string[] = [];
  let at = 0;
  for (;;) {
    openings.lastIndex = at;
    const opening = openings.exec(html);
    if (opening === null) return [...kept, html.slice(at)].join('');
    kept.push(html.slice(at, opening.index));
    at = findEnd(html, opening[1], openings.lastIndex);
  }
}

/** The offset after the end of what begins before `from`; `name` undefined: a comment. */
function findEnd(html: string, name: string | undefined, from: number): number {
  if (name === undefined) {
    // `<!-->` and `<!--->` are whole comments.
    const short = /^-?>/.exec(html.slice(from, from + 2));
    const end = short ? from + short[0].length : html.indexOf('-->', from);
    return end === -1 ? html.length : short ? end : end + '-->'.length;
  }
  const closing = new RegExp(`</${name}(?=[\\s/>])`, 'gi');
  closing.lastIndex = from;
  if (closing.exec(html) === null) return html.length;
  const end = html.indexOf('>', closing.lastIndex);
  return end === -1 ? html.length : end + 1;
}
