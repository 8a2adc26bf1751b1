/** Shared by the tests of validation. */
import type { RepoPath } from '../../src/names.ts';
import { syntaxChecker } from '../../src/system/writes/check-syntax.ts';
import { validateContent, type Validation, type Validators } from '../../src/write/validate.ts';
import type { Operation } from '../../src/session/settings/write-limits.ts';

export interface Given {
  operation?: Operation;
  base?: string | Uint8Array | null;
  repair?: boolean;
  validators?: Partial<Validators>;
}

export async function validate(
  path: string,
  content: string | Uint8Array,
  { base = null, operation = base === null ? 'create' : 'overwrite', repair = false, validators = {} }: Given = {},
): Promise<Validation> {
  return validateContent(
    { path: path as RepoPath, operation, content: toBytes(content), base: base === null ? null : toBytes(base) },
    { syntax: syntaxChecker(), findSecrets: async () => [], runChecker: null, ...validators },
    { repair },
  );
}

/** `check line:column` of each finding. */
export async function findingsOf(...args: Parameters<typeof validate>): Promise<string[]> {
  const { findings } = await validate(...args);
  return findings.map(({ check, line, column }) => `${check} ${line ?? '-'}:${column ?? '-'}`);
}

export function toBytes(content: string | Uint8Array): Uint8Array {
  return typeof content === 'string' ? new TextEncoder().encode(content) : content;
}
