/** Operations on lines, answers and runs, and those that capture other agents. */
import { setTimeout as sleep } from 'node:timers/promises';
import { openCapture } from '../../src/app.ts';
import { toWorldError } from '../../src/errors.ts';
import { manualModel } from '../../src/model/keyed-model.ts';
import type { Model } from '../../src/ports/model.ts';
import type { Project } from '../../src/ports/project.ts';
import { joinPath, sessionDir, type TurnName } from '../../src/names.ts';
import { readLine } from '../../src/view/view.ts';
import { drain } from '../../src/workflow/capture/drain.ts';
import { closeGate, openGate } from '../../src/workflow/capture/gate.ts';
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
import { acknowledging, persist, type ChildOperation, type ChildTask } from './child-task.ts';
import { print } from './fault-points.ts';
import { answerText, slowAnswerText } from './plans.ts';

const { signal } = new AbortController();

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

const operations: Record<string, (project: Project, task: ChildTask) => Promise<string>> = {
  async new(project) {
    return (await newSession(project, { name: 'second', switch: true })).commit;
  },
  async 'work-tree'(project) {
    return (await newSession(project, { name: 'second', switch: false, worktree: true })).commit;
  },
  /** The agent leaves before anybody has decided. */
  async gate(project) {
    const { state, ref } = await prepareLine(project, 'first');
    const { session, latest } = await readLine(project.repository.store, state.tip);
    const sha256 = project.hash(latest?.plan ?? '');
    const plan = { ref, session, turn: latest?.turn as TurnName, sha256, title: 'Make a file' };
    await closeGate(project, await openGate(project, plan), plan, { reason: 'Nobody has decided.' });
    return (await project.repository.store.resolve(ref)) ?? '';
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
  async drain(project, { root }) {
    const drained = await drain(project, captureOf(project, root), { signal, lingerMs: 0, waitMs: 200 }).catch(
      failAsCommand,
    );
    for (const text of drained?.problems ?? ['another process drains']) print({ line: 'warned', text });
    return String(drained?.records);
  },
  async sweep(project, { root }) {
    const pause = () => sleep(100);
    const options = { signal, sinceMs: 0, pause, onBusy: () => undefined };
    const { problems, logs } = await sweepWhenFree(project, captureOf(project, root), options).catch(failAsCommand);
    for (const text of problems) print({ line: 'warned', text });
    return String(logs.length);
  },
  async 'roll-back'(project) {
    await rollBackRun(project, {});
    return '';
  },
};

/** The command line turns the system's refusals into our errors. */
function failAsCommand(error: unknown): never {
  throw toWorldError(error) ?? error;
}

function captureOf(project: Project, root: string): ReturnType<typeof openCapture> {
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

/** `count` entries, each with a new file in the session's directory. */
const append: ChildOperation = async (project, { count, name }) => {
  for (let number = 1; number <= count; number += 1) {
    const act = () => appendNote(project, name, number);
    print({ line: 'acknowledged', commit: await (count === 1 ? act() : persist(act)) });
  }
};

async function appendNote(project: Project, name: string, number: number): Promise<string> {
  const line = await prepareLine(project, 'first');
  const { commit } = await appendTo(project, line, () => {
    const path = joinPath(sessionDir(line.session), `note-${name}-${number}.txt`);
    const title = `note ${name} ${number}`;
    const files = [{ path, bytes: `${title}\n` }];
    return [{ kind: 'snapshot', label: { title, details: [] }, code: { files } }];
  });
  return commit;
}

export const lineOperations: Record<string, ChildOperation> = {
  ...Object.fromEntries(Object.entries(operations).map(([name, act]) => [name, acknowledging(act)])),
  append,
};
