/** Saying and doing things in a session, in one line of a test each. */
import type { Model } from '../../src/ports/model.ts';
import type { Project } from '../../src/ports/project.ts';
import { decodeEntry } from '../../src/session/entries/entry.ts';
import type { Oid } from '../../src/names.ts';
import { executePlan, type ExecuteRequest } from '../../src/workflow/run/execute-plan.ts';
import { newSession, type NewSession } from '../../src/workflow/line/new-session.ts';
import { planTurn, type PlanOutcome, type PlanRequest } from '../../src/workflow/turn/plan.ts';
import type { Approver, Approval } from '../../src/workflow/run/run.ts';
import type { MemoryProject } from './memory-repository.ts';
import { scriptedModel } from './scripted-model.ts';

export const session = '20260124-add-login';
export const line = `teddy/${session}`;

export function start(project: Project, name = 'add-login'): Promise<NewSession> {
  return newSession(project, { name, switch: true });
}

/** A plan with these actions; `more` has complete sections. */
export function planOf(actions: string[], ...more: string[]): string {
  const plan = actions.length === 0 ? [] : [`## Action Plan\n\n${actions.join('\n')}`];
  return `${['# Do it', ...more, ...plan].join('\n\n')}\n`;
}

export function edit(path: string, find: string, replace: string): string {
  return `### EDIT\n- **File Path:** ${path}\n\n#### FIND:\n\`\`\`\n${find}\n\`\`\`\n#### REPLACE:\n\`\`\`\n${replace}\n\`\`\`\n`;
}

export function create(path: string, content = `${path}\n`): string {
  return `### CREATE\n- **File Path:** [${path}](/${path})\n\n\`\`\`\`\`\n${content}\`\`\`\`\`\n`;
}

export function command(script: string, ...parameters: string[]): string {
  return `### EXECUTE\n${['- **Description:** run it', ...parameters].join('\n')}\n\n\`\`\`sh\n${script}\n\`\`\`\n`;
}

export function memos(...changes: string[]): string {
  return `## Memos\n\n\`\`\`\n${changes.join('\n')}\n\`\`\``;
}

/** `model`: the model, or its only answer; null leaves the turn open. */
export function say(
  project: Project,
  message: string | undefined,
  model: Model | string | null,
  more: Partial<PlanRequest> = {},
): Promise<PlanOutcome> {
  const asked = typeof model === 'string' ? scriptedModel(model) : model;
  return planTurn(project, {
    message,
    choice: { provider: asked ? 'recorded' : 'none', name: asked?.model ?? 'none', parameters: {}, model: asked },
    signal: new AbortController().signal,
    onText: () => undefined,
    ...more,
  });
}

type Executed = Awaited<ReturnType<typeof executePlan>>;

export interface ScriptedApprover extends Approver {
  asked: string[];
  shown: string[];
}

/** Decides in this order, then answers yes. With `answer`, every question gets that answer. */
export function approver(
  decisions: (Approval['decision'] | Approval)[] = [],
  answer: string | null = null,
): ScriptedApprover {
  const left = [...decisions];
  const asked: string[] = [];
  const shown: string[] = [];
  return {
    by: 'user',
    asked,
    shown,
    begin: async () => undefined,
    action: async ({ action }) => {
      asked.push(`${action.index} ${action.type}`);
      const next = left.shift() ?? 'yes';
      return typeof next === 'string' ? { decision: next } : next;
    },
    answer: async (text) => {
      shown.push(text);
      return answer;
    },
    output: (stream, text) => shown.push(`${stream}: ${text}`),
    during: (_started, use) => use(),
    done: () => undefined,
  };
}

/** Approves everything, like -y. */
export function approveAll(): ScriptedApprover {
  return { ...approver(), by: 'flag' };
}

export function run(project: Project, more: Partial<ExecuteRequest> = {}): Promise<Executed> {
  const signal = new AbortController().signal;
  return executePlan(project, { approver: approveAll(), memos: { kind: 'none' }, signal, ...more });
}

/**
 * The next command in the plan is the last thing that happens: nothing comes after it, as if the process were killed.
 */
export async function runUntilKilled(project: MemoryProject, more: Partial<ExecuteRequest> = {}): Promise<void> {
  const { run: before } = project.command;
  project.command.run = async (...args) => {
    await before(...args);
    throw new Error('killed');
  };
  await run(project, more).then(
    () => Promise.reject(new Error('It came to its end.')),
    (error: Error) => (error.message === 'killed' ? undefined : Promise.reject(error)),
  );
  project.command.run = before;
}

/** A complete turn: a message, its plan, its report. */
export async function turn(project: MemoryProject, message: string, ...actions: string[]): Promise<Executed> {
  await say(project, message, planOf(actions));
  return run(project);
}

/** The entries on a branch, oldest first: `plan 02`; a user's commit is its subject in quotes. */
export async function storyOf(project: MemoryProject, from: Oid): Promise<string[]> {
  const story: string[] = [];
  for await (const { commit } of project.repository.store.firstParents(from)) {
    const entry = decodeEntry(commit.message);
    story.unshift(entry ? `${entry.kind} ${entry.turn ?? ''}`.trim() : `'${commit.message.split('\n')[0]}'`);
  }
  return story;
}

export async function storyOfLine(project: MemoryProject, branch = line): Promise<string[]> {
  return storyOf(project, await project.tipOf(branch));
}
