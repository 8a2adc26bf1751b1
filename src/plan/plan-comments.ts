/** A plan in anybody's grammar as a person reads it: its title, and the comments that are written on lines of their own, after `>>`. */
import { TeddyError } from '../errors.ts';

export interface PlanComment {
  /** The line of plan.md above the comment, from 1. */
  line: number;
  text: string;
}

const mark = '>>';

/**
 * Lines of a comment that follow each other are one. A line of the plan itself may begin so too: it counts as one of the plan
 * where the plan goes on with it. Throws USAGE where a line of the plan was changed: the verdict is on the plan as it is.
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
  // Editors add a line end, or take one away.
  while (lines.at(-1)?.trim() === '') lines.pop();
  return lines.map((line) => line.trimEnd());
}

function changedError(line: number): TeddyError {
  return new TeddyError(
    'USAGE',
    `Line ${line} of the plan was changed, and a verdict is on the plan as it is.`,
    `Leave its lines alone; a line that begins with ${mark} is a comment on the line above it.`,
  );
}

/** The title of a plan in anybody's grammar: its first heading, or the first line that says anything. */
export function findPlanTitle(text: string): { title: string; rest: string[] } {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const at = Math.max(
    lines.findIndex((line) => /^#{1,6} +\S/.test(line)),
    0,
  );
  return { title: (lines[at] ?? '').replace(/^#{1,6} +/, '').trim(), rest: lines.slice(at + 1) };
}
