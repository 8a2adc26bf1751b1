/** A plan in any grammar as the user reads it: its title, and the comments, on separate lines that begin with `>>`. */
import { TeddyError } from '../errors.ts';

export interface PlanComment {
  /** The line of plan.md above the comment, counted from 1. */
  line: number;
  text: string;
}

const mark = '>>';

/**
 * Consecutive comment lines form one comment. A line in the plan itself may also begin with `>>`: a line that matches
 * the plan's next line is part of the plan. Throws USAGE when a line in the plan was changed, because the verdict
 * applies to the unchanged plan.
 */
export function readPlanComments(plan: string, edited: string): PlanComment[] {
  const lines = toLines(plan);
  const comments: PlanComment[] = [];
  let at = 0;
  let isGoingOn = false;
  for (const line of toLines(edited)) {
    if (line === lines[at]) {
      at += 1;
      isGoingOn = false;
    } else if (line.startsWith(mark)) {
      const text = line.slice(mark.length).trim();
      const last = comments.at(-1);
      if (isGoingOn && last !== undefined) last.text += `\n${text}`;
      else comments.push({ line: Math.max(at, 1), text });
      isGoingOn = true;
    } else throw changedError(at + 1);
  }
  if (at < lines.length) throw changedError(at + 1);
  return comments.map(({ line, text }) => ({ line, text: text.trim() })).filter(({ text }) => text !== '');
}

function toLines(text: string): string[] {
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  // Editors may add or remove a final line end.
  while (lines.at(-1)?.trim() === '') lines.pop();
  return lines.map((line) => line.trimEnd());
}

function changedError(line: number): TeddyError {
  return new TeddyError(
    'USAGE',
    `Line ${line} of the plan was changed, but a verdict is always on the unchanged plan.`,
    `Leave its lines alone. To comment on a line, add a line below it that begins with ${mark}.`,
  );
}

/** Returns the title of a plan in any grammar: its first heading, or its first line that is not blank. */
export function findPlanTitle(text: string): { title: string; rest: string[] } {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const at = Math.max(
    lines.findIndex((line) => /^#{1,6} +\S/.test(line)),
    0,
  );
  return { title: (lines[at] ?? '').replace(/^#{1,6} +/, '').trim(), rest: lines.slice(at + 1) };
}
