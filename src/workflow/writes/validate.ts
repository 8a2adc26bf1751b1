/** Checks a content, also with the user's own checker and for the secrets that teddy knows. */
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { renderFindings } from '../../write/render-findings.ts';
import { validateContent, type Validation } from '../../write/validate.ts';
import type { WriteRecord } from '../../write/write.ts';
import { maskString } from '../line/mask-text.ts';
import { readWriteLimits } from './held.ts';
import { findChecker } from './run-checker.ts';

export interface Validated extends Validation {
  /** Tells the writer everything that was found; empty when nothing was. */
  message: string;
}

interface Checked {
  record: WriteRecord;
  /** The content as it came. */
  content: Uint8Array;
  /** The target as it stands. */
  base: Uint8Array | null;
  /** Repairs what can be repaired mechanically. */
  repair: boolean;
  /** Stops the user's own checker. */
  signal?: AbortSignal | undefined;
}

export async function validateWrite(
  project: Project,
  workspace: Workspace,
  { record, content, base, repair, signal }: Checked,
): Promise<Validated> {
  const { target: path, operation } = record;
  const validation = await validateContent(
    { path, operation, content, base },
    {
      syntax: project.syntax,
      findSecrets: async (text, at) => (await project.masker.mask(text, at)).found,
      runChecker: await findChecker(project, workspace, path, signal),
    },
    { repair },
  );
  // The message quotes lines of the content, and goes to a model, a log or a terminal.
  const limits = await readWriteLimits(project);
  const message = await maskString(project.masker, renderFindings(validation.findings, content, limits));
  const told = validation.findings.slice(0, limits.maxFindings);
  const findings = await Promise.all(
    told.map(async (finding) => ({ ...finding, message: await maskString(project.masker, finding.message) })),
  );
  return { ...validation, findings, message };
}
