/** Runs in the child program: counts the points that it passes, and makes the chosen one fail. */
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import {
  changingCalls,
  countOf,
  faultVariable,
  namingCalls,
  type ChildLine,
  type Fault,
  type PointKind,
  type Points,
} from './fault.ts';

const fault = JSON.parse(process.env[faultVariable] ?? '{"kind":"none"}') as Fault;

export const points: Points = { step: [], call: [], git: [] };

export function print(line: ChildLine): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

export function passStep(name: string): void {
  pass('step', name);
}

/** Returns the error code that this call has to fail with, if any. */
export function passCall(name: string): string | null {
  const nth = pass('call', name);
  if (fault.kind !== 'fail-call' || fault.name !== name || fault.nth !== nth) return null;
  print({ line: 'hit', point: name });
  return fault.code;
}

/** Counts the points of that name, and dies at the chosen one. */
function pass(at: PointKind, name: string): number {
  points[at].push(name);
  const nth = countOf(points[at], name);
  if (fault.kind === 'kill' && fault.at === at && fault.name === name && fault.nth === nth) dieAt(name);
  return nth;
}

/** A script that does something other than starting this git. */
type OtherThanStart = 'refused' | 'killed' | 'answer-lost' | 'kill-in-transaction' | { script: string };

/** The action in place of starting this git. */
export function passGit(args: string[]): 'start' | OtherThanStart {
  const name = args.find((arg, at) => !arg.startsWith('-') && args[at - 1] !== '-c') ?? '';
  const nth = pass('git', name);
  const place = points.git.length;
  if (fault.kind === 'trace-gits') return { script: toTraceScript(join(fault.dir, String(place))) };
  if (fault.kind === 'kill-in-git' && fault.at === place) return { script: toKillScript(fault, name) };
  const isHere = 'name' in fault && fault.name === name && 'nth' in fault && fault.nth === nth;
  if (fault.kind === 'kill-in-transaction' && name === 'update-ref' && fault.at === nth) return asHit(name, fault.kind);
  if (fault.kind === 'fail-git' && isHere) return asHit(name, fault.how);
  if (fault.kind === 'kill-gits-at-work') return asHit(name, { script: dieAtWork });
  isKilling ||= fault.kind === 'kill-gits-from' && isHere;
  return isKilling ? asHit(name, 'killed') : 'start';
}

/** Every git dies from now on. */
let isKilling = false;

function asHit<Wish>(point: string, wish: Wish): Wish {
  print({ line: 'hit', point });
  return wish;
}

/** Its lock still exists then, with everything it has made so far. */
const dieAtWork = `exec strace -f -qq -o /dev/null -e signal=none -e trace=${namingCalls} -e inject=${namingCalls}:signal=KILL git "$@"`;

/** strace ends like the git that it traces. */
function toTraceScript(log: string): string {
  return `exec strace -f -qq -y -s 200 -o '${log}' -e signal=none -e trace=openat,${changingCalls} git "$@"`;
}

/**
 * strace counts for each process and name: if the call is git's own, the kill must not hit a child that gets there
 * first. The script announces the kill itself, once it has happened.
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
