/**
 * The program that the faults happen to: `child <operation> <repository> [count] [name]`, one operation of the product
 * in one process. Each success is printed as soon as the product has reported it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { openCapture, openProject } from '../../src/app.ts';
import { TeddyError, toWorldError } from '../../src/errors.ts';
import { manualModel } from '../../src/model/manual.ts';
import type { Model } from '../../src/ports/model.ts';
import type { Project } from '../../src/ports/project.ts';
import { joinPath, sessionDir } from '../../src/names.ts';
import { drain } from '../../src/workflow/capture/drain.ts';
import { sweepWhenFree } from '../../src/workflow/capture/sweep.ts';
import { append as appendTo } from '../../src/workflow/line/append.ts';
import { editContextList } from '../../src/workflow/context/edit-list.ts';
import { planInstead } from '../../src/workflow/run/execute-or-replan.ts';
import { executePlan } from '../../src/workflow/run/execute-plan.ts';
import { giveVerdict } from '../../src/workflow/run/give-verdict.ts';
import { rollBackRun } from '../../src/workflow/run/settle.ts';
import { undoTurn } from '../../src/workflow/turn/undo.ts';
import { newSession } from '../../src/workflow/line/new-session.ts';
import { planTurn } from '../../src/workflow/turn/plan.ts';
import { prepareLine } from '../../src/workflow/line/prepare.ts';
import { takeSnapshot } from '../../src/workflow/line/take-snapshot.ts';
import { endChild } from './end-child.ts';
import { passStep, print } from './fault-points.ts';
import { answerText, slowAnswerText } from './plans.ts';

const [, , operation = '', root = '', countText = '1', name = 'one', startAtMs = '0'] = process.argv;
const signal = new AbortController().signal;

/** Takes about a second, in which the answer is saved three times. */
const slowModel: Model = {
  provider: 'recorded',
  model: 'slow',
  label: 'a slow model',
  async *answer() {
    for (const text of slowAnswerText.match(/.{1,40}/gsu) ?? []) {
      yield { type: 'text', text };
      await sleep(5);
    }
    yield { type: 'finish', reason: 'stop' };
  },
};

const operations: Record<string, (project: Project) => Promise<string>> = {
  async new(project) {
    return (await newSession(project, { name: 'second', switch: true })).commit;
  },
  async snapshot(project) {
    const line = await prepareLine(project, undefined);
    await takeSnapshot(project, line, null);
    return (await project.repository.store.resolve(line.ref)) ?? '';
  },
  async plan(project) {
    const model = manualModel({ readAnswer: () => Promise.resolve(answerText) });
    const choice = { provider: 'manual' as const, name: 'manual', parameters: {}, model };
    const outcome = await planTurn(project, { message: 'Go on.', choice, signal, onText: () => undefined });
    return outcome.kind === 'answered' ? outcome.commit : '';
  },
  async answer(project) {
    const choice = { provider: 'recorded' as const, name: 'slow', parameters: {}, model: slowModel };
    const outcome = await planTurn(project, { message: 'Go on.', choice, signal, onText: () => undefined });
    return outcome.kind === 'answered' ? outcome.commit : '';
  },
  async instead(project) {
    const model = manualModel({ readAnswer: () => Promise.resolve(answerText) });
    const choice = { provider: 'manual' as const, name: 'manual', parameters: {}, model };
    const asked = { message: 'Otherwise.', choice, signal, onText: () => undefined };
    const { outcome } = await planInstead(project, asked, () => undefined);
    return outcome.kind === 'answered' ? outcome.commit : '';
  },
  async reject(project) {
    const { line } = await giveVerdict(project, {
      verdict: 'rejected',
      text: 'No.',
      comments: [{ line: 1, text: 'Why?' }],
    });
    return line.state.tip;
  },
  async context(project) {
    const edit = { selector: 'first', kind: 'add' as const, paths: ['src'], isGlobal: false };
    return (await editContextList(project, edit)).commit ?? '';
  },
  execute: (project) => execute(project, false),
  'execute-or-roll-back': (project) => execute(project, true),
  undo: async (project) => (await undoTurn(project, {})).commit,
  async drain(project) {
    const drained = await drain(project, captureOf(project), { signal, lingerMs: 0, waitMs: 200 }).catch(failAsCommand);
    for (const text of drained?.problems ?? ['another process drains']) print({ line: 'warned', text });
    return String(drained?.records);
  },
  async sweep(project) {
    const pause = () => sleep(100);
    const options = { signal, sinceMs: 0, pause, onBusy: () => undefined };
    const { problems, logs } = await sweepWhenFree(project, captureOf(project), options).catch(failAsCommand);
    for (const text of problems) print({ line: 'warned', text });
    return String(logs.length);
  },
  async 'roll-back'(project) {
    await rollBackRun(project, {});
    return '';
  },
};

/** The command line turns what the system refused into an error of ours. */
function failAsCommand(error: unknown): never {
  throw toWorldError(error) ?? error;
}

function captureOf(project: Project): ReturnType<typeof openCapture> {
  return openCapture(project, { ...process.env, HOME: `${root}.home`, CLAUDE_CONFIG_DIR: undefined });
}

async function execute(project: Project, rollback: boolean): Promise<string> {
  const approver = {
    by: 'flag' as const,
    begin: () => Promise.resolve(),
    action: () => Promise.resolve({ decision: 'yes' as const }),
    answer: () => Promise.resolve(null),
    output: () => undefined,
    during: <Value>(_started: object, use: () => Promise<Value>) => use(),
    done: () => undefined,
  };
  return (await executePlan(project, { approver, memos: { kind: 'yes' }, rollback, signal })).commit;
}

/** One entry with a new file of the session's; `number` makes it unique. */
async function append(project: Project, number: number): Promise<string> {
  const line = await prepareLine(project, 'first');
  const { commit } = await appendTo(project, line, () => {
    const path = joinPath(sessionDir(line.session), `note-${name}-${number}.txt`);
    const title = `note ${name} ${number}`;
    const files = [{ path, bytes: `${title}\n` }];
    return [{ kind: 'snapshot', label: { title, details: [] }, code: { files } }];
  });
  return commit;
}

/** Writers of a race do what the error says: a refusal has changed nothing, so they try again. */
async function persist(act: () => Promise<string>): Promise<string> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      const isRefusal = error instanceof TeddyError && ['REF_MOVED', 'LOCKED'].includes(error.code);
      if (!isRefusal || Number(countText) === 1) throw error;
      print({ line: 'refused', code: error.code });
    }
  }
}

async function run(): Promise<void> {
  const project = await openProject({
    cwd: root,
    env: process.env,
    notices: { info: () => undefined, warn: () => undefined },
    onStep: passStep,
  });
  try {
    // Writers of a race begin together.
    await sleep(Math.max(0, Number(startAtMs) - Date.now()));
    for (let number = 1; number <= Number(countText); number += 1) {
      const act = operation === 'append' ? (one: Project) => persist(() => append(one, number)) : operations[operation];
      if (!act) throw new Error(`There is no operation ${operation}.`);
      print({ line: 'acknowledged', commit: await act(project) });
    }
  } finally {
    await project.repository.close();
  }
}

void endChild(run);
