import type { Clock } from '../ports.ts';

export function systemClock(): Clock {
  return { now: () => new Date() };
}
