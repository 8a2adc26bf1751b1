/** Runs in the child program: counts the points that it passes, and lets the chosen one go wrong. */
import { writeSync } from 'node:fs';
import { faultVariable, type ChildLine, type Fault, type Points } from './fault.ts';

const fault = JSON.parse(process.env[faultVariable] ?? '{"kind":"none"}') as Fault;

export const points: Points = { steps: [], calls: [], gits: [] };
let transactions = 0;

export function print(line: ChildLine): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

export function passStep(name: string): void {
  points.steps.push(name);
  if (fault.kind === 'kill-at-step' && fault.at === points.steps.length) dieAt(name);
  if (fault.kind === 'kill-at-first' && fault.step === name) dieAt(name);
  if (fault.kind === 'kill-at-nth' && fault.step === name && countSteps(name) === fault.at) dieAt(name);
}

function countSteps(name: string): number {
  return points.steps.filter((step) => step === name).length;
}

/** Returns the error code that this call has to fail with, if any. */
export function passCall(name: string): string | null {
  points.calls.push(name);
  const isHere = 'at' in fault && fault.at === points.calls.length;
  if (isHere && fault.kind === 'kill-at-call') dieAt(name);
  if (!isHere || fault.kind !== 'fail-call') return null;
  print({ line: 'hit', point: name });
  return fault.code;
}

/** What to do instead of starting this git. */
export function passGit(args: string[]): 'start' | 'refused' | 'killed' | 'answer-lost' | 'kill-in-transaction' {
  const name = args.find((arg, at) => !arg.startsWith('-') && args[at - 1] !== '-c') ?? '';
  points.gits.push(name);
  if (fault.kind === 'kill-at-git' && fault.at === points.gits.length) dieAt(name);
  if (name === 'update-ref') transactions += 1;
  if (fault.kind === 'kill-in-transaction' && name === 'update-ref' && fault.at === transactions) {
    print({ line: 'hit', point: name });
    return 'kill-in-transaction';
  }
  if (fault.kind !== 'fail-git' || fault.at !== points.gits.length) return 'start';
  print({ line: 'hit', point: name });
  return fault.how;
}

function dieAt(point: string): void {
  print({ line: 'hit', point });
  process.kill(process.pid, 'SIGKILL');
}
