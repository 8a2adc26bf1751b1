/** Cuts a command's output to the part that a report shows, and says how the whole of it is stored. */
import type { CommandResult } from '../ports/disk.ts';
import { endLine } from '../session/context-log-sections.ts';

/** A report shows so many lines of a stream when the plan does not say. */
export const shownLines = 100;

export function takeLast(text: string, count: number): string {
  const lines = text.split('\n');
  const kept = text.endsWith('\n') ? count + 1 : count;
  return lines.length <= kept ? text : lines.slice(-kept).join('\n');
}

export function renderOutput({ stdout, stderr }: Pick<CommandResult, 'stdout' | 'stderr'>): string {
  return `--- stdout\n${endLine(stdout)}--- stderr\n${endLine(stderr)}`;
}

export function takeFirst(text: string, count: number): string {
  const lines = text.split('\n');
  const kept = text.endsWith('\n') ? count + 1 : count;
  return lines.length <= kept ? text : `${lines.slice(0, count).join('\n')}\n`;
}
