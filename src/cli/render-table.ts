/** Rows of cells below their heads, as wide as the terminal: the last column is cut to fit. */
import { cutToWidth } from './cut-to-width.ts';
import type { Terminal } from './terminal.ts';

const gap = '  ';

/** `>` at the end of a head: its column is flush right. `total`: a last row. Without a newline at the end. */
export function renderTable(
  terminal: Terminal,
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  total: readonly string[] | null,
): string {
  const names = heads.map((head) => head.replace(/>$/, ''));
  const all = [names, ...rows, ...(total === null ? [] : [total])];
  const widths = heads.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  const render = (row: readonly string[]) => {
    const cells = row.map((cell, column) => {
      const width = widths[column] ?? 0;
      return heads[column]?.endsWith('>') ? cell.padStart(width) : cell.padEnd(width);
    });
    return cutToWidth(cells.join(gap).trimEnd(), terminal.columns);
  };
  return [
    terminal.style('dim', render(names)),
    ...rows.map(render),
    ...(total === null ? [] : [terminal.style('bold', render(total))]),
  ].join('\n');
}
