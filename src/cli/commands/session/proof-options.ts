/** The options that make a check require signatures and approvals. */
import { readFile } from 'node:fs/promises';
import { TeddyError } from '../../../errors.ts';
import type { Project } from '../../../ports/project.ts';
import type { NeededApproval } from '../../../workflow/verify/check-approval.ts';
import type { NeededPromise } from '../../../workflow/verify/check-promise.ts';
import { resolvePath, type CliContext } from '../../context.ts';
import { option } from '../../teddy-command.ts';

/** Reads `--require-approval`, alone or with a value that `teddy.approvals` takes. Throws USAGE. */
export function toNeededApproval(given: string | boolean | undefined): NeededApproval | undefined {
  if (given === undefined || given === false) return undefined;
  if (given === true || given === 'anybody' || given === '1') return 'anybody';
  if (given === 'others') return 'others';
  const hint = 'Use `--require-approval` alone for approval by anybody, or `--require-approval=others`.';
  throw new TeddyError('USAGE', `--require-approval does not accept ${given}.`, hint);
}

/** Reads `--require-promise`, alone or with `strict`. Throws USAGE. */
export function toNeededPromise(given: string | boolean | undefined): NeededPromise | undefined {
  if (given === undefined || given === false) return undefined;
  if (given === true || given === 'strict') return { isStrict: given === 'strict' };
  const hint = 'Use `--require-promise` alone, or `--require-promise=strict`.';
  throw new TeddyError('USAGE', `--require-promise does not accept ${given}.`, hint);
}

/**
 * Reads the keys that `--signed-by` names; undefined when the user named none. `readText` returns null when the file
 * does not exist. Throws USAGE.
 */
export async function readKeys(
  project: Project,
  named: readonly string[],
  readText: (path: string) => Promise<string | null>,
): Promise<ReadonlySet<string> | undefined> {
  if (named.length === 0) return undefined;
  const { readSigningKeys } = await import('../../../workflow/verify/signing-keys.ts');
  return readSigningKeys(project, named, readText);
}

/** Returns null when the file does not exist. Throws USAGE. */
export function readKeyFile(context: CliContext, path: string): Promise<string | null> {
  return readFile(resolvePath(context, path), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new TeddyError('USAGE', `${path} cannot be read: ${error.message}.`, 'Name a file with public keys.');
  });
}

export function signedByOption(): string[] {
  return option('--signed-by', {
    value: '<key>',
    many: true,
    describe:
      'Require every entry to be signed by this key: its fingerprint, or a file with public ssh keys. Repeat it to allow several keys.',
    completes: ['files'],
  });
}

export function requireApprovalOption(): string | boolean | undefined {
  return option('--require-approval', {
    value: '[=whose]',
    describe: 'Require an approval of every plan that was run; =others requires approval by another person.',
  });
}

export function requirePromiseOption(): string | boolean | undefined {
  return option('--require-promise', {
    value: '[=strict]',
    describe:
      'Require that runs changed no file that no plan of the session names; =strict also requires that each plan was done completely.',
  });
}
