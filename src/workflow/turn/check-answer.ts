/** What is to be said about an answer that is on its line already: what cannot be found out is a warning, not an error. */
import type { ParsedPlan, Problem } from '../../plan/plan.ts';
import { runVirtually } from '../../plan/validate.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { MaskedSecret } from '../../session/mask.ts';
import type { Oid } from '../../names.ts';
import { describeFailure } from './describe-failure.ts';
import { maskProblems } from '../line/mask-text.ts';
import { worldOf } from '../line/plan-world.ts';

interface KeptAnswer {
  commit: Oid;
  text: string;
  /** Null: it is no plan. */
  parsed: ParsedPlan | null;
}

export interface CheckedAnswer {
  /** Of a plan: what `execute` would refuse. */
  problems: Problem[];
  notes: Problem[];
  /** What secrets the answer holds, and where: it is kept as it came. */
  secrets: MaskedSecret[];
}

/** Throws nothing. Without a workspace a plan is checked by itself alone. */
export async function checkAnswer(
  project: Project,
  workspace: Workspace | null,
  { commit, text, parsed }: KeptAnswer,
): Promise<CheckedAnswer> {
  const { masker, notices } = project;
  async function attempt<T>(failed: string, check: () => Promise<T>, otherwise: T): Promise<T> {
    return check().catch((error: unknown) => {
      notices.warn(`The answer is on its line as ${commit.slice(0, 10)}, but ${failed}: ${describeFailure(error)}`);
      return otherwise;
    });
  }
  const unmasked = await attempt(
    'its plan could not be checked against the files',
    () => findProblems(project, workspace, parsed),
    parsed?.problems ?? [],
  );
  const mask = (what: string, problems: Problem[]) =>
    attempt(
      `${what} could not be searched for secrets, so they are not shown`,
      () => maskProblems(masker, problems),
      [],
    );
  return {
    problems: await mask('the problems of its plan', unmasked),
    notes: await mask('the notes on its plan', parsed?.notes ?? []),
    secrets: await attempt('it could not be searched for secrets', async () => (await masker.mask(text)).found, []),
  };
}

async function findProblems(
  project: Project,
  workspace: Workspace | null,
  parsed: ParsedPlan | null,
): Promise<Problem[]> {
  if (parsed === null || workspace === null) return parsed?.problems ?? [];
  return (await runVirtually(parsed, worldOf(project, workspace))).problems;
}
