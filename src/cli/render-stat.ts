/** Files with the lines that they gained and lost, as `git diff --stat` has it. */
import type { FileDiff } from '../workflow/review/diff-files.ts';
import { countOf } from './describe-spending.ts';
import { toVisible, type Terminal } from './terminal.ts';

const maxBar = 20;

/** Without a newline at the end. */
export function renderStat(terminal: Terminal, files: readonly FileDiff[]): string {
  const names = files.map(({ path }) => toVisible(path));
  const width = Math.max(...names.map((name) => name.length));
  const most = Math.max(...files.map(({ added, removed }) => added + removed), 1);
  const rows = files.map((file, at) => ` ${(names[at] ?? '').padEnd(width)} | ${renderChange(terminal, file, most)}`);
  const [added, removed] = [sum(files, 'added'), sum(files, 'removed')];
  return [...rows, ` ${countOf(files.length, 'file')}, +${added} -${removed}`].join('\n');
}

function renderChange(terminal: Terminal, { kind, added, removed, change }: FileDiff, most: number): string {
  if (kind !== 'text') return `${kind === 'large' ? 'too large to compare' : kind}, ${change}`;
  const scale = Math.min(1, maxBar / most);
  const bar = (sign: string, count: number) => sign.repeat(Math.ceil(count * scale));
  const counts = `+${added} -${removed}`.padEnd(10);
  return `${counts} ${terminal.style('green', bar('+', added))}${terminal.style('red', bar('-', removed))}`.trimEnd();
}

function sum(files: readonly FileDiff[], key: 'added' | 'removed'): number {
  return files.reduce((total, file) => total + file[key], 0);
}
