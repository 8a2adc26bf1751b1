/**
 * The program in which faults happen: `child <operation> <repository> [count] [name] [startAtMs]`, one operation of the
 * product in one process. Each success is printed as soon as the product has reported it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { openProject } from '../../src/app.ts';
import { TeddyError } from '../../src/errors.ts';
import { chatOperations } from './child-chat.ts';
import { lineOperations } from './child-lines.ts';
import { setupOperations } from './child-setup.ts';
import { sharingOperations } from './child-sharing.ts';
import { writeOperations } from './child-writes.ts';
import type { ChildOperation } from './child-task.ts';
import { passStep, points, print } from './fault-points.ts';

const [, , operation = '', root = '', count = '1', name = 'one', startAtMs = '0'] = process.argv;

const operations: Record<string, ChildOperation> = {
  ...lineOperations,
  ...chatOperations,
  ...writeOperations,
  ...sharingOperations,
  ...setupOperations,
};

async function run(): Promise<void> {
  const act = operations[operation];
  if (act === undefined) throw new Error(`There is no operation ${operation}.`);
  const opened = await openProject({
    cwd: root,
    env: process.env,
    notices: { info: () => undefined, warn: (text) => print({ line: 'warned', text }) },
    onStep: passStep,
  });
  // Each piece of a file is saved immediately.
  const project = { ...opened, writeLimits: { ...opened.writeLimits, saveLines: 1, saveGapMs: 1 } };
  try {
    // The processes in a race begin together.
    await sleep(Math.max(0, Number(startAtMs) - Date.now()));
    await act(project, { operation, root, count: Number(count), name });
  } finally {
    await project.repository.close();
  }
}

async function main(): Promise<void> {
  // Node's exit code for a module that never finishes.
  process.exitCode = 13;
  try {
    await run();
    process.exitCode = 0;
  } catch (error) {
    const code = error instanceof TeddyError ? error.code : null;
    print({ line: 'failed', code, text: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    process.exitCode = 1;
  }
  print({ line: 'points', points });
}

void main();
