/** Runs in the child program: counts the points that it passes, and lets the chosen one go wrong. */
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { changingCalls, faultVariable, type ChildLine, type Fault, type Points } from './fault.ts';

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
  if (fault.kind === 'kill-at-first-call' && fault.name === name) dieAt(name);
  if (!isHere || fault.kind !== 'fail-call') return null;
  print({ line: 'hit', point: name });
  return fault.code;
}

/** A script that does something else than to start this git. */
type OtherThanStart = 'refused' | 'killed' | 'answer-lost' | 'kill-in-transaction' | { script: string };

/** The thing to do instead of starting this git. */
export function passGit(args: string[]): 'start' | OtherThanStart {
  const name = args.find((arg, at) => !arg.startsWith('-') && args[at - 1] !== '-c') ?? '';
  points.gits.push(name);
  if (fault.kind === 'kill-at-git' && fault.at === points.gits.length) dieAt(name);
  if (name === 'update-ref') transactions += 1;
  if (fault.kind === 'kill-in-transaction' && name === 'update-ref' && fault.at === transactions) {
    print({ line: 'hit', point: name });
    return 'kill-in-transaction';
  }
  if (fault.kind === 'trace-gits') return { script: toTraceScript(join(fault.dir, String(points.gits.length))) };
  if (fault.kind === 'kill-in-git' && fault.at === points.gits.length) return { script: toKillScript(fault, name) };
  if (fault.kind !== 'fail-git' || fault.at !== points.gits.length) return 'start';
  print({ line: 'hit', point: name });
  return fault.how;
}

/** strace ends as the git does that it follows. */
function toTraceScript(log: string): string {
  return `exec strace -f -qq -y -s 200 -o '${log}' -e signal=none -e trace=openat,${changingCalls} git "$@"`;
}

/**
 * strace counts for each process and name: where the call is git's own, it must not hit a child that is sooner there. The
 * script announces the kill itself, once it has happened.
 */
function toKillScript({ name, call, isChild, everything }: Extract<Fault, { kind: 'kill-in-git' }>, git: string) {
  const filter = `-e signal=none -e trace=${name} -e inject=${name}:signal=KILL:when=${call}`;
  const hit = JSON.stringify({ line: 'hit', point: git } satisfies ChildLine);
  return `
log=$(mktemp)
strace ${isChild ? '-f ' : ''}-qq -o "$log" ${filter} git "$@" 3>&-; status=$?
grep -q '= ?$' "$log" && echo '${hit}' >&3; rm "$log"
[ $status -gt 128 ] || exit $status
kill -9 ${everything ? `${process.pid} -$$` : '$$'}`;
}

function dieAt(point: string): void {
  print({ line: 'hit', point });
  process.kill(process.pid, 'SIGKILL');
}
