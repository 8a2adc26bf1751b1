/** What the checks say of a content, with the user's own checker and the secrets that teddy knows. */
import type { Project, Workspace } from '../../ports.ts';
import { renderFindings } from '../../write/render-findings.ts';
import { validateContent, type Validation } from '../../write/validate.ts';
import type { WriteRecord } from '../../write/write.ts';
import { maskString } from '../mask-text.ts';
import { readWriteLimits } from './held-write.ts';
import { findChecker } from './run-checker.ts';

export interface Validated extends Validation {
  /** All that was found, for whoever wrote the content; empty when nothing was. */
  message: string;
}

export interface Checked {
  record: WriteRecord;
  /** As it came. */
  content: Uint8Array;
  /** The target as it stands. */
  base: Uint8Array | null;
  /** What can be repaired mechanically is. */
  repair: boolean;
}

export async function validateWrite(
  project: Project,
  workspace: Workspace,
  { record, content, base, repair }: Checked,
): Promise<Validated> {
  const { target: path, operation } = record;
  const validation = await validateContent(
    { path, operation, content, base },
    {
      syntax: project.syntax,
      findSecrets: async (text, at) => (await project.masker.mask(text, at)).found,
      runChecker: await findChecker(project, workspace, path),
    },
    { repair },
  );
  // It quotes lines of the content, and goes to a model, a log or a terminal.
  const message = renderFindings(validation.findings, content, await readWriteLimits(project));
  return { ...validation, message: await maskString(project.masker, message) };
}
