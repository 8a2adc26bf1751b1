import type { Clock } from '../ports/project.ts';

export function systemClock(): Clock {
  return { now: () => new Date() };
}
