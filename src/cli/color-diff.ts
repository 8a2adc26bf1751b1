import { toVisible, type Terminal } from './terminal.ts';

/** Coloured after it was made visible, so that a file's own escape sequences have no effect. */
export function colorDiff(terminal: Terminal, diff: string, stream: 'stdout' | 'stderr' = 'stderr'): string {
  return toVisible(diff.trimEnd())
    .split('\n')
    .map((line) => {
      if (/^(?:\+\+\+|---) /.test(line)) return terminal.style('bold', line, stream);
      if (line.startsWith('+')) return terminal.style('green', line, stream);
      if (line.startsWith('-')) return terminal.style('red', line, stream);
      return line.startsWith('@@') ? terminal.style('cyan', line, stream) : line;
    })
    .join('\n');
}
