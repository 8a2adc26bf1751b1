/** The options of the commands that check a change against a project's policy. */
import { isAbsolute } from 'node:path';
import { TeddyError } from '../../../errors.ts';
import type { Project } from '../../../ports/project.ts';
import type { CheckedChange, CheckRequest } from '../../../workflow/ci/ci.ts';
import { judge, type Verdict } from '../../render/checked-change.ts';
import { option, TeddyCommand } from '../../teddy-command.ts';
import {
  readKeyFile,
  readKeys,
  requireApprovalOption,
  requirePromiseOption,
  signedByOption,
  toNeededApproval,
  toNeededPromise,
} from '../session/proof-options.ts';

type Policy = Pick<CheckRequest, 'signedBy' | 'requireApproval' | 'requirePromise'>;

export abstract class ChangeCommand extends TeddyCommand {
  strict = option('--strict', {
    isDefault: true,
    describe: 'Fail if something is not proven (the default). --no-strict only warns.',
  });
  requireSession = option('--require-session', {
    describe: 'Fail if the change has commits that no session explains.',
  });
  requireApproval = requireApprovalOption();
  requirePromise = requirePromiseOption();
  signedBy = signedByOption();

  /** `base` is undefined for a check of whole lines. Throws USAGE. */
  protected async readPolicy(project: Project, base: string | undefined): Promise<Policy> {
    return {
      signedBy: await readKeys(project, this.signedBy, (path) => this.readKeyFile(project, base, path)),
      requireApproval: toNeededApproval(this.requireApproval),
      requirePromise: toNeededPromise(this.requirePromise),
    };
  }

  protected judge(checked: CheckedChange, { signedBy, requirePromise }: Policy): Verdict {
    const hasPolicy = checked.approval !== null || signedBy !== undefined || requirePromise !== undefined;
    return judge(checked, { isStrict: this.strict, needsSession: this.requireSession, hasPolicy });
  }

  /**
   * Reads the key file from the base branch, because the checkout contains the change's own files, which must not
   * choose the keys.
   */
  private async readKeyFile(project: Project, base: string | undefined, path: string): Promise<string | null> {
    if (base === undefined || isAbsolute(path)) return readKeyFile(this.context, path);
    const { readBaseFile } = await import('../../../workflow/ci/check-change.ts');
    const text = await readBaseFile(project, base, path);
    if (text !== null) return text;
    const hint = 'Use a fingerprint, a file on the base branch, or an absolute path.';
    throw new TeddyError(
      'USAGE',
      `\`--signed-by\` names the file ${JSON.stringify(path)}, which ${base} does not have.`,
      hint,
    );
  }
}
