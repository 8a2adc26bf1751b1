/** A plan that was refused: the same problems have to be found in it again. */
import type { Action, Problem } from '../../plan/plan.ts';
import { runVirtually } from '../../plan/validate.ts';
import type { Inspect } from '../../plan/virtual-files.ts';
import { maskProblems, maskString } from '../line/mask-text.ts';
import { inspectTree } from './tree.ts';
import type { Findings, RecordedRun } from './turn.ts';

/** How many problems could not be told from what the repository holds. */
export async function compareValidation(run: RecordedRun, findings: Findings): Promise<number> {
  const { project, base, parsed, grammar, report } = run;
  const inspect = inspectTree(project.repository.store, base);
  const mask = (text: string) => maskString(project.masker, text);
  const { problems } = await runVirtually(parsed, { inspect, mask, grammar });
  const again = await maskProblems(project.masker, problems);
  const told = new Set(report.validation_errors.map(toKey));
  const found = new Set(again.map(toKey));
  const unsure = (problem: Problem) => dependsOnMore(parsed.plan.actions[(problem.action ?? 0) - 1], problem, inspect);
  let unknown = 0;
  for (const problem of report.validation_errors.filter((one) => !found.has(toKey(one)))) {
    if (await unsure(problem)) unknown += 1;
    else
      findings.differ(
        { action: problem.action ?? null },
        `The report has a problem that the plan does not have: ${problem.message}`,
      );
  }
  for (const problem of again.filter((one) => !told.has(toKey(one)))) {
    if (await unsure(problem)) unknown += 1;
    else
      findings.differ(
        { action: problem.action ?? null },
        `The plan has a problem that the report does not have: ${problem.message}`,
      );
  }
  for (const action of parsed.plan.actions) findings.settle(action, 'skipped', 'the plan is not valid');
  return unknown;
}

function toKey({ line, column, action, message }: Problem): string {
  return JSON.stringify([line, column, action ?? null, message]);
}

/** On agents, on settings, on files that git does not track, or on what was masked then. */
async function dependsOnMore(action: Action | undefined, { message }: Problem, inspect: Inspect): Promise<boolean> {
  if (message.includes('[masked: ') || message.includes('outside the sparse checkout')) return true;
  switch (action?.type) {
    case 'INVOKE':
    case 'RESEARCH':
      return true;
    case 'CREATE':
    case 'EDIT':
      return (await inspect(action.path)).kind === 'absent';
    case 'READ':
      return action.resource.kind === 'path' && (await inspect(action.resource.path)).kind === 'absent';
    case 'EXECUTE':
      return (
        action.cwd !== '.' &&
        (await inspect(action.cwd as typeof action.cwd & Parameters<Inspect>[0])).kind === 'absent'
      );
    default:
      return false;
  }
}
