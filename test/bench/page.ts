/** The part of `docs/performance.md` that a benchmark writes: which rows miss their targets, and the table. */
import { isMet, renderRows, type Row } from './measure.ts';

const begin = '<!-- bench -->\n';
const end = '<!-- end of bench -->\n';

/** The page with its part from these rows; the rest stays unchanged. `about`: a line below the table. */
export function renderPage(page: string, rows: Row[], about: string): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`The page needs the lines ${begin.trim()} and ${end.trim()}.`);
  return `${page.slice(0, from)}${begin}\n${renderPart(rows, about)}\n${page.slice(to)}`;
}

function renderPart(rows: Row[], about: string): string {
  const missed = rows.filter((row) => !isMet(row)).map(({ what }) => `- ${what}\n`);
  const count = `${rows.length - missed.length} of ${rows.length} rows meet their aim. These ${missed.length} miss it:`;
  return `${count}\n\n${missed.join('')}\n\`\`\`\n${renderRows(rows)}\n${about}\n\`\`\`\n`;
}
